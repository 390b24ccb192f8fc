#pragma once
// Random residencies of eight kinds, to compare schedules on. The paper's kinds are not published.
//
// The same state of the random numbers gives the same residency on every machine: distributions of
// the standard library would not. Threading: the caller's numbers.

#include <cstdint>
#include <random>
#include <span>

namespace k2k::labs::routing {

struct Pattern {
  const char* name;
  const char* says;  // What a page's neighbours tell of it.
  void (*fill)(std::mt19937_64& random, std::span<std::uint8_t> residency);
};

std::span<const Pattern> patterns();

}  // namespace k2k::labs::routing
