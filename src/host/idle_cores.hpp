#pragma once
// Do other programs want the CPU time? The sensor of the policy `displaced`.
//
// The kernel counts the threads on the machine that run or wait for a core (fourth field of
// /proc/loadavg). If they are more than the cores, some thread waits, and a serving thread takes a
// core from it. Otherwise there is a core for each. The calling thread is one of them. This is the
// current state. The idle times of /proc/stat, in contrast, describe the last 10 ms (a tick of the
// user's clock), and /proc/pressure/cpu describes finished waits (docs/design/governor.md,
// "Sensors").
//
// The count covers the whole machine: open() refuses a process that may use only some of its cores.
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

// Parses the number of threads that run or wait for a core: the 3 of "0.20 0.18 0.12 3/80 11206\n".
// Empty: no such line.
std::optional<std::uint32_t> runnable_of(std::string_view loadavg);

// A reading is reused for this time. A read takes 0.4 us, so it costs at most one part in a
// hundred.
inline constexpr Nanoseconds look_period{50'000};

class IdleCores {
 public:
  // `usable` is the number of cores that this process may use, of `online` cores.
  // Errors: from opening and reading the file; EBADMSG, unknown format; ENOTSUP, not all cores are
  // usable.
  static Result<IdleCores> open(std::uint32_t usable, std::uint32_t online,
                                const std::string& proc = proc_folder);

  // Does some thread wait for a core? True if the file can no longer be read.
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
