// Goal: the setting server.tenants is parsed as documented, and errors are reported.

#include "server/settings/tenants.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace k2k::server {
namespace {

TEST(Tenants, without_the_setting_all_have_one_budget) {
  const auto made = parse_tenants("");
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made.value().budgets.size(), 1u);
  EXPECT_EQ(made.value().budgets[0].weight, 1);
  for (const std::uint8_t budget : made.value().budget_of) EXPECT_EQ(budget, 0);
}

TEST(Tenants, named_tenants_have_their_own_budgets_and_the_others_share_one) {
  const auto made =
      parse_tenants(" 5:weight=3\t63:guarantee=2.5%,rate=500 \n 7:rate=1,weight=0.5 ");
  ASSERT_TRUE(made.ok()) << made.error().message;
  const TenantBudgets& budgets = made.value();
  ASSERT_EQ(budgets.budgets.size(), 4u);
  EXPECT_EQ(budgets.tenants, (std::vector<std::uint32_t>{0, 5, 63, 7}));
  EXPECT_EQ(budgets.budget_of[5], 1);
  EXPECT_EQ(budgets.budget_of[63], 2);
  EXPECT_EQ(budgets.budget_of[7], 3);
  EXPECT_EQ(budgets.budget_of[0], 0);
  EXPECT_EQ(budgets.budget_of[6], 0);
  EXPECT_EQ(budgets.budgets[1].weight, 3);
  EXPECT_DOUBLE_EQ(budgets.budgets[2].guarantee, 0.025);
  EXPECT_EQ(budgets.budgets[2].rate_min, 500);
  EXPECT_EQ(budgets.budgets[2].weight, 1);
  EXPECT_EQ(budgets.budgets[3].weight, 0.5);
  EXPECT_EQ(budgets.budgets[3].name, "tenant 7");
}

TEST(Tenants, the_budget_of_tenant_0_is_shared_by_all_unnamed_tenants) {
  const auto made = parse_tenants("1:weight=2 0:weight=4");
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made.value().budgets.size(), 2u);
  EXPECT_EQ(made.value().budgets[0].weight, 4);
  EXPECT_EQ(made.value().budget_of[1], 1);
}

TEST(Tenants, all_of_them_may_be_named) {
  std::string text;
  for (std::uint32_t tenant = 0; tenant < protocol::tenants_max; ++tenant) {
    text += std::to_string(tenant) + ":weight=1 ";
  }
  const auto made = parse_tenants(text);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made.value().budgets.size(), protocol::tenants_max);
}

TEST(Tenants, names_the_mistake_in_an_entry) {
  const struct {
    const char* text;
    const char* complaint;
  } cases[] = {
      {"64:weight=1",
       "server.tenants: '64:weight=1' does not begin with a tenant, 0 to 63, and a "
       "colon; an entry is a tenant and what it gets, such as 1:weight=3 or "
       "2:guarantee=2%,rate=500"},
      {"1", "does not begin with a tenant"},
      {"1:", "does not begin with a tenant"},
      {":weight=1", "does not begin with a tenant"},
      {"-1:weight=1", "does not begin with a tenant"},
      {"1x:weight=1", "does not begin with a tenant"},
      {"1:weight=1 1:rate=5", "'1:rate=5' names a tenant for the second time"},
      {"1:weight=0", "has no weight above 0, at most 1000000"},
      {"1:weight=-1", "has no weight above 0"},
      {"1:weight=nan", "has no weight above 0"},
      {"1:weight=inf", "has no weight above 0"},
      {"1:weight=1e3", "has no weight above 0"},
      {"1:weight=1000001", "has no weight above 0"},
      {"1:weight", "has no weight above 0"},
      {"1:guarantee=2", "guarantees no percentage of all cores' CPU time, 0% to 100%"},
      {"1:guarantee=%", "guarantees no percentage"},
      {"1:guarantee=101%", "guarantees no percentage"},
      {"1:guarantee=-1%", "guarantees no percentage"},
      {"1:guarantee=", "guarantees no percentage"},
      {"1:rate=-5", "has no rate in requests a second"},
      {"1:rate=5/s", "has no rate in requests a second"},
      {"1:speed=5", "says 'speed'; there are weight, guarantee and rate"},
      {"1:weight=1,,", "says ''"},
  };
  for (const auto& wrong : cases) {
    const auto made = parse_tenants(wrong.text);
    ASSERT_FALSE(made.ok()) << wrong.text;
    EXPECT_EQ(made.error().code, EINVAL);
    EXPECT_NE(made.error().message.find(wrong.complaint), std::string::npos)
        << wrong.text << ": " << made.error().message;
  }
}

}  // namespace
}  // namespace k2k::server
