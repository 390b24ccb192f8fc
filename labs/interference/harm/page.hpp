#pragma once
// One HTML page of a study, without another file: the paper's claims beside K2K's figures, a chart
// of the victims' loss under each setting, every comparison, and the machine.
//
// Threading: pure functions.

#include <nlohmann/json.hpp>
#include <string>

namespace k2k::labs::harm {

// `result` is the study's last record.
std::string page_of(const nlohmann::ordered_json& result);

}  // namespace k2k::labs::harm
