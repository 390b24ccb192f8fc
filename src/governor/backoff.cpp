#include "governor/backoff.hpp"

#include <algorithm>
#include <cmath>

namespace k2k::governor {

namespace {
// A limit for doubling, far beyond the delay that a share over a window can require.
constexpr Nanoseconds delay_limit = std::chrono::hours(1);
}  // namespace

Backoff::Backoff(const GovernorConfig& config, Instant now)
    : config_(config),
      begin_(now),
      spent_(static_cast<std::size_t>(config.window / config.tick) + 1) {
  limit();
}

void Backoff::limit() {
  const auto window = static_cast<double>(config_.window.count());
  limit_ns_ = std::llround(window * config_.cores * config_.cap);
}

Status Backoff::set_cap(Instant, double cap, Guarantees) {
  GovernorConfig wanted = config_;
  wanted.cap = cap;
  if (Status status = validate(wanted); !status) return status;
  config_.cap = cap;
  limit();
  return {};
}

Decision Backoff::decide(Instant now, const GrantRequest&) {
  advance(now);
  if (in_window_ns_ <= limit_ns_) {
    delay_ = {};
    return {.verdict = Verdict::serve, .more = true};  // One request: the worker looks before each.
  }
  delay_ = delay_ == Nanoseconds::zero() ? config_.first_delay : std::min(2 * delay_, delay_limit);
  throttled_ += delay_;
  ++waits_;
  return {.verdict = Verdict::wait, .until = now + delay_};
}

void Backoff::settle(Instant now, Nanoseconds, const Spent& spent) {
  advance(now);
  spent_[static_cast<std::size_t>(tick_) % spent_.size()] += spent.cpu.count();
}

void Backoff::advance(Instant now) {
  const auto size = static_cast<std::int64_t>(spent_.size());
  const std::int64_t current = (now - begin_) / config_.tick;
  if (current - tick_ >= size) {  // Silence longer than the window.
    std::fill(spent_.begin(), spent_.end(), 0);
    in_window_ns_ = 0;
    tick_ = current;
    return;
  }
  while (tick_ < current) {
    in_window_ns_ += spent_[static_cast<std::size_t>(tick_ % size)];
    ++tick_;
    // The new tick takes the ring element of the tick that leaves the window.
    std::int64_t& leaving = spent_[static_cast<std::size_t>(tick_ % size)];
    in_window_ns_ -= leaving;
    leaving = 0;
  }
}

Report Backoff::report(Instant) {
  return {.cap = config_.cap, .throttled = throttled_, .waits = waits_};
}

}  // namespace k2k::governor
