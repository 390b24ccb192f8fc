#pragma once
// Figure 4.7 of the thesis, the latency of a device's page fault against the CPU's clock, by a
// proxy: a CPU quota of the service threads, while the device keeps its cores.
//
// Threading: one thread, which starts a runtime.

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "labs/translation/simulated/thesis.hpp"

namespace k2k::labs::translation {

// Parts of a core. The third is the thesis' slowest clock over its fastest.
inline constexpr double quota_shares[] = {1, 0.75, thesis::slow_ghz / thesis::fast_ghz, 0.25};
inline constexpr std::size_t slow_share = 2;  // Its place.

struct QuotaPoint {
  double share;
  std::uint32_t at_a_time;      // Faults of the unit.
  std::vector<double> us = {};  // A fault's mean latency, a value a round.
};

// Each share with one fault at a time and with 64, over `rounds`. Errors: as CpuQuota and
// Runtime::create().
Result<std::vector<QuotaPoint>> quota_faults(std::uint32_t pages, std::uint32_t rounds);

}  // namespace k2k::labs::translation
