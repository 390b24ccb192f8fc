#pragma once
// The simulated loads, policies and caps, and the row of a result.
//
// Threading: none.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "labs/interference/governor/simulator.hpp"

namespace k2k::labs::governor {

// One simulation. `cap` is a fraction of all cores' CPU time; for `auto` it is the permitted loss.
struct Case {
  k2k::governor::Policy policy;
  Load load;
  double cap;  // 1 for `none`.
};

// The loads of the study: the default load under 1, 5 and 25 %, or with `all` every load. Only the
// named policies; empty: the policies that make sense for the load.
std::vector<Case> study(bool all, const std::vector<k2k::governor::Policy>& policies);
// The caller's own load under one cap; empty: every policy.
std::vector<Case> custom(const Load& load, double cap,
                         const std::vector<k2k::governor::Policy>& policies);

// A row: policy, load, cap, share, worst_100ms, throughput (requests a second), per_cpu_s (requests
// a CPU-second), of_ideal (throughput x mean service time / (cap x cores)), displaced (the share
// that other programs wanted), wakes (a second).
// Errors: as governor::create(), for a load or cap that the policy does not permit.
Result<nlohmann::ordered_json> run(const Case& one, std::uint64_t seed);

// Is this policy selected? An empty list selects all.
bool wanted(const std::vector<k2k::governor::Policy>& policies, k2k::governor::Policy one);
// Five significant digits, for readers and diffs; 0 for a value that is not a finite number.
double rounded(double value);

// The governor's configuration in a case.
k2k::governor::GovernorConfig configuration(const Case& one);

}  // namespace k2k::labs::governor
