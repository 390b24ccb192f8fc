#pragma once
// Replaces src/base/asymmetric_barrier.hpp in the simulation: both halves of the handshake are
// points where another agent may run. The barrier itself is assumed to work.
//
// Threading: as tests/simulation/hooks.hpp.

#include <atomic>

#include "tests/simulation/hooks.hpp"

namespace k2k {

inline void heavy_barrier() { simulation::step(); }

template <class Word>
inline Word light_barrier_then_load(std::atomic<Word>& word) {
  simulation::step();
  return word.load();
}

}  // namespace k2k
