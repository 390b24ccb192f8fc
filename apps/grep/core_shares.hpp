#pragma once
// How k2k grep shares the cores out between the server and a device that is made of them.

#include <algorithm>
#include <cstdint>

namespace k2k::grep {

struct CoreShares {
  static constexpr std::uint32_t serving_max = 8;  // As many as there can be rings.
  std::uint32_t serving = 1;                       // Top halves, each with a ring of its own.
  std::uint32_t searching = 1;
};

// To open, read and close a file takes as long as to look through it: half of them serve. With two
// of four, /usr/include takes 43 ms where it took 79 with one, and 84 with three.
inline CoreShares shares_of(std::uint32_t cores) {
  const std::uint32_t serving = std::clamp(cores / 2, 1u, CoreShares::serving_max);
  return {serving, std::max(cores, serving + 1) - serving};
}

}  // namespace k2k::grep
