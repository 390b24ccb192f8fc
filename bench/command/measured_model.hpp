#pragma once
// The router's model of the disk with the temporary files, measured and fitted as by `k2k
// calibrate`.
//
// Threading: one thread; it sleeps in reads.

#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "base/units.hpp"
#include "router/profile/calibrate.hpp"
#include "router/profile/fit.hpp"

namespace k2k::bench {

// The same error, with advice.
inline Error no_disk(const Error& why) {
  return {why.code, why.message + "; set TMPDIR to a folder on a disk with O_DIRECT (ext4, xfs)"};
}

// Errors: router::measure()'s, router::fit()'s.
inline Result<router::Fit> measured_fit(Nanoseconds longest) {
  const auto measured = router::measure(std::filesystem::temp_directory_path().string(), longest);
  if (!measured) return no_disk(measured.error());
  auto fit =
      router::fit(measured.value().direct, measured.value().cache, measured.value().together);
  if (!fit) return no_disk(fit.error());
  return fit;
}

}  // namespace k2k::bench
