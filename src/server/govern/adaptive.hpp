#pragma once
// Adaptive coalescing of one top half: takes samples of the cost and the wait of requests, and asks
// the policy for the setting. With a monolithic bottom half the samples come from the holder's
// statistics. With a split one they come from all threads' statistics, since any thread may serve
// the top half's requests.
//
// Owned by a role: used by its holder, never by two threads; changes() from anywhere.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "governor/coalescer.hpp"
#include "server/account/thread_stats.hpp"
#include "server/settings/config.hpp"

namespace k2k::server {

class Adaptive {
 public:
  // The sums of statistics, of one thread or of several.
  struct Counted {
    std::uint64_t cpu_ns = 0;
    std::uint64_t answered = 0;
    std::uint64_t waited = 0;  // Sum of cycles from publication to service
    std::uint64_t timed = 0;   // over this number of requests.

    void add(const ThreadStats& stats) {
      cpu_ns += stats.ledger.total_ns();
      answered += stats.answered.value();
      waited += stats.times.sum(telemetry::RequestPart::scheduling);
      timed += stats.times.requests(telemetry::RequestPart::scheduling);
    }
  };

  // Forgets earlier samples. Returns true if the configuration says adaptive; otherwise it is off.
  bool configure(const ServerConfig& config) {
    coalescer_.reset();
    if (config.coalescing != Coalescing::adaptive) return false;
    coalescer_.emplace(std::chrono::microseconds(config.coalesce_delay_us));
    return true;
  }
  [[nodiscard]] bool on() const { return coalescer_.has_value(); }
  [[nodiscard]] governor::CoalesceSetting setting() const { return coalescer_->setting(); }

  // Another thread holds the role now and has counters of its own.
  void begin(const Counted& counted, std::uint64_t moment) {
    since_ = counted;
    since_moment_ = moment;
  }

  // Returns true when the next sample is due.
  [[nodiscard]] bool due(std::uint64_t moment) const {
    return on() && moment - since_moment_ >= cycles_in(governor::Coalescer::sample_min);
  }
  // Call right after the holder's statistics were settled. Returns true if the setting changed.
  // Expects due().
  bool look(const Counted& now, std::uint64_t moment) {
    const std::uint64_t elapsed = moment - since_moment_;
    const std::uint64_t requests = now.answered - since_.answered;
    // A pause is not a cost of the requests that follow it. If requests are this rare, every window
    // holds one request.
    if (requests == 0 || elapsed > cycles_in(governor::Coalescer::sample_max)) {
      begin(now, moment);
      return false;
    }
    if (requests < governor::Coalescer::requests_min) return false;
    // If some requests are timed, the sample needs a timed one; a device without a clock times
    // none.
    if (now.timed == since_.timed && now.timed != 0) return false;
    const std::uint64_t timed = std::max<std::uint64_t>(now.timed - since_.timed, 1);
    const std::uint64_t waited = (now.waited - since_.waited) / timed;
    const double waited_ns = static_cast<double>(waited) * nanoseconds_per_cycle();
    const governor::CoalesceSetting before = setting();
    const governor::CoalesceSetting after =
        coalescer_->sample({Nanoseconds(static_cast<std::int64_t>(now.cpu_ns - since_.cpu_ns)),
                            requests, Nanoseconds(static_cast<std::int64_t>(waited_ns))});
    begin(now, moment);
    if (before.window_us == after.window_us && before.max == after.max) return false;
    changes_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  [[nodiscard]] std::uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }

 private:
  std::optional<governor::Coalescer> coalescer_;
  Counted since_;
  std::uint64_t since_moment_ = 0;
  std::atomic<std::uint64_t> changes_{0};
};

}  // namespace k2k::server
