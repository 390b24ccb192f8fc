#pragma once
// Random numbers without a state: the i-th number of a seed, the same on the device and on the
// host, in any order. (The idea: Salmon et al., SC'11; the mixing: SplitMix64, Steele, Lea and
// Flood, OOPSLA'14.)
//
// C++17, for device code too. Threading: pure functions.

#include <cstdint>

#include "base/attributes.hpp"

namespace k2k::apps {

K2K_HD inline std::uint64_t draw(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed * 0xd1342543de82ef95u + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// A number in [0, bound) from the upper half of `number`; the bias is below bound / 2^32.
K2K_HD inline std::uint32_t below(std::uint32_t bound, std::uint64_t number) {
  return static_cast<std::uint32_t>(((number >> 32) * bound) >> 32);
}

// A number in [0, 1).
K2K_HD inline double unit(std::uint64_t number) {
  return static_cast<double>(number >> 11) * 0x1p-53;
}

}  // namespace k2k::apps
