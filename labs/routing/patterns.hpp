#pragma once
// Random residencies of eight kinds, to compare schedules on. The paper's kinds are not published.
//
// The same state of the random-number generator gives the same residency on every machine, which
// distributions of the standard library do not. Threading: as the caller's generator.

#include <cstdint>
#include <random>
#include <span>

namespace k2k::labs::routing {

struct Pattern {
  const char* name;
  const char* description;  // How cached and uncached pages alternate.
  void (*fill)(std::mt19937_64& random, std::span<std::uint8_t> residency);
};

std::span<const Pattern> patterns();

}  // namespace k2k::labs::routing
