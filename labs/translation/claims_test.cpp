// Goal: the thesis' statements are read from claims.toml in its order, a malformed file is refused
// with the line or the claim, and each claim has a figure.

#include "labs/translation/claims.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>

#include "labs/translation/statements.hpp"

namespace k2k::labs::translation {
namespace {

const std::string whole =
    "[[claim]]\nid = \"knee\"\nsection = \"4.4.1\"\nsays = \"It jumps\"\nthesis = \"16\"\n"
    "source = \"simulated\"\nlow = 15\nhigh = 17.5\nnote = \"a fit\"\n";

// `whole` with another line for the one that begins with `key`; empty: without it.
std::string with(const std::string& key, const std::string& line) {
  const std::size_t begin = whole.find("\n" + key + " = ") + 1;
  const std::size_t end = whole.find('\n', begin) + 1;
  return whole.substr(0, begin) + (line.empty() ? "" : line + "\n") + whole.substr(end);
}

std::string refusal(const std::string& text) {
  const auto claims = parse_claims(text);
  if (claims) return "accepted";
  EXPECT_EQ(claims.error().code, EINVAL);
  return claims.error().message;
}

TEST(TranslationClaims, have_what_the_file_says) {
  const auto claims = parse_claims(whole);
  ASSERT_TRUE(claims) << claims.error().message;
  ASSERT_EQ(claims->size(), 1u);
  const Claim& claim = claims->front();
  EXPECT_EQ(claim.id, "knee");
  EXPECT_EQ(claim.section, "4.4.1");
  EXPECT_EQ(claim.says, "It jumps");
  EXPECT_EQ(claim.thesis, "16");
  EXPECT_EQ(claim.source, "simulated");
  EXPECT_EQ(claim.low, 15);
  EXPECT_EQ(claim.high, 17.5);
  EXPECT_EQ(claim.note, "a fit");
  const auto open = parse_claims(with("high", ""));
  ASSERT_TRUE(open);
  EXPECT_TRUE(std::isinf(open->front().high)) << "no upper bound";
}

TEST(TranslationClaims, of_the_thesis_have_a_section_and_are_many) {
  const auto claims = all_claims();
  ASSERT_TRUE(claims) << claims.error().message;
  EXPECT_GE(claims->size(), 50u);
  for (const Claim& claim : claims.value()) {
    EXPECT_EQ(claim.section.rfind("4.", 0), 0u) << claim.id << ": " << claim.section;
  }
}

TEST(TranslationClaims, of_a_malformed_file_are_refused_with_the_reason) {
  const std::string place = "claims.toml, line 1: claim 'knee' ";
  EXPECT_EQ(refusal(""), "claims.toml has no claim; one begins with [[claim]]");
  EXPECT_EQ(refusal("claim = []"), "claims.toml has no claim; one begins with [[claim]]");
  EXPECT_EQ(refusal("claim = [1]"), "claims.toml: a claim is no table");
  EXPECT_EQ(refusal(whole + "id = = 3\n").substr(0, 21), "claims.toml, line 10:");
  EXPECT_EQ(refusal(with("id", "")),
            "claims.toml, line 1: claim '' lacks its id, its section, its sentence (says) or its "
            "number (thesis)");
  for (const char* const key : {"section", "says", "thesis"}) {
    EXPECT_NE(refusal(with(key, "")).find("claim 'knee' lacks its id"), std::string::npos) << key;
    EXPECT_NE(refusal(with(key, std::string(key) + " = 7")).find("lacks"), std::string::npos)
        << key << " is a number";
  }
  EXPECT_EQ(refusal(with("source", "source = \"heard\"")),
            place + "has the source 'heard'; there are simulated, measured, arithmetic");
  EXPECT_EQ(refusal(with("low", "")),
            place + "lacks low, the least figure that it permits: a number");
  EXPECT_EQ(refusal(with("low", "low = \"15\"")),
            place + "lacks low, the least figure that it permits: a number");
  EXPECT_EQ(refusal(with("high", "high = \"17\"")), place + "has a high that is no number");
  EXPECT_EQ(refusal(with("high", "high = 3")), place + "permits 15 to 3, which is nothing");
  EXPECT_EQ(refusal(with("low", "low = nan")), place + "permits nan to 17.5, which is nothing");
  EXPECT_EQ(
      refusal(with("note", "notes = \"a fit\"")),
      place + "has the key 'notes'; there are id, section, says, thesis, source, low, high, note");
  EXPECT_EQ(refusal(whole + whole), "claims.toml, line 10: two claims are named 'knee'");
}

TEST(TranslationClaims, and_figures_belong_together) {
  const std::vector<Claim> claims = parse_claims(whole).value();
  const auto refused = [&](const OurFigures& figures) {
    const auto statements = statements_of(claims, figures);
    return statements ? std::string("accepted") : statements.error().message;
  };
  EXPECT_EQ(refused({{"knee", {}}}), "accepted");
  EXPECT_EQ(refused({}),
            "claims.toml: claim 'knee' has no figure; labs/translation/statements.cpp names those "
            "there are");
  EXPECT_EQ(refused({{"knee", {}}, {"shin", {}}}), "claims.toml: no claim for the figure 'shin'");
}

}  // namespace
}  // namespace k2k::labs::translation
