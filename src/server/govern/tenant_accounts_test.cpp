// Goal: each budget is charged according to a thread's statistics, and time without requests is
// charged to the tenants that are served next.

#include "server/govern/tenant_accounts.hpp"

#include <gtest/gtest.h>

#include "server/govern/grants_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

class TenantAccountsTest : public testing::Test {
 protected:
  TenantAccountsTest() {
    account_.stats = &stats_;
    auto parsed = parse_tenants("3:weight=1 7:weight=2");
    budgets_ = std::move(parsed).value();
    tenants_.divide(budgets_, budgets_.tenants, true);
    TenantAccounts::begin(account_, clocks_.thread_time(), clocks_);
  }
  void work(std::uint32_t tenant, Nanoseconds cpu) {
    clocks_.work(cpu);
    stats_.ledger.charge(telemetry::Stage::service, static_cast<std::uint64_t>(cpu.count()), 0,
                         tenant);
    stats_.tenant_requests[tenant].add();
  }
  auto charges_of(Nanoseconds extra) {
    return tenants_.charges_of(account_, clocks_.thread_time(), extra, clocks_, charges_);
  }

  ManualClocks clocks_;
  ThreadStats stats_;
  ServiceAccount account_;
  TenantBudgets budgets_;
  TenantAccounts tenants_;
  TenantAccounts::Charges charges_;
};

TEST_F(TenantAccountsTest, gives_each_tenant_its_budget_and_the_others_the_shared_one) {
  EXPECT_TRUE(tenants_.divided());
  EXPECT_EQ(tenants_.tenants(), (std::vector<std::uint32_t>{0, 3, 7}));
  EXPECT_EQ(tenants_.budget_of(3), 1u);
  EXPECT_EQ(tenants_.budget_of(7), 2u);
  EXPECT_EQ(tenants_.budget_of(9), 0u);
  EXPECT_EQ(budgets_.tenants.size(), 0u) << "the former list comes back";
  TenantBudgets shared;
  tenants_.divide(shared, shared.tenants, true);
  EXPECT_FALSE(tenants_.divided()) << "one budget is not divided";
  EXPECT_EQ(tenants_.budget_of(7), 0u);
}

TEST_F(TenantAccountsTest, is_not_divided_without_a_cap) {
  auto parsed = parse_tenants("3:weight=1");
  TenantBudgets budgets = std::move(parsed).value();
  tenants_.divide(budgets, budgets.tenants, false);
  EXPECT_FALSE(tenants_.divided());
}

TEST_F(TenantAccountsTest, charges_work_once) {
  work(3, 2ms);
  work(9, 1ms);
  auto charges = charges_of(0ms);
  ASSERT_EQ(charges.size(), 3u);
  EXPECT_NEAR(static_cast<double>(charges[0].cpu.count()), 1e6, 1e3);
  EXPECT_NEAR(static_cast<double>(charges[1].cpu.count()), 2e6, 1e3);
  EXPECT_EQ(charges[1].requests, 1u);
  EXPECT_EQ(charges[2].cpu, 0ms);
  charges = charges_of(0ms);
  for (const TenantCharges::Charge& charge : charges) EXPECT_EQ(charge.cpu, 0ms);
}

TEST_F(TenantAccountsTest, keeps_time_without_requests_for_the_tenants_served_next) {
  for (const TenantCharges::Charge& charge : charges_of(600us)) EXPECT_EQ(charge.cpu, 0ms);
  EXPECT_EQ(account_.uncharged, 600us);
  work(3, 2ms);
  work(7, 1ms);
  const auto charges = charges_of(0ms);
  EXPECT_NEAR(static_cast<double>(charges[1].cpu.count()), 2.4e6, 2e3);
  EXPECT_NEAR(static_cast<double>(charges[2].cpu.count()), 1.2e6, 2e3);
  EXPECT_EQ(account_.uncharged, 0ms);
}

TEST_F(TenantAccountsTest, has_the_payer_pay_for_much_time_without_requests) {
  account_.payer = 2;
  const auto charges = charges_of(5ms);
  EXPECT_EQ(charges[2].cpu, 5ms);
  EXPECT_EQ(charges[1].cpu, 0ms);
}

TEST_F(TenantAccountsTest, asks_again_when_the_first_tenant_may) {
  const Instant until = clocks_.now() + 20ms;
  EXPECT_EQ(TenantAccounts::ask_again(account_, until, clocks_), until);
  account_.grants[1].retry_at = clocks_.cycles() + 9'000'000;
  account_.grants[2].retry_at = clocks_.cycles() + 3'000'000;
  EXPECT_EQ(TenantAccounts::ask_again(account_, until, clocks_), clocks_.now() + 3ms);
  account_.grants[2].retry_at = clocks_.cycles() - 1;
  EXPECT_EQ(TenantAccounts::ask_again(account_, until, clocks_), clocks_.now() + 9ms);
}

}  // namespace
}  // namespace k2k::server
