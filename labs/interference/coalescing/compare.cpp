#include "labs/interference/coalescing/compare.hpp"

#include <optional>

#include "base/contract.hpp"

namespace k2k::labs::coalescing {

namespace {

constexpr std::size_t compared_rounds_min = 4;

Slice half_of(const Contender& one, std::size_t parity) {
  std::vector<Slice> half;
  for (std::size_t round = parity; round < one.rounds.size(); round += 2) {
    half.push_back(one.rounds[round]);
  }
  return sum_of(half);
}

// The cheapest setting with a delay within the bound; none if the delay exceeds the bound even
// without coalescing.
template <class Seen>
std::optional<std::size_t> best_of(const Rounds& rounds, double delay_max_ns, Seen seen) {
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t index = 0; index < rounds.fixed.size(); ++index) {
    const Slice sum = seen(rounds.fixed[index]);
    if (sum.mean_delay_ns() > delay_max_ns) continue;
    if (best && sum.cost_ns() >= least) continue;
    best = index;
    least = sum.cost_ns();
  }
  return best;
}

bench::Judgement judgement_of(const Comparison& seen) {
  if (seen.delayed) return {bench::Verdict::missed, std::nullopt};
  return bench::judge(seen.ratio, 1 + tolerance, bench::Better::lower);
}

}  // namespace

Slice sum_of(const std::vector<Slice>& slices) {
  Slice sum;
  for (const Slice& slice : slices) {
    sum.cpu_ns += slice.cpu_ns;
    sum.requests += slice.requests;
    sum.delay_ns += slice.delay_ns;
  }
  return sum;
}

std::vector<k2k::governor::CoalesceSetting> fixed_settings() {
  return {{0, 64},  {10, 16},  {40, 16},   {40, 64},  {80, 16},
          {80, 64}, {160, 16}, {160, 256}, {320, 256}};
}

Comparison compare(const Rounds& rounds, double delay_max_ns) {
  const std::size_t count = rounds.adaptive.rounds.size();
  K2K_EXPECT(count >= compared_rounds_min && !rounds.fixed.empty());
  const auto all = [](const Contender& one) { return sum_of(one.rounds); };
  const std::optional<std::size_t> best = best_of(rounds, delay_max_ns, all);
  Comparison seen;
  seen.unbounded = !best;
  seen.best = best.value_or(0);
  seen.delayed = best && all(rounds.adaptive).mean_delay_ns() > delay_max_ns;

  std::vector<double> ratios;
  for (const std::size_t parity : {0u, 1u}) {
    const std::size_t chosen = best_of(rounds, delay_max_ns, [&](const Contender& one) {
                                 return half_of(one, 1 - parity);
                               }).value_or(0);
    for (std::size_t round = parity; round < count; round += 2) {
      ratios.push_back(rounds.adaptive.rounds[round].cost_ns() /
                       rounds.fixed[chosen].rounds[round].cost_ns());
    }
  }
  seen.ratio = bench::interval_of(ratios);
  seen.judgement = judgement_of(seen);
  return seen;
}

}  // namespace k2k::labs::coalescing
