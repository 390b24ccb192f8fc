#include "labs/translation/simulated/paging.hpp"

#include <algorithm>

#include "labs/translation/simulated/programs.hpp"

namespace k2k::labs::translation {

std::vector<FaultPoint> faults_by_items(const Machine& machine) {
  // Every burst is as the one before: a tenth of the thesis' faults has their means.
  constexpr std::uint32_t faults = thesis::faults / 10;
  Machine demanding = machine;
  demanding.demand = true;
  std::vector<FaultPoint> points;
  for (std::uint32_t items = 1; items <= thesis::lanes; items *= 2) {
    const Counts seen = simulate(demanding, strided(items, machine.page_bytes, faults / items));
    const auto count = static_cast<double>(seen.faults);
    points.push_back({items, count / seen.ns * 1e6, seen.driver_ns / count / 1e3,
                      seen.fault_wait_ns / count / 1e3,
                      count / static_cast<double>(seen.fault_batches)});
  }
  return points;
}

std::vector<InvalidationPoint> invalidations_by_cores(std::uint32_t command_queue) {
  constexpr std::uint32_t each = 500;
  std::vector<InvalidationPoint> points;
  for (const bool all : {false, true}) {
    for (const std::uint32_t cores : {1u, 2u, 4u, 8u, 16u}) {
      std::vector<Invalidation> invalidations;
      for (std::uint32_t at = 0; at < cores * each; ++at) {
        invalidations.push_back({.core = at % cores, .pages = all ? 0u : 1u});
      }
      double sum_ns = 0;
      double end_ns = 0;
      for (const InvalidationTimes& one : times_of(invalidations, command_queue)) {
        sum_ns += one.retired_ns - one.asked_ns;
        end_ns = std::max(end_ns, one.retired_ns);
      }
      const auto count = static_cast<double>(invalidations.size());
      points.push_back({cores, all, sum_ns / count, count / end_ns * 1e6});
    }
  }
  return points;
}

Counts simulate_flushed(const Machine& machine, const WaveTrace& trace, double usual_ns) {
  // Flushes make the trace longer: as many as cover that, too.
  for (double covered_ns = 2 * usual_ns;;) {
    const auto count =
        static_cast<std::size_t>(covered_ns / thesis::all_entries.sum()) + std::size_t{1};
    const std::vector<Invalidation> flushes(count);
    const Counts seen = simulate(machine, trace, flushes);
    if (seen.ns <= static_cast<double>(count) * thesis::all_entries.sum()) return seen;
    covered_ns = 2 * seen.ns;
  }
}

}  // namespace k2k::labs::translation
