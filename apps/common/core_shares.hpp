#pragma once
// How an application divides the cores between the server and a device that consists of cores.

#include <algorithm>
#include <cstdint>

#include "base/cores.hpp"
#include "runtime/settings/config.hpp"

namespace k2k::apps {

struct CoreShares {
  static constexpr std::uint32_t serving_max = 8;  // The largest number of rings.
  std::uint32_t serving = 1;                       // Top halves, each with a ring of its own.
  std::uint32_t searching = 1;
};

// Sets the division in the configuration: a unit on each core, or so many `units`, which serve the
// calls of their own work-items. Settings that the user chose stay, and so do those of devices with
// cores of their own.
void share_cores(LoadedConfig& loaded, std::uint32_t units = usable_cores());

// To open, read and close a file takes as long as to search it, so half of the cores serve.
// /usr/include on four cores: 43 ms with two serving cores, 79 with one, 84 with three.
inline CoreShares shares_of(std::uint32_t cores) {
  const std::uint32_t serving = std::clamp(cores / 2, 1u, CoreShares::serving_max);
  return {serving, std::max(cores, serving + 1) - serving};
}

}  // namespace k2k::apps
