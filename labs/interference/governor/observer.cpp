#include "labs/interference/governor/observer.hpp"

#include <algorithm>
#include <iterator>

namespace k2k::labs::governor {

namespace {

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
  // Between two readings, the share is a linear function of the window's position. So the largest
  // share belongs to a window that begins or ends at a reading.
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
