#pragma once
// The rules that give a driver, an interrupt or a thread its place in a report: data, embedded from
// rules.toml, whose head describes the format.
//
// Threading: a Rules is constant after its making.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace k2k::watch {

enum class Where : std::uint8_t { interrupt, driver, softirq, thread, workqueue, function };

struct Rule {
  Where where = Where::thread;
  std::vector<std::string> match;
  std::string part;
  std::string kind;
  bool programs = false;
};

class Rules {
 public:
  // The embedded rules.
  static Rules built_in();
  // `source` is the file's name for messages. Errors: EINVAL, with the rule, its number and the
  // permitted words.
  static Result<Rules> parse(std::string_view text, const std::string& source);
  // These rules before the built-in ones. Errors: of reading the file; as parse().
  static Result<Rules> from_file(const std::string& path);

  // The first rule that matches; nullptr: none. `of_program`: the name is of a program's thread.
  [[nodiscard]] const Rule* find(Where where, const std::string& name,
                                 bool of_program = false) const;
  [[nodiscard]] const std::vector<Rule>& list() const { return rules_; }

 private:
  std::vector<Rule> rules_;
};

}  // namespace k2k::watch
