#pragma once
// The times at which service threads were within grants of the governor: a canary's wait is
// compared with them.
//
// Keeps the last 128 beginnings and ends; between() does not count the time before them. Grants of
// `auto` last some hundred microseconds, so that is tens of milliseconds.
//
// Threading: the caller serialises.

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/units.hpp"

namespace k2k::server {

class GrantLog {
 public:
  static constexpr std::size_t entries = 128;

  void opened(Instant when) { note(when, +1); }
  // Expects an open grant.
  void closed(Instant when) { note(when, -1); }
  [[nodiscard]] int open() const { return last().open; }

  // Time within grants from one moment to another, summed over the threads.
  [[nodiscard]] Nanoseconds between(Instant from, Instant to) const {
    return from < to ? until(to) - until(from) : Nanoseconds::zero();
  }

 private:
  struct Entry {
    Instant when{};
    Nanoseconds before{};  // Time within grants up to `when`.
    int open = 0;          // Grants from then on.
  };

  [[nodiscard]] const Entry& last() const { return log_[count_ % entries]; }

  void note(Instant when, int change) {
    const Entry& before = last();
    when = std::max(when, before.when);  // Clocks are read before the caller's mutex is taken.
    const Entry next{when, before.before + before.open * (when - before.when),
                     before.open + change};
    log_[++count_ % entries] = next;
  }

  [[nodiscard]] Nanoseconds until(Instant when) const {
    const std::size_t kept = std::min(count_ + 1, entries);
    for (std::size_t back = 0; back < kept; ++back) {
      const Entry& entry = log_[(count_ - back) % entries];
      if (entry.when <= when) return entry.before + entry.open * (when - entry.when);
    }
    return log_[(count_ + 1 - kept) % entries].before;
  }

  std::array<Entry, entries> log_{};
  std::size_t count_ = 0;  // Entries ever made, without the first, empty entry.
};

}  // namespace k2k::server
