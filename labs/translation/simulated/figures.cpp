#include "labs/translation/simulated/figures.hpp"

#include <algorithm>
#include <cstring>

#include "base/contract.hpp"

namespace k2k::labs::translation {

namespace {

// The thesis: contiguous pages of 4 KiB are fetched ahead (section 4.2.1), larger ones are not.
Machine machine_with(std::uint64_t page_bytes, std::uint32_t prefetch) {
  Machine machine;
  machine.page_bytes = page_bytes;
  machine.prefetch = page_bytes == small_page ? prefetch : 1;
  return machine;
}

bool has_keys(const Program& program) {
  return std::strcmp(program.name, "bpt") == 0 || std::strcmp(program.name, "xsbench") == 0;
}

}  // namespace

std::vector<LatencyPoint> latency_by_items(std::uint32_t walkers) {
  std::vector<LatencyPoint> points;
  Machine machine = machine_with(small_page, 1);
  machine.walkers = walkers;
  constexpr std::uint32_t accesses = 200;
  for (std::uint32_t items = 1; items <= thesis::lanes; ++items) {
    points.push_back({items, simulate(machine, strided(items, small_page, accesses)).miss_ns()});
  }
  return points;
}

std::uint32_t knee_of(const std::vector<LatencyPoint>& points) {
  std::vector<double> values;
  for (const LatencyPoint& one : points) values.push_back(one.ns);
  const std::vector<Segment> segments = segments_of(values, {});
  return segments.empty() ? 0 : points[segments.front().last].items;
}

const ProgramRun& SimulatedFigures::run_of(const std::string& program, bool sorted,
                                           std::uint64_t page_bytes, std::uint32_t prefetch) const {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const ProgramRun& one) {
    return one.program == program && one.sorted == sorted && one.page_bytes == page_bytes &&
           one.prefetch == prefetch;
  });
  K2K_EXPECT(found != runs.end());
  return *found;
}

SimulatedFigures simulated_figures(const SimulatedOptions& options) {
  K2K_EXPECT(options.rounds >= 2 && options.part >= 1);
  SimulatedFigures figures;
  figures.latency = latency_by_items(thesis::walkers);
  const WaveTrace lines = strided(1, line_bytes, thesis::stride_accesses);
  const WaveTrace pages = strided(1, small_page, thesis::stride_accesses);
  figures.line = simulate(machine_with(small_page, 1), lines);
  figures.page = simulate(machine_with(small_page, 1), pages);
  figures.page_prefetched = simulate(machine_with(small_page, thesis::prefetch_pages), pages);
  figures.page_large = simulate(machine_with(large_page, 1), pages);
  for (const Program& program : programs()) {
    for (const bool sorted : {true, false}) {
      if (!sorted && !has_keys(program)) continue;
      const std::size_t first = figures.runs.size();
      figures.runs.push_back({program.name, sorted, small_page, thesis::prefetch_pages, {}});
      figures.runs.push_back({program.name, sorted, small_page, 1, {}});
      figures.runs.push_back({program.name, sorted, large_page, 1, {}});
      figures.runs.push_back({program.name, sorted, huge_page, 1, {}});
      for (std::uint32_t round = 0; round < options.rounds; ++round) {
        const WaveTrace trace = program.trace(
            {.sorted = sorted, .part = options.part, .seed = options.seed * 1'000 + round});
        for (std::size_t at = first; at < figures.runs.size(); ++at) {
          ProgramRun& run = figures.runs[at];
          run.rounds.push_back(simulate(machine_with(run.page_bytes, run.prefetch), trace));
        }
      }
    }
  }
  return figures;
}

}  // namespace k2k::labs::translation
