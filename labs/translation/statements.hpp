#pragma once
// The statements of the thesis' chapter 4, each with a figure of the simulated machine, of this
// machine, or of the thesis' own numbers, and a verdict: does the whole 95 % interval of the figure
// lie within what the statement permits?
//
// Threading: pure functions.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/verdict.hpp"
#include "labs/translation/measured/chase.hpp"
#include "labs/translation/measured/shootdown.hpp"
#include "labs/translation/simulated/figures.hpp"

namespace k2k::labs::translation {

struct Statement {
  const char* id;
  const char* section;
  const char* says;    // The statement, shortened.
  const char* thesis;  // Its number, as printed.
  const char* source;  // "simulated", "measured" or "arithmetic" (the thesis' numbers alone).
  double low;          // The figure that the statement permits.
  double high;
  std::optional<bench::Interval> ours = {};
  std::string note = {};
  // "recorded", "modelled" or "recorded and modelled": where the accesses of the simulated programs
  // come from.
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
};

// Which program comes first, in figures 4.3 to 4.5.
std::vector<Statement> statements_of_order(const SimulatedFigures& simulated);
// All of them, with those.
std::vector<Statement> statements_of(const SimulatedFigures& simulated,
                                     const MeasuredRatios& measured);

nlohmann::ordered_json json_of(const Statement& statement);

}  // namespace k2k::labs::translation
