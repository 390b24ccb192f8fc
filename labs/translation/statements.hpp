#pragma once
// The statements of the thesis' chapter 4 (claims.toml), each with a figure of the simulated
// machine, of this machine, or of the thesis' own numbers, and a verdict: does the whole 95 %
// interval of the figure lie within what the statement permits?
//
// Threading: pure functions.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/verdict.hpp"
#include "labs/translation/claims.hpp"
#include "labs/translation/measured/chase.hpp"
#include "labs/translation/measured/shootdown.hpp"
#include "labs/translation/simulated/figures.hpp"

namespace k2k::labs::translation {

// What stands beside a claim.
struct OurFigure {
  std::optional<bench::Interval> ours = {};
  // "recorded", "modelled" or "recorded and modelled": where the accesses of the simulated programs
  // come from.
  const char* accesses = nullptr;
  std::string why_not = {};  // Instead of the claim's note, where there is no figure.
};

// By the claim's id.
using OurFigures = std::map<std::string, OurFigure>;

struct Statement : Claim {
  std::optional<bench::Interval> ours = {};
  const char* accesses = nullptr;

  // "reproduced", "not reproduced", "cannot tell", or "not measurable here" without a figure.
  [[nodiscard]] const char* verdict() const;
};

// This machine's figures, a value a round; empty: not measurable, and the reason.
struct MeasuredRatios {
  std::vector<double> page_gain = {};  // A load in small pages over one in large ones.
  std::string no_page_gain = {};
  std::vector<double> shootdown_ns = {};  // munmap of a page with 4 to 8 cores.
  std::string no_shootdown = {};
  std::vector<double> slow_clock = {};  // A fault by slowed service threads over one by free ones.
  std::string no_quota = {};
};

// Which program comes first, in figures 4.3 to 4.5.
OurFigures figures_of_order(const SimulatedFigures& simulated);
// All of them, with those.
OurFigures figures_of(const SimulatedFigures& simulated, const MeasuredRatios& measured);

Statement judged(const Claim& claim, const OurFigure& figure);
// In the order of the claims. Errors: EINVAL (a claim has no figure, or a figure has no claim).
Result<std::vector<Statement>> statements_of(const std::vector<Claim>& claims,
                                             const OurFigures& figures);

nlohmann::ordered_json json_of(const Statement& statement);

}  // namespace k2k::labs::translation
