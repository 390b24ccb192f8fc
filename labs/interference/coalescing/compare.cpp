#include "labs/interference/coalescing/compare.hpp"

#include <cmath>
#include <optional>

#include "base/contract.hpp"

namespace k2k::labs::coalescing {

namespace {

constexpr std::size_t rounds_min = 4;

// The quantile 0.975 of Student's t by degrees of freedom, from 1 on; then that of the normal
// distribution, corrected (Abramowitz and Stegun, 26.7.5).
double student(std::size_t freedom) {
  constexpr double small[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};
  if (freedom <= std::size(small)) return small[freedom - 1];
  constexpr double normal = 1.96;
  const auto n = static_cast<double>(freedom);
  const double cube = normal * normal * normal;
  return normal + (cube + normal) / (4 * n) +
         (5 * cube * normal * normal + 16 * cube + 3 * normal) / (96 * n * n);
}

Slice half_of(const Contender& one, std::size_t parity) {
  std::vector<Slice> half;
  for (std::size_t round = parity; round < one.rounds.size(); round += 2) {
    half.push_back(one.rounds[round]);
  }
  return sum_of(half);
}

// The cheapest whose delay is within the bound; none: even no coalescing breaks it.
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

Verdict judge(const Comparison& seen) {
  if (seen.delayed || seen.low > 1 + tolerance) return Verdict::missed;
  return seen.high <= 1 + tolerance ? Verdict::met : Verdict::not_resolvable;
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

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::met:
      return "met";
    case Verdict::missed:
      return "missed";
    case Verdict::not_resolvable:
      return "not resolvable";
  }
  return "";
}

Comparison compare(const Rounds& rounds, double delay_max_ns) {
  const std::size_t count = rounds.adaptive.rounds.size();
  K2K_EXPECT(count >= rounds_min && !rounds.fixed.empty());
  const auto all = [](const Contender& one) { return sum_of(one.rounds); };
  const std::optional<std::size_t> best = best_of(rounds, delay_max_ns, all);
  Comparison seen;
  seen.unbounded = !best;
  seen.best = best.value_or(0);
  seen.delayed = best && all(rounds.adaptive).mean_delay_ns() > delay_max_ns;

  double sum = 0;
  double squares = 0;
  for (const std::size_t parity : {0u, 1u}) {
    const std::size_t chosen = best_of(rounds, delay_max_ns, [&](const Contender& one) {
                                 return half_of(one, 1 - parity);
                               }).value_or(0);
    for (std::size_t round = parity; round < count; round += 2) {
      const double part = std::log(rounds.adaptive.rounds[round].cost_ns() /
                                   rounds.fixed[chosen].rounds[round].cost_ns());
      sum += part;
      squares += part * part;
    }
  }
  const auto n = static_cast<double>(count);
  const double mean = sum / n;
  const double variance = std::max(0.0, (squares - n * mean * mean) / (n - 1));
  const double reach = student(count - 1) * std::sqrt(variance / n);
  seen.ratio = std::exp(mean);
  seen.low = std::exp(mean - reach);
  seen.high = std::exp(mean + reach);
  seen.verdict = judge(seen);
  return seen;
}

}  // namespace k2k::labs::coalescing
