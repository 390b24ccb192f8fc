#pragma once
// Everything that `k2k lab translation` measures and simulates, as rows: each has the name of its
// table, and "measured" (on this machine) or "simulated" (of the thesis' machine).
//
// Threading: one thread, which starts others for the shootdowns.

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "labs/translation/recorded/trace_file.hpp"

namespace k2k::labs::translation {

struct StudyPlan {
  bool simulated_only = false;
  std::uint32_t rounds = 3;  // Of figures with an interval; at least 2.
  std::uint32_t part = 1;    // Of the programs' work.
  std::uint32_t fault_pages = 2'048;
  std::uint32_t quota_pages = 4'096;  // A measurement of faults under a CPU quota.
  std::uint32_t shootdown_calls = 300;
  std::size_t bytes_most = std::size_t{256} << 20;  // Of memory in pages of one size.
  std::uint64_t seed = 1;
  std::vector<RecordedTrace> recorded = {};  // Judged by judge_recorded().
  // As SimulatedOptions::told.
  std::function<void(std::size_t done, std::size_t all)> told = {};
};

using Rows = std::vector<nlohmann::ordered_json>;

inline constexpr std::size_t steps_of_study = 7;
// `step` hears what comes next, at most steps_of_study times. Errors: ENOMEM and as the system
// calls of the probes.
Result<Rows> run_study(const StudyPlan& plan, const std::function<void(const char*)>& step);

// The rows of one table.
Rows rows_of(const Rows& rows, const std::string& table);
// Verdict → number of statements, in the order of first appearance.
nlohmann::ordered_json verdicts_of(const Rows& rows);

}  // namespace k2k::labs::translation
