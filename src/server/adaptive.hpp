#pragma once
// Adaptive coalescing of one top half: takes samples of what requests cost and how long they wait,
// and asks the policy for the setting.
//
// Owned by a role: used by whoever holds it, never by two threads; changes() from anywhere.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "governor/coalescer.hpp"
#include "server/config.hpp"
#include "server/thread_stats.hpp"

namespace k2k::server {

class Adaptive {
 public:
  // A sample is at least this long: many settlements of the books.
  static constexpr Nanoseconds sample_min = std::chrono::milliseconds(10);

  // Off unless the configuration says adaptive; what was learnt is forgotten. True if it is on.
  bool configure(const ServerConfig& config) {
    coalescer_.reset();
    if (config.coalescing != Coalescing::adaptive) return false;
    coalescer_.emplace(std::chrono::microseconds(config.coalesce_delay_us));
    return true;
  }
  [[nodiscard]] bool on() const { return coalescer_.has_value(); }
  [[nodiscard]] governor::CoalesceSetting setting() const { return coalescer_->setting(); }

  // Another thread holds the role now: its counters are others.
  void begin(const ThreadStats& stats, std::uint64_t moment) { since_ = take(stats, moment); }

  // Right after the books of `stats` were settled. True if there is another setting. Expects on().
  bool look(const ThreadStats& stats, std::uint64_t moment) {
    const Counted now = take(stats, moment);
    if (now.moment - since_.moment < cycles_in(sample_min)) return false;
    const std::uint64_t requests = now.answered - since_.answered;
    if (requests < governor::Coalescer::requests_min) return false;
    const std::uint64_t waited = (now.waited - since_.waited) / requests;
    const double waited_ns = static_cast<double>(waited) * nanoseconds_per_cycle();
    const governor::CoalesceSetting before = setting();
    const governor::CoalesceSetting after = coalescer_->sample(
        {now.cpu - since_.cpu, requests, Nanoseconds(static_cast<std::int64_t>(waited_ns))});
    since_ = now;
    if (before.window_us == after.window_us && before.max == after.max) return false;
    changes_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  [[nodiscard]] std::uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }

 private:
  struct Counted {
    std::uint64_t moment = 0;
    Nanoseconds cpu{};
    std::uint64_t answered = 0;
    std::uint64_t waited = 0;  // Cycles from publication to service, summed up.
  };
  static Counted take(const ThreadStats& stats, std::uint64_t moment) {
    return {moment, stats.ledger.settled_clock(), stats.answered.value(),
            stats.times.sum(telemetry::RequestPart::scheduling)};
  }

  std::optional<governor::Coalescer> coalescer_;
  Counted since_;
  std::atomic<std::uint64_t> changes_{0};
};

}  // namespace k2k::server
