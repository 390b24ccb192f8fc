#pragma once
// What an ordinary CPU program loses: a thread of normal priority that rarely does a short piece of
// work of known length, and sees how long it had to wait for a core and how much longer the piece
// took than undisturbed.
//
// The wait is the kernel's own account of the thread (run delay, second field of schedstat), so a
// timer that comes late is none. The work is arithmetic in registers: what slows it down are a
// lower clock, a busy sibling of the core, a host that takes the core away; not cold caches, which
// a thread that sleeps so long always has.
//
// A piece of 10 us each 20 ms, with its wake-up, takes about a thousandth of a core; cpu() says how
// much it was.
//
// Threading: one thread's, the same one from open() on: the account is that thread's.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/units.hpp"
#include "host/proc_file.hpp"

namespace k2k::host {

// The second field of /proc/thread-self/schedstat, "746649 49378 1\n": time spent waiting for a
// core. Empty: no such line.
std::optional<Nanoseconds> run_delay_of(std::string_view schedstat);

inline constexpr Nanoseconds canary_period{20'000'000};

class Canary {
 public:
  struct Piece {
    Nanoseconds waited{};       // For a core, from being due to its end.
    Nanoseconds took{};         // CPU time.
    Nanoseconds undisturbed{};  // What it takes at best.
  };

  // Calibrates, in less than a millisecond.
  // Errors: those of opening and reading the file, EBADMSG for one of another form.
  static Result<Canary> open(const std::string& proc = proc_folder);

  // Does one piece. Call it as soon as a sleep of canary_period is over: what was waited since the
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
