#include "labs/translation/claims.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <optional>

#include "labs/claims_file.hpp"
#include "translation_claims_text.hpp"

namespace k2k::labs::translation {

namespace {

constexpr std::array<std::string_view, 3> sources = {"simulated", "measured", "arithmetic"};
constexpr std::array<std::string_view, 8> keys = {"id",     "section", "says", "thesis",
                                                  "source", "low",     "high", "note"};

// Errors: EINVAL, with the reason behind the claim's name.
Result<Claim> claim_of(const toml::table& table) {
  Claim claim;
  const auto text = [&](const char* key) {
    return table[key].value_exact<std::string>().value_or(std::string());
  };
  claim.id = text("id");
  const auto wrong = [&](const std::string& why) {
    return Error{EINVAL, fmt::format("claims.toml, line {}: claim '{}' {}",
                                     table.source().begin.line, claim.id, why)};
  };
  for (const auto& [key, value] : table) {
    if (std::ranges::find(keys, key.str()) == keys.end()) {
      return wrong(fmt::format("has the key '{}'; there are {}", key.str(), fmt::join(keys, ", ")));
    }
  }
  claim.section = text("section");
  claim.says = text("says");
  claim.thesis = text("thesis");
  claim.source = text("source");
  claim.note = text("note");
  if (claim.id.empty() || claim.section.empty() || claim.says.empty() || claim.thesis.empty()) {
    return wrong("lacks its id, its section, its sentence (says) or its number (thesis)");
  }
  if (std::ranges::find(sources, claim.source) == sources.end()) {
    return wrong(
        fmt::format("has the source '{}'; there are {}", claim.source, fmt::join(sources, ", ")));
  }
  const std::optional<double> low = table["low"].value<double>();
  const std::optional<double> high = table["high"].value<double>();
  if (!low) return wrong("lacks low, the least figure that it permits: a number");
  if (table.contains("high") && !high) return wrong("has a high that is no number");
  claim.low = *low;
  if (high) claim.high = *high;
  // Not a number, too.
  if (!(claim.low <= claim.high)) {
    return wrong(fmt::format("permits {} to {}, which is nothing", claim.low, claim.high));
  }
  return claim;
}

}  // namespace

Result<std::vector<Claim>> parse_claims(std::string_view text) {
  Result<std::vector<Claim>> claims = read_claims<Claim>(text, claim_of);
  if (claims && claims->empty()) {
    return Error{EINVAL, "claims.toml has no claim; one begins with [[claim]]"};
  }
  return claims;
}

Result<std::vector<Claim>> all_claims() { return parse_claims(translation_claims_text); }

}  // namespace k2k::labs::translation
