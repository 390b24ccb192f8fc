// How long does a decision take, from a request's residency to its plan?
//
// Budgets: exact() on 2,048 pages (8 MiB) 60 ns on most patterns, 120 ns on the worst. Residencies
// are in the second-level cache, as mincore(2) leaves them. There are many different residencies,
// so that branches are as hard to predict as in practice. The time excludes the probe for the
// residency and the execution of the plan.

#include <benchmark/benchmark.h>

#include <string>

#include "labs/routing/baselines.hpp"
#include "labs/routing/patterns.hpp"
#include "router/plan/planner.hpp"

namespace k2k::labs::routing {
namespace {

using router::Planner;
using router::Residency;
using router::Scan;

constexpr std::uint32_t pages = 2048;
constexpr std::size_t vectors = 128;

using Residencies = std::vector<std::vector<std::uint8_t>>;

Residencies random_ones(const Pattern& pattern) {
  std::mt19937_64 random(1);
  Residencies all(vectors, std::vector<std::uint8_t>(pages));
  for (auto& each : all) pattern.fill(random, each);
  return all;
}

// The most candidates that a request can have: the shortest runs that may pay, and every byte is
// read.
Residencies most_candidates() {
  const std::uint32_t run = router::never_from_cache(router::costs_of({}).value()) + 1;
  Residencies all(vectors, std::vector<std::uint8_t>(pages, 1));
  for (std::size_t at = 0; at < vectors; ++at) {
    for (std::size_t page = at % 17; page < pages; page += run + 1) all[at][page] = 0;
  }
  return all;
}

template <class Make>
void plans(benchmark::State& state, const Residencies& all, const Scan& scan, Make make) {
  Planner planner = Planner::create({}, pages, scan).value();
  Baselines baselines(planner.costs(), pages, scan);
  std::size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(make(planner, baselines, all[at]));
    at = (at + 61) % vectors;
  }
}

void add(const std::string& name, const Residencies& all) {
  const auto exact = [](Planner& planner, Baselines&, Residency one) { return planner.exact(one); };
  const auto greedy = [](Planner&, Baselines& baselines, Residency one) {
    return baselines.greedy(one);
  };
  const auto split = [](Planner&, Baselines& baselines, Residency one) {
    return baselines.split(one);
  };
  const auto both = [](Planner& planner, Baselines&, Residency one) {
    return planner.overlapped(one);
  };
  const auto add_one = [&](const std::string& schedule, const Scan& scan, auto make) {
    benchmark::RegisterBenchmark((schedule + "/" + name + "/" + scan.name).c_str(),
                                 [=](benchmark::State& state) { plans(state, all, scan, make); });
  };
  for (const Scan& scan : router::scans()) add_one("exact", scan, exact);
  add_one("greedy", router::scans().front(), greedy);
  add_one("split", router::scans().front(), split);
  add_one("overlapped", router::scans().front(), both);
}

const bool added = [] {
  for (const Pattern& pattern : patterns()) add(pattern.name, random_ones(pattern));
  add("most_candidates", most_candidates());
  return true;
}();

}  // namespace
}  // namespace k2k::labs::routing
