#include "bench/command/goal_table.hpp"

#include <fmt/format.h>

namespace k2k::bench {

namespace {

constexpr std::string_view separator = "; ";

}  // namespace

std::string text_of(const GoalRow& row) {
  return fmt::format("{} {} {:g}", row.title,
                     row.better == Better::higher ? ">=" : "<=", row.target);
}

std::string judged_goals(std::string_view benchmark) {
  std::string text;
  for (const GoalRow& row : goal_table) {
    if (row.benchmark != benchmark || !row.unjudged.empty()) continue;
    if (!text.empty()) text += separator;
    text += text_of(row);
  }
  return text;
}

std::string unjudged_goals(std::string_view benchmark) {
  std::string text;
  std::string_view reason;  // Of the rows since the last reason that was printed.
  const auto end_of_reason = [&] {
    if (!reason.empty()) text += fmt::format(" ({})", reason);
  };
  for (const GoalRow& row : goal_table) {
    if (row.benchmark != benchmark || row.unjudged.empty()) continue;
    if (row.unjudged != reason) end_of_reason();
    if (!text.empty()) text += separator;
    reason = row.unjudged;
    text += text_of(row);
  }
  end_of_reason();
  return text;
}

}  // namespace k2k::bench
