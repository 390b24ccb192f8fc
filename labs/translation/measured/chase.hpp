#pragma once
// What translation costs a load on this machine. A chain of pointers in random order touches one
// line of each page; a twin of the chain has as many lines side by side in few pages. Both meet the
// same caches, so the difference of their times is translation: TLBs, and page walks beyond them.
// In a virtual machine it includes the hypervisor's tables.
//
// Threading: confined to one thread; hold it on one core for steady figures.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "labs/translation/measured/page_memory.hpp"

namespace k2k::labs::translation {

struct ChaseOptions {
  // Of each figure, in sweeps of several: the fastest one counts, free of other programs.
  std::uint32_t sweeps = 3;
  std::uint32_t repeats = 3;
  std::uint64_t seed = 1;
  std::size_t bytes_most = std::size_t{128} << 20;  // Of memory in pages of the size in question.
};

struct ChasePoint {
  std::uint64_t pages;
  double ns;       // Of a load, a line of each page.
  double twin_ns;  // Of a load, the same number of lines in few pages.
  [[nodiscard]] double translation_ns() const { return ns > twin_ns ? ns - twin_ns : 0; }
};

// A level of the translation: footprints up to its reach cost `ns` a load beyond the twin's.
struct Level {
  std::uint64_t reach_pages;  // The largest footprint of the level.
  double ns;
  bool last;  // No larger footprint was measured: the reach may be larger.
};

struct Chase {
  PageSize size;
  std::vector<ChasePoint> points;
  std::vector<Level> levels;
};

// Pages from 4 up to `bytes_most`, four footprints an octave. Errors: as PageMemory::create().
Result<Chase> chase(PageSize size, const ChaseOptions& options);
// The levels of points in order: a pure function.
std::vector<Level> levels_of(const std::vector<ChasePoint>& points);

// Figure 4.2 on this machine: `chains` independent chains, a load of each a step, over pages of 4
// KiB far beyond the reach of the TLBs; and their twins.
struct ConcurrencyPoint {
  std::uint32_t chains;
  double ns;  // A step: a load of every chain.
  double twin_ns;
};
struct Concurrency {
  std::uint64_t pages;
  std::vector<ConcurrencyPoint> points;
  // The latency of a load alone over the best time a load: the number of loads that the machine
  // translates at a time (Little's law).
  double loads_at_once;
  double twin_loads_at_once;
  // The number of chains from which on a further one adds less than a tenth.
  std::uint32_t knee;
};
Result<Concurrency> concurrency(const ChaseOptions& options);
// The summary of points in order: a pure function. Expects at least one point.
Concurrency concurrency_of(std::uint64_t pages, std::vector<ConcurrencyPoint> points);

// The same loads, in random order over lines 4 KiB apart, in pages of 4 KiB and of 2 MiB.
struct PageGain {
  double small_ns;  // A load.
  double large_ns;
};
// Errors: as PageMemory::create(), where Linux gives no pages of 2 MiB.
Result<PageGain> page_gain(const ChaseOptions& options);

// Table 4.3 on this machine: 10,000 independent accesses, 64 bytes or 4 KiB apart, after the caches
// and TLBs were filled with other memory.
struct Stride {
  std::uint64_t pages;  // Touched: the misses of a TLB that holds none of them.
  double us;
};
struct Strides {
  Stride line;
  Stride page;
};
Result<Strides> strides(const ChaseOptions& options);

}  // namespace k2k::labs::translation
