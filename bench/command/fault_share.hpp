#pragma once
// Which part of the difference between two ways of a program do page faults make? The same two ways
// with pages read before (pinned) are the control: they do the same work without a fault.
//
//   difference = device - direct                      with pages on demand
//   rest       = pinned device - pinned direct        the difference without faults
//   share of the faults = 1 - rest / difference
//
// Threading: pure functions.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/command/goal_table.hpp"

namespace k2k::bench {

// Seconds, a value a round.
struct ArmTimes {
  std::vector<double> device;
  std::vector<double> direct;
};

// Device / direct, a value a round.
std::vector<double> ratios_of(const ArmTimes& times);

// A share with its 95 % interval; below 0: the faults make the device faster.
struct Share {
  double low = 0;
  double mean = 0;
  double high = 0;
};

// The share of the faults, by the sums of all rounds; its interval is that of a ratio of means
// (Cochran, Sampling Techniques, 1977, section 6.3). Empty: the interval of the difference contains
// 0, so there is nothing to explain. Expects the same number of rounds everywhere, at least two.
std::optional<Share> fault_share(const ArmTimes& demand, const ArmTimes& pinned);

// The verdict of a row whose goal is missed, or of which the run cannot tell, while the ratio
// without faults meets the same goal: faults make all of the difference beyond the goal.
inline constexpr const char* explained = "explained";

// The columns of a row, behind those of goal_row(). Without `pinned` they are null, and the verdict
// stays.
//
//   pinned, pinned_low, pinned_high   device / direct with pages read before
//   share, share_low, share_high      of the difference, by the faults; null: no difference
//   page_us, direct_page_us           what a page on demand adds to the time, in either way
//   verdict                           or `explained`
nlohmann::ordered_json fault_columns(Goal goal, const ArmTimes& demand,
                                     const std::optional<ArmTimes>& pinned, std::uint64_t pages,
                                     const std::string& verdict);

}  // namespace k2k::bench
