#include "labs/interference/governor/observer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>

#include "base/clock.hpp"

namespace k2k::labs::governor {

namespace {

constexpr const char* tasks = "/proc/self/task";
constexpr std::size_t line_bytes_max = 128;

Error unreadable(const std::string& path, int error) {
  return {error,
          fmt::format("cannot read {} ({}); the observer needs /proc", path, strerror(error))};
}

// The line of a thread's file; empty: the thread has ended.
Result<std::string> line_of(const std::string& thread, const char* file) {
  const std::string path = fmt::format("{}/{}/{}", tasks, thread, file);
  char line[line_bytes_max];
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ssize_t count = -1;
  if (descriptor >= 0) count = ::read(descriptor, line, sizeof line);
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (count >= 0) return std::string(line, static_cast<std::size_t>(count));
  if (error == ENOENT || error == ESRCH) return std::string();
  return unreadable(path, error);
}

double fraction(Nanoseconds cpu, Nanoseconds elapsed, std::uint32_t cores) {
  if (elapsed.count() <= 0) return 0;
  return static_cast<double>(cpu.count()) / (static_cast<double>(elapsed.count()) * cores);
}

// Expects readings in order, the first not after `when` and the last not before it.
double cpu_at(const std::vector<Reading>& readings, Instant when) {
  const auto behind =
      std::lower_bound(readings.begin(), readings.end(), when,
                       [](const Reading& one, Instant moment) { return one.when < moment; });
  const auto cpu = static_cast<double>(behind->cpu.count());
  if (behind->when == when) return cpu;
  const auto before = std::prev(behind);
  const auto cpu_before = static_cast<double>(before->cpu.count());
  return cpu_before + (cpu - cpu_before) * static_cast<double>((when - before->when).count()) /
                          static_cast<double>((behind->when - before->when).count());
}

}  // namespace

std::optional<Nanoseconds> cpu_time_of(std::string_view schedstat) {
  std::int64_t count = 0;
  const char* const last = schedstat.data() + schedstat.size();
  const auto [end, error] = std::from_chars(schedstat.data(), last, count);
  if (error != std::errc() || end == last || *end != ' ' || count < 0) return std::nullopt;
  return Nanoseconds(count);
}

bool is_service_thread(std::string_view comm) {
  if (comm.ends_with('\n')) comm.remove_suffix(1);
  for (const char* const name :
       {"k2k/wait", "k2k/fault", "k2k/guard", "k2k/canary", "k2k/ticker"}) {
    if (comm == name) return true;
  }
  return comm.starts_with("k2k/serve");
}

bool is_device_thread(std::string_view comm) { return comm.starts_with("k2k/unit"); }

void ThreadSum::look(std::map<int, Nanoseconds> threads) {
  for (const auto& [thread, cpu] : threads) {
    const auto known = last_.find(thread);
    // Less than before: another thread that got the number of one that ended.
    const bool same = known != last_.end() && known->second <= cpu;
    total_ += same ? cpu - known->second : cpu;
  }
  last_ = std::move(threads);
}

Result<Reading> Observer::read() {
  std::map<int, Nanoseconds> threads;
  const Instant begin = now();
  std::error_code error;
  std::filesystem::directory_iterator entry(tasks, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string thread = entry->path().filename();
    const Result<std::string> comm = line_of(thread, "comm");
    if (!comm) return comm.error();
    if (!belongs_(comm.value())) continue;
    const Result<std::string> schedstat = line_of(thread, "schedstat");
    if (!schedstat) return schedstat.error();
    const std::optional<Nanoseconds> cpu = cpu_time_of(schedstat.value());
    int number = 0;
    std::from_chars(thread.data(), thread.data() + thread.size(), number);
    if (cpu) threads[number] = *cpu;
  }
  if (error) return unreadable(tasks, error.value());
  sum_.look(std::move(threads));
  return Reading{begin + (now() - begin) / 2, sum_.total()};
}

double share_of(const std::vector<Reading>& readings, std::uint32_t cores) {
  if (readings.size() < 2) return 0;
  const Reading& first = readings.front();
  const Reading& last = readings.back();
  return fraction(last.cpu - first.cpu, last.when - first.when, cores);
}

double worst_share_of(const std::vector<Reading>& readings, Nanoseconds window,
                      std::uint32_t cores) {
  if (readings.size() < 2 || readings.back().when - readings.front().when < window) {
    return share_of(readings, cores);
  }
  // Between two readings the share is linear in where the window lies: one that begins or ends at a
  // reading has the largest.
  double most = 0;
  for (const Reading& one : readings) {
    const auto cpu = static_cast<double>(one.cpu.count());
    if (one.when + window <= readings.back().when) {
      most = std::max(most, cpu_at(readings, one.when + window) - cpu);
    }
    if (one.when - window >= readings.front().when) {
      most = std::max(most, cpu - cpu_at(readings, one.when - window));
    }
  }
  return most / (static_cast<double>(window.count()) * cores);
}

}  // namespace k2k::labs::governor
