#include "cli/watch/watcher.hpp"

#include <sys/resource.h>

#include "base/clock.hpp"

namespace k2k::watch {

namespace {

double own_cpu_s() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

Watcher::Watcher(Roots roots, Rules rules, bool bpf)
    : roots_(std::move(roots)), rules_(std::move(rules)) {
  if (!bpf) {
    no_trace_ = "not wanted";
  } else {
    Result<std::unique_ptr<Tracer>> tracer = Tracer::start();
    if (tracer) {
      tracer_ = std::move(tracer).value();
    } else {
      no_trace_ = tracer.error().message;
    }
  }
  begun_ = now();
  cpu_at_begin_s_ = own_cpu_s();
}

Result<Evidence> Watcher::look() {
  Evidence evidence;
  if (tracer_ != nullptr) {
    Result<Traced> traced = tracer_->read();
    if (!traced) return traced.error();
    evidence.traced = std::move(traced).value();
  }
  // The snapshot begins with /proc/stat, right after the last sums were read: both are of one
  // moment.
  Result<Snapshot> snapshot = take_snapshot(roots_);
  if (!snapshot) return snapshot.error();
  evidence.snapshot = std::move(snapshot).value();
  std::vector<std::string> known;
  for (const CountedLine& line : evidence.snapshot.interrupts) {
    known.push_back(line.id + " " + line.rest);
  }
  if (known != known_) {
    owners_ = find_owners(roots_, evidence.snapshot.interrupts);
    known_ = std::move(known);
  }
  return evidence;
}

Report Watcher::since(const Evidence& before, const Evidence& after) {
  Report report = compare(before, after, rules_, owners_);
  report.no_trace = no_trace_;
  report.own_wall_s = seconds_since(begun_);
  report.own_cpu_s = own_cpu_s() - cpu_at_begin_s_;
  report.own_start_s = cpu_at_begin_s_;
  if (after.traced) report.own_cpu_s += after.traced->own_cpu_s;
  return report;
}

}  // namespace k2k::watch
