#pragma once
// The accesses of the thesis' micro-benchmarks and six programs (sections 4.4.1 and 4.4.2, table
// 4.2), as traces of wavefronts. Each program is its access pattern at the thesis' footprint: data
// structures are computed, not stored, so that a tree of 20 GB needs no memory. A part of the work
// is traced, enough that the TLBs are full for most of it.
//
// The patterns follow the published programs' loops. The number of instructions without memory
// between accesses is an estimate, for the thesis gives none.
//
// Threading: pure functions: equal arguments, equal traces.

#include <cstdint>
#include <vector>

#include "labs/translation/simulated/wave_trace.hpp"

namespace k2k::labs::translation {

// One wavefront; each of its `items` work-items makes `accesses` accesses, `stride` bytes apart, in
// memory of its own. Expects 1 to 64 items.
WaveTrace strided(std::uint32_t items, std::uint64_t stride, std::uint32_t accesses);

struct Work {
  bool sorted = true;      // The keys of bpt and xsbench; no other program has keys.
  std::uint32_t part = 1;  // How much of the work is traced: 1 (a quick run) and more.
  std::uint64_t seed = 1;
};

struct Program {
  const char* name;
  double footprint_gb;
  WaveTrace (*trace)(const Work& work);
};

// In the order of table 4.2.
const std::vector<Program>& programs();
// Expects a name of programs().
const Program& program_of(const char* name);

}  // namespace k2k::labs::translation
