#include "backend/cpu/watchdog.hpp"

#include <algorithm>

#include "backend/cpu/simt/unit.hpp"

namespace k2k::backend::cpu {

namespace {
constexpr Nanoseconds period_min = std::chrono::milliseconds(1);
constexpr Nanoseconds period_max = std::chrono::milliseconds(250);
}  // namespace

Watchdog::Watchdog(LaunchState& launch, Nanoseconds limit, Instant now)
    : launch_(launch), limit_(limit), since_(now) {
  launch_.stall.store(stall_none, std::memory_order_relaxed);
}

Nanoseconds Watchdog::period() const { return std::clamp(limit_ / 4, period_min, period_max); }

bool Watchdog::check(std::uint64_t progress, Instant now) {
  const std::uint32_t stall =
      launch_.stall.load(std::memory_order_acquire);  // Pairs with WaitReport.
  if (progress != progress_) {
    progress_ = progress;
    since_ = now;
    reported_ = false;
    // A text that is being written now is found, and dropped, at the next call.
    std::uint32_t seen = stall;
    if (seen != stall_writing) launch_.stall.compare_exchange_strong(seen, stall_none);
    return false;
  }
  if (reported_ || now - since_ < limit_) return false;
  if (stall == stall_none) {
    launch_.stall.store(stall_requested, std::memory_order_release);
    for (std::uint32_t unit = 0; unit < launch_.units_used; ++unit) launch_.units[unit]->wake();
  }
  reported_ = stall == stall_written;
  return reported_;
}

std::string Watchdog::text() const {
  const auto stalled = std::chrono::duration_cast<std::chrono::milliseconds>(limit_).count();
  const std::string how_long =
      stalled % 1000 == 0 ? std::to_string(stalled / 1000) + " s" : std::to_string(stalled) + " ms";
  return "k2k: kernel '" + std::string(launch_.name) + "' has made no progress for " + how_long +
         ": " + launch_.stall_text;
}

}  // namespace k2k::backend::cpu
