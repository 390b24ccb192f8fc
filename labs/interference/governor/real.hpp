#pragma once
// What a policy does to real threads: a runtime a row, 64 work-items that read without pause, and
// an observer outside (observer.hpp).
//
// Threading: the caller's thread watches; each row has a runtime and a thread for its launch.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "governor/config.hpp"
#include "labs/interference/governor/random_reads.hpp"
#include "runtime/runtime.hpp"

namespace k2k::labs::governor {

// `cap` is a fraction of all cores' CPU time, 0 for `none`.
struct RealCase {
  k2k::governor::Policy policy;
  double cap;
};

// `none`, then budget and backoff under each of 1, 5 and 25 %, or under `caps` where some are
// given. Only the policies named; empty = all three.
// Errors: EINVAL, a policy that a server cannot have, or a cap that is no thousandth.
Result<std::vector<RealCase>> real_cases(const std::vector<k2k::governor::Policy>& policies,
                                         const std::vector<double>& caps);

// So many rows, and the reference where `none` is not among them, take 55 s with what is around
// them.
double real_seconds(std::size_t rows, bool reference);
// The time of a reference that was not asked for.
inline constexpr double reference_seconds = 2;

class RealLab {
 public:
  // Errors: those of RandomReads::create().
  static Result<RealLab> create(const RuntimeConfig& base, std::uint64_t seed);

  // Runs for so long, the first half second unseen. The first case must be `none`: its mean service
  // time is that of of_ideal. A row: policy, load, cap, share, worst_100ms, throughput, per_cpu_s,
  // of_ideal (null for `none`) as in study.hpp, and service_us (this row's mean service time, which
  // of_ideal does not use), ledger_share (what the server says of itself),
  // waits (timers a second) and forced (requests served in debt, because none may wait for ever).
  // Errors: those of Runtime::create(), of the load and the observer.
  Result<nlohmann::ordered_json> row(const RealCase& one, double seconds);

  [[nodiscard]] std::uint32_t cores() const { return cores_; }
  // CPU time of a request's system call, from the last `none`; 0 before.
  [[nodiscard]] double service_us() const { return service_us_; }

 private:
  RealLab(const RuntimeConfig& base, std::uint64_t seed, RandomReads reads);

  RuntimeConfig base_;
  std::uint64_t seed_;
  RandomReads reads_;
  std::uint32_t cores_;
  double service_us_ = 0;
};

}  // namespace k2k::labs::governor
