#include "server/govern/core_watch.hpp"

#include <utility>

namespace k2k::server {

void CoreWatch::want() {
  if ((word_.fetch_or(wanted, std::memory_order_relaxed) & asleep) != 0) thread_.wake();
}

CoreWatch::Check CoreWatch::check(Instant now, std::uint32_t serving, bool waiting) {
  std::uint64_t before = word_.load(std::memory_order_relaxed);
  unwanted_ = waiting || (before & wanted) != 0 ? 0 : unwanted_ + 1;
  // A thread that wants a check meanwhile makes the exchange fail, or finds the flag and wakes this
  // thread.
  if (unwanted_ >= unwanted_max &&
      word_.compare_exchange_strong(before, asleep, std::memory_order_relaxed)) {
    unwanted_ = 0;
    idle_ = false;
    return {.next = {now, false}};
  }
  const bool was_idle = std::exchange(idle_, !cores_.all_busy(serving));
  word_.store(idle_ ? nanoseconds_of(now + valid) & ~flags : 0, std::memory_order_relaxed);
  const Instant due = now + (idle_ ? idle_period : busy_period_.load());
  return {.next = {due, true}, .all_busy = !idle_, .idle_again = idle_ && !was_idle};
}

}  // namespace k2k::server
