#pragma once
// The only source of randomness of a schedule: equal seeds give equal choices on every machine.
//
// Threading: confined to one thread.

#include <cstdint>

namespace k2k::simulation {

// SplitMix64: two multiplications a number, and any seed is a good one.
class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // 0 to bound - 1.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>((next() >> 32) * bound >> 32);
  }
  bool one_in(std::uint32_t bound) { return below(bound) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace k2k::simulation
