#pragma once
// Does somebody else want the CPU time? The sensor of the policy `displaced`.
//
// The kernel counts the threads that run or wait for a core, all over the machine (fourth field of
// /proc/loadavg). More of them than cores: some thread waits, and whoever serves takes a core from
// it. No more than cores: there is one for each. The asking thread is one of them. This is the
// state of the moment, where the idle times of /proc/stat tell of the last 10 ms, a tick of the
// user's clock, and the pressure of /proc/pressure/cpu of waits that are over
// (docs/design/governor.md, "Sensors").
//
// It sees the whole machine: a process that may use only some of its cores is told so by open().
//
// Threading: the caller serialises.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/units.hpp"
#include "host/proc_file.hpp"

namespace k2k::host {

// Threads that run or wait for a core: the 3 of "0.20 0.18 0.12 3/80 11206\n". Empty: no such line.
std::optional<std::uint32_t> runnable_of(std::string_view loadavg);

// What a look is worth: within this time the last one is told again. A look takes 0.4 us, so it
// costs at most one part in a hundred.
inline constexpr Nanoseconds look_period{50'000};

class IdleCores {
 public:
  // `usable` are the cores that this process may use, of `online` ones.
  // Errors: those of opening and reading the file, EBADMSG for one of another form; ENOTSUP where
  // not all cores are usable.
  static Result<IdleCores> open(std::uint32_t usable, std::uint32_t online,
                                const std::string& proc = proc_folder);

  // Does some thread have to wait? Where the file can no longer be read: yes.
  bool all_busy(Instant now);

 private:
  IdleCores(ProcFile file, std::uint32_t cores) : file_(std::move(file)), cores_(cores) {}
  [[nodiscard]] Result<std::uint32_t> runnable() const;

  ProcFile file_;
  std::uint32_t cores_;
  bool all_busy_ = true;
  Instant looked_at_ = Instant::min();
};

}  // namespace k2k::host
