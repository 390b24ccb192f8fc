#include "labs/interference/harm/user_counters.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace k2k::labs::harm {

namespace {

Descriptor counter_of(pid_t process, const std::optional<CounterEvent>& event) {
  if (!event) return Descriptor();
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = event->type;
  attributes.config = event->config;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  constexpr int any_core = -1;
  constexpr int no_group = -1;
  return Descriptor(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, process, any_core,
                                               no_group, PERF_FLAG_FD_CLOEXEC)));
}

double count_of(const Descriptor& counter) {
  std::array<std::uint64_t, 3> words{};  // The count, and the times enabled and running.
  if (!counter.open() || ::read(counter.number(), words.data(), sizeof(words)) !=
                             static_cast<ssize_t>(sizeof(words))) {
    return -1;
  }
  const auto [count, enabled, running] = words;
  if (running == 0) return enabled == 0 ? 0 : -1;
  return static_cast<double>(count) * static_cast<double>(enabled) / static_cast<double>(running);
}

}  // namespace

void Counts::add(const Counts& more) {
  const auto sum = [](double& whole, double part) {
    if (part >= 0) whole = std::max(whole, 0.0) + part;
  };
  sum(cache_misses, more.cache_misses);
  sum(branch_misses, more.branch_misses);
}

bool has_hardware_counters() { return ::access("/sys/bus/event_source/devices/cpu", F_OK) == 0; }

CounterEvents hardware_events() {
  if (!has_hardware_counters()) return {};
  constexpr std::uint64_t first_data_cache = PERF_COUNT_HW_CACHE_L1D |
                                             (PERF_COUNT_HW_CACHE_OP_READ << 8) |
                                             (PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
  return {.cache_misses = CounterEvent{PERF_TYPE_HW_CACHE, first_data_cache},
          .branch_misses = CounterEvent{PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES}};
}

UserCounters::UserCounters(pid_t process, const CounterEvents& events)
    : cache_misses_(counter_of(process, events.cache_misses)),
      branch_misses_(counter_of(process, events.branch_misses)) {}

Counts UserCounters::read() const { return {count_of(cache_misses_), count_of(branch_misses_)}; }

}  // namespace k2k::labs::harm
