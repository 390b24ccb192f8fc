#pragma once
// Which loads are simulated under which policies and caps, and what a row of the result says.
//
// Threading: none.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "labs/interference/governor/simulator.hpp"

namespace k2k::labs::governor {

// One simulation. `cap` is a fraction of all cores' CPU time; for `auto` it is the loss allowed.
struct Case {
  k2k::governor::Policy policy;
  Load load;
  double cap;  // 1 for `none`.
};

// The loads of the study: the default one under all of 1, 5 and 25 %, or with `all` every one.
// Only the policies named; empty = those that make sense for the load.
std::vector<Case> study(bool all, const std::vector<k2k::governor::Policy>& policies);
// One load of the caller's under one cap; empty = every policy.
std::vector<Case> custom(const Load& load, double cap,
                         const std::vector<k2k::governor::Policy>& policies);

// A row: policy, load, cap, share, worst_100ms, throughput (requests a second), per_cpu_s (requests
// a CPU-second), of_ideal (throughput x mean service time / (cap x cores)), displaced (the share
// that somebody else wanted), wakes (a second).
// Errors: those of governor::create(), for a load or cap that the policy does not permit.
Result<nlohmann::ordered_json> run(const Case& one, std::uint64_t seed);

// Is this policy among those asked for? All are where none is named.
bool wanted(const std::vector<k2k::governor::Policy>& policies, k2k::governor::Policy one);
// To five digits, for people and diffs; 0 for what is no number.
double rounded(double value);

// How the governor of a case is configured.
k2k::governor::GovernorConfig configuration(const Case& one);

}  // namespace k2k::labs::governor
