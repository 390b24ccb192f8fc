// Goal: a page stands alone and shows every claim and comparison.

#include "labs/interference/harm/page.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "labs/interference/harm/claims.hpp"
#include "labs/interference/harm/outcomes_fixture.hpp"
#include "labs/interference/harm/plan.hpp"

namespace k2k::labs::harm {
namespace {

TEST(HarmPage, shows_pareto_charts_governors_devices_and_the_parts_of_the_loss) {
  const std::vector<Outcome> outcomes = {
      outcome_of("compute", Kind::service, "staged", 2.0, 500),
      outcome_of("compute", Kind::service, "monolithic", 1.5, 1500),
      outcome_of("compute", Kind::service, "default+devices=2+limit=5%", 1.1, 100)};
  const std::string page = page_of(result_of({}, outcomes, {}, true));
  for (const char* part : {"Pareto chart of ubench", "monolithic *", "dominates the base",
                           "of the limit: kept", "Beside ubench, percent", "<circle",
                           "Where the loss comes from: figure 5", "sum in its interval"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  for (const char* part : {"nan", "inf\"", "null"}) {
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  }
}

TEST(HarmPage, stands_alone_and_shows_every_claim_and_comparison) {
  std::vector<Outcome> outcomes = {outcome_of("compute", Kind::service, "staged", 2.0, 500)};
  outcomes.push_back(outcomes.front());
  outcomes.back().comparison.victim.name = "a<b";
  outcomes.back().problem = "it & crashed";
  const Result<std::vector<Claim>> claims = all_claims();
  ASSERT_TRUE(claims.ok());
  const std::string page =
      page_of(result_of({}, outcomes, judge_claims(claims.value(), outcomes), false));
  for (const Claim& claim : claims.value()) {
    EXPECT_NE(page.find(claim.says.substr(0, 20)), std::string::npos) << claim.id;
  }
  for (const char* part :
       {"<!doctype html>", "name=viewport", "compute, staged", "Beside other sources", "+100.0",
        "<svg", "not complete", "a&lt;b", "it &amp; crashed", "class=reproduced"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  for (const char* part : {"http:", "https:", "src=", "a<b", "nan", "+inf"}) {
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace k2k::labs::harm
