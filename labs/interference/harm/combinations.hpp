#pragma once
// The settings of a study side by side: what victims lose under each, and how fast the accelerator
// is. The paper's figures 7 and 8 (combinations of mitigations, no cap), its figure 12 (governors),
// and several devices under one host limit.
//
// Threading: pure functions.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/verdict.hpp"
#include "labs/interference/harm/study.hpp"

namespace k2k::labs::harm {

// The paper's default, against which combinations are compared where a study has it.
inline constexpr const char* paper_default = "staged";
// The host limit binds if all devices together take at most so many times the limit.
inline constexpr double limit_slack = 1.1;

struct SettingPoint {
  std::string source = {};
  std::string setting = {};
  std::string base = {};  // The setting that it is compared with.
  Crowd crowd = {};
  std::size_t victims = 0;
  bench::Interval wall = {};          // Wall time of the victims, geometric mean: B against A.
  bench::Interval wall_to_base = {};  // The same against that under `base`,
  bench::Interval rate_to_base = {};  // and requests a second; rounds 0: `base` was not measured.
  Estimate share = {};                // Of all cores' CPU time, by all devices' service threads.
  double governor_share = 0;  // Of one core, by the governor's own thread: its ticker, its sensors.
  // Of combinations without a cap:
  bool combination = false;
  bool front = false;      // No other combination harms less and serves more: Pareto optimal.
  bool dominates = false;  // Harms no more than `base` and serves no less, by whole intervals.
};

// The setting without its words for a cap, a governor and devices: "default" if no word is left.
std::string base_of(const std::string& setting);
// Every setting with victims, by source, in the order of the study.
std::vector<SettingPoint> points_of(const std::vector<Outcome>& outcomes);
nlohmann::ordered_json json_of(const SettingPoint& point);

}  // namespace k2k::labs::harm
