#pragma once
// The form that the laboratories' files of claims share: TOML with a table [[claim]] for each
// claim, whose id is its own.
//
// Threading: reentrant.

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace k2k::labs {

// The claims of the text, in its order; `claim_of` makes one of a toml::table, and its error ends
// the reading. Errors: EINVAL, with the line or the mistake.
template <class Claim, class ClaimOf>
Result<std::vector<Claim>> read_claims(std::string_view text, const ClaimOf& claim_of) {
  toml::table parsed;
  try {
    parsed = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return Error{EINVAL, fmt::format("claims.toml, line {}: {}", error.source().begin.line,
                                     error.description())};
  }
  std::vector<Claim> claims;
  const toml::array* const list = parsed["claim"].as_array();
  for (std::size_t at = 0; list != nullptr && at < list->size(); ++at) {
    const toml::table* const table = list->get(at)->as_table();
    if (table == nullptr) return Error{EINVAL, "claims.toml: a claim is no table"};
    Result<Claim> claim = claim_of(*table);
    if (!claim) return claim.error();
    const auto same = [&](const Claim& other) { return other.id == claim->id; };
    if (std::ranges::any_of(claims, same)) {
      return Error{EINVAL, fmt::format("claims.toml, line {}: two claims are named '{}'",
                                       table->source().begin.line, claim->id)};
    }
    claims.push_back(std::move(claim).value());
  }
  return claims;
}

}  // namespace k2k::labs
