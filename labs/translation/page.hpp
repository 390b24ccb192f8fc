#pragma once
// One HTML page of a study, without another file: the thesis' statements beside ours, the levels of
// translation of this machine, figure 4.2 of both machines, and every table.
//
// Threading: pure functions.

#include <nlohmann/json.hpp>
#include <string>

namespace k2k::labs::translation {

// `result`: {"rows", "verdicts", "machine_facts", "seed", "rounds", "quick"}.
std::string page_of(const nlohmann::ordered_json& result);

}  // namespace k2k::labs::translation
