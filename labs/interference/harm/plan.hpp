#pragma once
// The comparisons that a study measures, from the options of the command line; its last record.
//
// Threading: pure functions, except prepare(), which forks.

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "labs/interference/harm/claims.hpp"
#include "labs/interference/harm/study.hpp"

namespace k2k::labs::harm {

struct Wanted {
  std::vector<std::string> victims = {};   // Names; empty: the usual ones.
  std::vector<std::string> commands = {};  // NAME=COMMAND of the caller.
  std::vector<std::string> sources = {};
  std::vector<std::string> settings = {};
  bool quick = false;
};

// The victims by name. Errors: EINVAL, an unknown name, with the known ones.
Result<std::vector<Victim>> victims_of(const Wanted& wanted, const std::string& input,
                                       unsigned threads);
// Every arm of each victim under each source and setting. Errors: EINVAL, a wrong setting; as
// source_of().
Result<std::vector<Comparison>> comparisons_of(const Wanted& wanted,
                                               const std::vector<Victim>& victims,
                                               const StudyOptions& options);

// The test of the method: arms that do not differ. Of their 95 % intervals one in twenty excludes 0
// by chance; if more do than chance explains, the machine was not quiet, and no figure of the study
// should be quoted.
struct EqualArms {
  unsigned intervals = 0;  // Of CPU time and of run delay, two a comparison.
  unsigned beside_0 = 0;   // Those that exclude 0.
  unsigned by_chance = 0;  // As many may.

  [[nodiscard]] bool sound() const { return beside_0 <= by_chance; }
};
EqualArms equal_arms_of(const std::vector<Outcome>& outcomes);

nlohmann::ordered_json json_of(const EqualArms& equal);
nlohmann::ordered_json json_of(const Outcome& outcome);
// The last record: figures and verdicts.
nlohmann::ordered_json result_of(const StudyOptions& options, const std::vector<Outcome>& outcomes,
                                 const std::vector<Judged>& claims, bool complete);

}  // namespace k2k::labs::harm
