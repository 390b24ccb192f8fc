#pragma once
// Random numbers from one seed, the same on every machine: the distributions of the standard
// library differ between its implementations.
//
// Threading: confined to one thread.

#include <cmath>
#include <cstdint>
#include <numbers>

namespace k2k::labs::governor {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // In (0, 1]. SplitMix64 (Steele, Lea, Flood, OOPSLA'14).
  double unit() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return static_cast<double>((z >> 11) + 1) * 0x1p-53;
  }
  double exponential(double mean) { return -mean * std::log(unit()); }
  // Box-Muller transform.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(unit()));
    return radius * std::cos(2 * std::numbers::pi * unit());
  }

 private:
  std::uint64_t state_;
};

}  // namespace k2k::labs::governor
