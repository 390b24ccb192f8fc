#include "server/settings/tenants.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <optional>

namespace k2k::server {

namespace {

constexpr std::string_view blanks = " \t\n";

Error wrong(std::string_view entry, const std::string& what) {
  return {EINVAL,
          fmt::format("server.tenants: '{}' {}; an entry is a tenant and what it gets, such "
                      "as 1:weight=3 or 2:guarantee=2%,rate=500",
                      entry, what)};
}

// The whole `text` as a number that is not negative.
std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  if (!std::isfinite(number) || number < 0) return {};
  return number;
}

// Removes the text up to and including the first of `separators` from `text`, and returns it
// without the separator.
std::string_view take(std::string_view& text, std::string_view separators) {
  const std::size_t end = text.find_first_of(separators);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

Status read_word(std::string_view entry, std::string_view word, governor::TenantConfig& budget) {
  std::string_view value = word;
  const std::string_view key = take(value, "=");
  if (key == "guarantee") {
    const bool percent = value.ends_with('%');
    const auto number = number_of(value.substr(0, value.size() - (percent ? 1 : 0)));
    if (!percent || !number || *number > 100) {
      return wrong(entry, "guarantees no percentage of all cores' CPU time, 0% to 100%");
    }
    budget.guarantee = *number / 100;
    return {};
  }
  const auto number = number_of(value);
  if (key == "weight") {
    if (!number || *number <= 0 || *number > 1e6) {
      return wrong(entry, "has no weight above 0, at most 1000000");
    }
    budget.weight = *number;
    return {};
  }
  if (key == "rate") {
    if (!number || *number > 1e9)
      return wrong(entry, "has no rate in requests a second, at most 1e9");
    budget.rate_min = *number;
    return {};
  }
  return wrong(entry, fmt::format("says '{}'; there are weight, guarantee and rate", key));
}

Status read_entry(std::string_view entry, TenantBudgets& made, std::uint64_t& named) {
  std::string_view words = entry;
  const std::string_view number = take(words, ":");
  std::uint32_t tenant = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), tenant);
  if (error != std::errc() || end != number.data() + number.size() || words.empty() ||
      tenant >= protocol::tenants_max) {
    return wrong(entry, fmt::format("does not begin with a tenant, 0 to {}, and a colon",
                                    protocol::tenants_max - 1));
  }
  if ((named >> tenant & 1) != 0) return wrong(entry, "names a tenant for the second time");
  named |= std::uint64_t{1} << tenant;
  governor::TenantConfig budget;
  while (!words.empty()) {
    if (Status status = read_word(entry, take(words, ","), budget); !status) return status;
  }
  if (tenant == 0) {
    budget.name = made.budgets[0].name;
    made.budgets[0] = budget;
    return {};
  }
  budget.name = fmt::format("tenant {}", tenant);
  made.budget_of[tenant] = static_cast<std::uint8_t>(made.budgets.size());
  made.budgets.push_back(budget);
  made.tenants.push_back(tenant);
  return {};
}

}  // namespace

Result<TenantBudgets> parse_tenants(std::string_view text) {
  TenantBudgets made;
  made.budgets[0].name = "tenant 0 (with all that server.tenants does not name)";
  std::uint64_t named = 0;
  while (!text.empty()) {
    const std::string_view entry = take(text, blanks);
    if (entry.empty()) continue;
    if (Status status = read_entry(entry, made, named); !status) return status.error();
  }
  return made;
}

}  // namespace k2k::server
