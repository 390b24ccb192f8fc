#include "cli/watch/sources/snapshot.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"
#include "host/canary.hpp"
#include "host/observer.hpp"

namespace k2k::watch {

namespace {

double seconds_of(Nanoseconds time) { return static_cast<double>(time.count()) / 1e9; }

// Adds one thread whose files are in `folder`; nothing if it vanished.
void add_thread(const ThreadStat& stat, const std::string& folder, int process,
                std::map<int, ThreadTimes>& threads) {
  const Result<std::string> schedstat = read_text(folder + "/schedstat");
  if (!schedstat) return;
  const auto cpu = host::cpu_time_of(schedstat.value());
  const auto waited = host::run_delay_of(schedstat.value());
  if (!cpu || !waited) return;
  threads[stat.id] = {stat, process, seconds_of(*cpu), seconds_of(*waited)};
}

void read_process(const std::string& proc, int process, double ticks_per_s, Snapshot& snapshot) {
  const std::string folder = fmt::format("{}/{}", proc, process);
  const Result<std::string> stat = read_text(folder + "/stat");
  if (!stat) return;
  const auto parsed = parse_thread(stat.value());
  if (!parsed) return;
  if (!parsed->of_kernel()) {
    snapshot.programs_s += static_cast<double>(parsed->ticks + parsed->child_ticks) / ticks_per_s;
  }
  if (parsed->threads <= 1) {  // Its own files say the same as those below task/, at half the cost.
    add_thread(*parsed, folder, process, snapshot.threads);
    return;
  }
  const std::string tasks = folder + "/task/";
  for (const std::string& name : names_in(tasks)) {
    if (snapshot.threads.size() >= threads_max) return;
    const Result<std::string> line = read_text(tasks + name + "/stat");
    const auto thread = line ? parse_thread(line.value()) : std::nullopt;
    if (thread) add_thread(*thread, tasks + name, process, snapshot.threads);
  }
}

}  // namespace

Result<Snapshot> take_snapshot(const Roots& roots) {
  const double ticks_per_s = static_cast<double>(std::max(1L, ::sysconf(_SC_CLK_TCK)));
  Snapshot snapshot;
  const Instant begin = now();
  const Result<std::string> stat = read_text(roots.proc + "/stat");
  if (!stat) return stat.error();
  snapshot.times = parse_stat(stat.value(), ticks_per_s);
  if (snapshot.times.empty()) {
    return Error{EBADMSG, roots.proc + "/stat names no core; k2k watch needs Linux' /proc"};
  }
  const Result<std::string> interrupts = read_text(roots.proc + "/interrupts");
  if (!interrupts) return interrupts.error();
  snapshot.interrupts = parse_counts(interrupts.value());
  const Result<std::string> softirqs = read_text(roots.proc + "/softirqs");
  if (!softirqs) return softirqs.error();
  snapshot.softirqs = parse_counts(softirqs.value());
  snapshot.when = begin + (now() - begin) / 2;
  bool any = false;
  for (const std::string& name : names_in(roots.proc)) {
    const auto process = number_of(name);
    if (!process || *process > INT32_MAX) continue;
    any = true;
    if (snapshot.threads.size() >= threads_max) {
      snapshot.complete = false;
      break;
    }
    read_process(roots.proc, static_cast<int>(*process), ticks_per_s, snapshot);
  }
  if (!any) {
    return Error{ENOENT, roots.proc + " lists no process; k2k watch needs Linux' /proc"};
  }
  return snapshot;
}

}  // namespace k2k::watch
