#pragma once
// Measures the CPU time that an ordinary CPU program loses: a thread of normal priority that rarely
// does a short piece of work of known length. It measures how long it waited for a core, and how
// much longer the piece took than undisturbed.
//
// The wait is Linux' own account of the thread (run delay, second field of schedstat), so a late
// timer does not count. The work is arithmetic in registers. It is slowed down by a lower clock, a
// busy sibling of the core, and a hypervisor that takes the core away; not by cold caches, which a
// thread that sleeps so long always has.
//
// A piece of 10 us every 20 ms, with its wake-up, takes about a thousandth of a core; cpu() returns
// the exact amount.
//
// Threading: confined to one thread from open() on, because the account is that thread's.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/units.hpp"
#include "host/proc_file.hpp"

namespace k2k::host {

// Parses the second field of /proc/thread-self/schedstat, "746649 49378 1\n": time spent waiting
// for a core. Empty: no such line.
std::optional<Nanoseconds> run_delay_of(std::string_view schedstat);

inline constexpr Nanoseconds canary_period{20'000'000};

class Canary {
 public:
  struct Piece {
    Nanoseconds waited{};       // For a core, from the due time to the end of the piece.
    Nanoseconds took{};         // CPU time.
    Nanoseconds undisturbed{};  // The least time of a piece.
  };

  // Calibrates, in less than a millisecond.
  // Errors: from opening and reading the file; EBADMSG, unknown format.
  static Result<Canary> open(const std::string& proc = proc_folder);

  // Does one piece. Call it as soon as a sleep of canary_period is over: the waiting time since the
  // last call counts. Empty: the account could not be read.
  std::optional<Piece> work();

 private:
  explicit Canary(ProcFile file) : file_(std::move(file)) {}
  [[nodiscard]] Result<Nanoseconds> run_delay() const;
  void calibrate();

  ProcFile file_;
  std::uint32_t rounds_ = 0;
  Nanoseconds undisturbed_{};
  Nanoseconds last_delay_{};
};

}  // namespace k2k::host
