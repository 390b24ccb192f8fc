#pragma once
// What the paper says of its machine, beside what the simulated one does.
//
// The model assumes three times that neither source states. So each figure is a range over other
// values of them, and a statement is reproduced only if the whole range agrees.
//
// Threading: pure functions.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "labs/interference/apu/apu.hpp"

namespace k2k::labs::apu {

struct Range {
  double low = 0;
  double mean = 0;  // Under the assumptions of Apu.
  double high = 0;
};

struct Statement {
  std::string id = {};
  std::string section = {};
  std::string says = {};
  double paper = 0;
  double tolerance = 0;   // How far `ours` may be from `paper`;
  bool at_least = false;  // more is no difference.
  Range ours = {};
};
// "reproduced", "not reproduced" or "cannot tell".
const char* verdict_of(const Statement& statement);

// Each simulation takes `seconds` of simulated time.
std::vector<Statement> statements(double seconds);
nlohmann::ordered_json json_of(const Statement& statement);

// The eight combinations, by the names of `k2k lab interference`.
struct Named {
  const char* name;
  Setting setting;
};
const std::vector<Named>& combinations();
nlohmann::ordered_json row_of(const Named& one, double seconds);

}  // namespace k2k::labs::apu
