#pragma once
// The limits in force: the lesser of the runtime's own cap and its part of the host limit.
//
// Threading: pure functions and plain values; PublishedLimits from anywhere.

#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>

#include "base/units.hpp"
#include "governor/policy.hpp"
#include "server/settings/config.hpp"

namespace k2k::server {

// The host's limit at the last refresh (host/share.hpp); 0 = no limit.
struct HostLimit {
  double limit = 0;
  double part = 0;
  std::uint32_t holders = 0;
};

struct EffectiveLimits {
  governor::Policy policy = governor::Policy::none;  // Also none without a cap.
  double cap = 0;                                    // Fraction of all cores' CPU time.
  std::uint32_t cores = 0;                           // Online; 0 without a policy.
  std::uint32_t loss_max_permille = 0;               // `auto` only.
  std::string tenants;
  bool operator==(const EffectiveLimits&) const = default;
};

// `cores`: online. Another number is another rule: cores can be plugged in and out.
EffectiveLimits effective_limits(const ServerConfig& config, const HostLimit& host,
                                 std::uint32_t cores);

// The runtime's own cap; 1 = none.
double own_cap(const ServerConfig& config);

// The period at which a thread that only watches others may wake, under this cap on `cores` cores:
// 100 ms, and longer under small caps, so that it takes a few thousandths of the cap; at most a
// second.
Nanoseconds watch_tick_of(double cap, std::uint32_t cores);

// The limits as one word, which requests read: the cap, and the epoch of the governor that enforces
// it. A grant of an earlier epoch is void.
class PublishedLimits {
 public:
  struct View {
    std::uint32_t cap = 0;  // In billionths of all cores' CPU time; 0 = none.
    std::uint32_t epoch = 0;
  };

  [[nodiscard]] View read() const {
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
  }
  // Relaxed: the word guards no other data; the lock of Grants guards the grants.
  void publish(double cap, std::uint32_t epoch) {
    const auto billionths = static_cast<std::uint32_t>(std::lround(cap * billion));
    word_.store(std::uint64_t{epoch} << 32 | billionths, std::memory_order_relaxed);
  }
  [[nodiscard]] double cap() const { return read().cap / billion; }

 private:
  static constexpr double billion = 1e9;
  std::atomic<std::uint64_t> word_{0};
};

}  // namespace k2k::server
