#pragma once
// The paper's claims (labs/interference/claims.toml) beside the figures of a study, and a verdict
// each, by the rule of bench/verdict.hpp.
//
// Threading: pure functions.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "bench/verdict.hpp"
#include "labs/interference/harm/study.hpp"

namespace k2k::labs::harm {

struct Claim {
  std::string id;
  std::string section;
  std::string says;
  std::string paper;
  std::string figure;
  std::string pick;
  std::string source;
  std::string setting;
  std::string victim;
  std::string other;
  std::string counter;
  std::string because;
  double ratio = 0;
  bench::Better better = bench::Better::higher;
};

// Errors: EINVAL, with the line or the claim and the mistake.
Result<std::vector<Claim>> parse_claims(std::string_view toml);
// The claims of this build.
Result<std::vector<Claim>> all_claims();

struct Judged {
  Claim claim = {};
  std::string verdict = {};  // "reproduced", "not reproduced", "cannot tell", "not measurable
                             // here", "not measured".
  std::optional<bench::Interval> ours = {};
  std::string note = {};  // The victim that was picked, or the reason why there is no figure.
};
std::vector<Judged> judge_claims(const std::vector<Claim>& claims,
                                 const std::vector<Outcome>& outcomes);
nlohmann::ordered_json json_of(const Judged& judged);

}  // namespace k2k::labs::harm
