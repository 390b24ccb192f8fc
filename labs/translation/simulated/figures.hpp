#pragma once
// The figures and tables of section 4.4, of the simulated machine.
//
// Threading: pure functions; simulated_figures() starts threads and waits for them.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "labs/translation/change_points.hpp"
#include "labs/translation/recorded/trace_file.hpp"
#include "labs/translation/simulated/machine.hpp"
#include "labs/translation/simulated/paging.hpp"
#include "labs/translation/simulated/programs.hpp"

namespace k2k::labs::translation {

// Figure 4.2.
struct LatencyPoint {
  std::uint32_t items;
  double ns;  // That a wavefront waits for the translations of one instruction.
};
// Of 1 to 64 work-items, by a machine with this many walkers.
std::vector<LatencyPoint> latency_by_items(std::uint32_t walkers);
// The largest number of work-items before the latency's first step.
std::uint32_t knee_of(const std::vector<LatencyPoint>& points);

// One program under one setting, in rounds with inputs of their own seeds.
struct ProgramRun {
  std::string program;
  bool sorted;
  std::uint64_t page_bytes;
  std::uint32_t prefetch;
  bool recorded;  // The accesses; otherwise they are those of programs.hpp.
  double footprint_gb;
  std::vector<Counts> rounds;
};

struct SimulatedFigures {
  std::vector<LatencyPoint> latency;
  // Table 4.3: strides of a line and of a page, without a prefetch and with it, and in large pages.
  Counts line;
  Counts page;
  Counts page_prefetched;
  Counts page_large;
  std::vector<ProgramRun> runs;
  // Sorted programs with the usual setting, while a core invalidates all entries without a pause.
  std::vector<ProgramRun> flushed;
  std::vector<FaultPoint> faults;
  std::vector<InvalidationPoint> invalidations;

  // Expects a setting that was run.
  [[nodiscard]] const ProgramRun& run_of(const std::string& program, bool sorted,
                                         std::uint64_t page_bytes, std::uint32_t prefetch) const;
};

struct SimulatedOptions {
  std::uint32_t rounds = 3;  // At least 2: an interval needs them.
  std::uint32_t part = 1;    // Of the programs' work (Work::part).
  std::uint64_t seed = 1;
  // Replayed in place of the models of the same programs, a round each.
  std::vector<RecordedTrace> recorded = {};
  // Hears how many rounds of programs are simulated, of how many; one call at a time, on any
  // thread.
  std::function<void(std::size_t done, std::size_t all)> told = {};
};
// EINVAL, with the program: unknown, fewer than two rounds, or not as many in both orders.
Status judge_recorded(const std::vector<RecordedTrace>& recorded);
// Expects recorded accesses without an error. Programs are simulated side by side, on as many
// threads as there are cores; the result is the same with any number.
SimulatedFigures simulated_figures(const SimulatedOptions& options);

}  // namespace k2k::labs::translation
