#pragma once
// The time for which threads waited for a CPU: pressure stall information (PSI; Linux 4.20 and
// later, Documentation/accounting/psi.rst), read a few times per second for the policy `auto`.
//
// `total` of the line "some" counts the microseconds in which at least one thread waited; each
// core's part is weighted by how busy the core was. Each read updates it (0.7 us).
//
// Threading: the caller serialises.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/units.hpp"
#include "host/proc_file.hpp"

namespace k2k::host {

// Parses the total of "some avg10=0.00 avg60=0.26 avg300=3.63 total=4099494441\n", on any line.
// Empty: no such line.
std::optional<Nanoseconds> some_total_of(std::string_view pressure);

class CpuPressure {
 public:
  // Errors: from opening and reading the file (ENOENT, EOPNOTSUPP: a Linux without PSI, or one
  // started with psi=0); EBADMSG, unknown format.
  static Result<CpuPressure> open(Instant now, const std::string& proc = proc_folder);

  // The fraction of the time since the last call, or since open(), in which some thread waited: 0
  // to 1; negative if the file can no longer be read, or no time has passed.
  double since_last(Instant now);

 private:
  CpuPressure(ProcFile file, Instant now) : file_(std::move(file)), last_(now) {}
  [[nodiscard]] Result<Nanoseconds> total() const;

  ProcFile file_;
  Instant last_;
  Nanoseconds last_total_{};
};

}  // namespace k2k::host
