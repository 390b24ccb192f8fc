// Outcomes of a study as they would be measured, for tests of what is made of them.

#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "labs/interference/harm/study.hpp"

namespace k2k::labs::harm {

using OneRun = harm::Run;

inline std::vector<std::pair<OneRun, OneRun>> pairs_of(const OneRun& a, const OneRun& b,
                                                       std::size_t count) {
  return std::vector<std::pair<OneRun, OneRun>>(count, {a, b});
}

// Ten equal pairs: alone a victim takes a second, and the source makes 1,000 requests a second.
inline Outcome outcome_of(const char* victim, Kind kind, const char* setting, double wall,
                          double rate) {
  Outcome outcome;
  outcome.comparison.victim.name = victim;
  outcome.comparison.source = "ubench";
  outcome.comparison.kind = kind;
  outcome.comparison.setting = setting;
  const OneRun a{
      .wall_s = 1, .cpu_s = 1, .rate = 1000, .wakes = 1, .interrupts = 10, .asleep = 0.8};
  const OneRun b{
      .wall_s = wall, .cpu_s = 1, .rate = rate, .wakes = 0.5, .interrupts = 20, .asleep = 0.1};
  outcome.figures = figures_of(pairs_of(a, b, 10), kind, {}, 1);
  return outcome;
}

}  // namespace k2k::labs::harm
