#include "cli/watch/rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>

#include "base/contract.hpp"
#include "cli/watch/sources/text_files.hpp"
#include "rules_text.hpp"

namespace k2k::watch {

namespace {

constexpr std::string_view places[] = {"interrupt", "driver",    "softirq",
                                       "thread",    "workqueue", "function"};
constexpr std::string_view kinds[] = {"accelerator", "storage",    "network", "iommu",
                                      "filesystem",  "interrupts", "virtual", "kernel"};
constexpr std::string_view keys[] = {"where", "match", "part", "kind", "programs"};
constexpr std::size_t rules_max = 4096;

template <std::size_t count>
bool is_one_of(std::string_view word, const std::string_view (&words)[count]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::vector<std::string> patterns_of(const toml::table& table) {
  std::vector<std::string> patterns;
  const toml::array* const list = table["match"].as_array();
  for (std::size_t at = 0; list != nullptr && at < list->size(); ++at) {
    patterns.push_back((*list)[at].value_or(std::string()));
  }
  return patterns;
}

Result<Rule> rule_of(const toml::table& table, const std::string& name) {
  for (const auto& [key, value] : table) {
    if (is_one_of(key.str(), keys)) continue;
    return Error{EINVAL, fmt::format("{} has the key '{}'; there are {}", name, key.str(),
                                     fmt::join(keys, ", "))};
  }
  const std::string where = table["where"].value_or(std::string());
  if (!is_one_of(where, places)) {
    return Error{EINVAL, fmt::format("{} has where = '{}'; there are {}", name, where,
                                     fmt::join(places, ", "))};
  }
  Rule rule;
  rule.where = static_cast<Where>(std::find(std::begin(places), std::end(places), where) -
                                  std::begin(places));
  rule.match = patterns_of(table);
  if (rule.match.empty() || std::any_of(rule.match.begin(), rule.match.end(),
                                        [](const std::string& one) { return one.empty(); })) {
    return Error{EINVAL, name + " lacks match, a list of patterns such as [\"irq/*-nvidia\"]"};
  }
  rule.part = table["part"].value_or(std::string());
  if (rule.part.empty()) return Error{EINVAL, name + " lacks part, the name of its row"};
  rule.kind = table["kind"].value_or(std::string());
  if (!is_one_of(rule.kind, kinds)) {
    return Error{EINVAL, fmt::format("{} has kind = '{}'; there are {}", name, rule.kind,
                                     fmt::join(kinds, ", "))};
  }
  rule.programs = table["programs"].value_or(false);
  return rule;
}

}  // namespace

Result<Rules> Rules::parse(std::string_view text, const std::string& source) {
  toml::table file;
  try {
    file = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return Error{EINVAL, fmt::format("{} line {}: {}", source, error.source().begin.line,
                                     error.description())};
  }
  Rules rules;
  for (const auto& [key, value] : file) {
    if (key.str() == "rule" && value.is_array_of_tables()) continue;
    return Error{EINVAL, fmt::format("{}: '{}' is no [[rule]]", source, key.str())};
  }
  const toml::array* const list = file["rule"].as_array();
  for (std::size_t at = 0; list != nullptr && at < list->size(); ++at) {
    if (at >= rules_max) {
      return Error{EINVAL, fmt::format("{} has more than {} rules", source, rules_max)};
    }
    Result<Rule> rule =
        rule_of(*(*list)[at].as_table(), fmt::format("{}: rule {}", source, at + 1));
    if (!rule) return rule.error();
    rules.rules_.push_back(std::move(rule).value());
  }
  return rules;
}

Rules Rules::built_in() {
  Result<Rules> rules = parse(rules_text, "rules.toml");
  K2K_EXPECT(rules.ok());
  return std::move(rules).value();
}

Result<Rules> Rules::from_file(const std::string& path) {
  const Result<std::string> text = read_text(path);
  if (!text) return text.error();
  Result<Rules> rules = parse(text.value(), path);
  if (!rules) return rules;
  const Rules others = built_in();
  std::copy(others.rules_.begin(), others.rules_.end(), std::back_inserter(rules->rules_));
  return rules;
}

const Rule* Rules::find(Where where, const std::string& name, bool of_program) const {
  if (name.empty()) return nullptr;
  for (const Rule& rule : rules_) {
    if (rule.where != where || (of_program && !rule.programs)) continue;
    for (const std::string& pattern : rule.match) {
      if (::fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return &rule;
    }
  }
  return nullptr;
}

}  // namespace k2k::watch
