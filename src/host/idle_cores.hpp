#pragma once
// Do other programs want the CPU time? The sensor of the policy `displaced`.
//
// Linux counts the threads on the machine that run or wait for a core (fourth field of
// /proc/loadavg). If they are more than the cores, some thread waits, and a serving thread takes a
// core from it. Otherwise there is a core for each. This is the current state. The idle times of
// /proc/stat, in contrast, describe the last 10 ms (a tick of the user's clock), and
// /proc/pressure/cpu describes finished waits (docs/design/governor.md, "Sensors").
//
// The count covers the whole machine: open() refuses a process that may use only some of its cores.
//
// Threading: from anywhere; its owner closes the file.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "host/proc_file.hpp"

namespace k2k::host {

// Parses the number of threads that run or wait for a core: the 3 of "0.20 0.18 0.12 3/80 11206\n".
// Empty: no such line.
std::optional<std::uint32_t> runnable_of(std::string_view loadavg);

class IdleCores {
 public:
  // `usable` is the number of cores that this process may use, of `online` cores.
  // Errors: from opening and reading the file; EBADMSG, unknown format; ENOTSUP, not all cores are
  // usable.
  static Result<IdleCores> open(std::uint32_t usable, std::uint32_t online,
                                const std::string& proc = proc_folder);

  // Does some thread wait for a core, or would it if a serving thread ran? `serving` threads run
  // now; the calling thread, which only looks, is not one of them and does not count. A read takes
  // 0.4 us. True if the file can no longer be read.
  [[nodiscard]] bool all_busy(std::uint32_t serving) const;

 private:
  IdleCores(ProcFile file, std::uint32_t cores) : file_(std::move(file)), cores_(cores) {}
  [[nodiscard]] Result<std::uint32_t> runnable() const;

  ProcFile file_;
  std::uint32_t cores_;
};

}  // namespace k2k::host
