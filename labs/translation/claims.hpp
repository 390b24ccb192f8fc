#pragma once
// The statements of the thesis' chapter 4 as claims.toml has them: each with its section, its
// number as printed, and what it permits.
//
// Threading: pure functions.

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace k2k::labs::translation {

struct Claim {
  std::string id = {};
  std::string section = {};
  std::string says = {};    // The statement, shortened.
  std::string thesis = {};  // Its number, as printed.
  std::string source = {};  // Of our figure: "simulated", "measured" or "arithmetic".
  double low = 0;           // The figure that the statement permits.
  double high = std::numeric_limits<double>::infinity();
  std::string note = {};  // About our figure.
};

// In the order of the text. Errors: EINVAL, with the line or the claim.
Result<std::vector<Claim>> parse_claims(std::string_view text);
// Those of labs/translation/claims.toml.
Result<std::vector<Claim>> all_claims();

}  // namespace k2k::labs::translation
