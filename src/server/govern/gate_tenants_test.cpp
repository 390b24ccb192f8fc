// Goal: tenants keep to their budgets under one cap. Who used his up is told no while others are
// served, who leaves something lends it, and each pays what the books say of him.
// Method: one thread whose books are written by hand, so that nothing else runs in their time.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "host/place_fixture.hpp"
#include "server/govern/gate.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

ServerConfig shared(std::uint32_t permille, const char* tenants) {
  ServerConfig config;
  config.cap_permille = permille;
  config.tenants = tenants;
  return config;
}

class Server {
 public:
  explicit Server(const ServerConfig& config) {
    account.stats = &stats;
    const Status status = gate.configure(config);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  }

  // So much CPU time for one request of a tenant.
  void work(std::uint32_t tenant, Nanoseconds cpu) {
    const std::uint64_t begin = cycles();
    const Nanoseconds end = thread_time() + cpu;
    while (thread_time() < end) {
    }
    stats.ledger.charge(telemetry::Stage::service, cycles() - begin, 0, tenant);
    stats.tenant_requests[tenant].add();
  }
  // As the leader of a role does, for a while: the tenants always have requests, of 20 us.
  void serve(std::initializer_list<std::uint32_t> tenants, Nanoseconds time) {
    const Instant begin = now();
    while (now() - begin < time) {
      gate.pass(account, 0);
      bool any = false;
      std::uint64_t due = ~std::uint64_t{0};
      for (const std::uint32_t tenant : tenants) {
        if (gate.admits(account, tenant)) {
          work(tenant, 20us);
          any = true;
        } else {
          due = std::min(due, gate.ask_at(account, tenant));
        }
      }
      if (!any) gate.sleep_until(account, due);
    }
    gate.leave(account);
  }
  [[nodiscard]] double used_ms(std::uint32_t tenant) const {
    return static_cast<double>(stats.ledger.tenant_ns(tenant)) / 1e6;
  }

  ThreadStats stats;
  Gate gate;
  Gate::Account account;
};

TEST(GateOfTenants, is_not_by_tenant_without_budgets_or_without_a_cap) {
  EXPECT_FALSE(Server(shared(10, "")).gate.by_tenant());
  EXPECT_FALSE(Server(shared(10, "0:weight=2")).gate.by_tenant()) << "that is everybody";
  EXPECT_FALSE(Server(shared(0, "1:weight=2")).gate.by_tenant());
  EXPECT_TRUE(Server(shared(10, "1:weight=2")).gate.by_tenant());
  ServerConfig published = shared(10, "1:weight=2");
  published.governor = governor::Policy::backoff;
  EXPECT_FALSE(Server(published).gate.by_tenant()) << "that rule knows no tenants";
}

TEST(GateOfTenants, says_no_to_a_debtor_and_yes_to_the_others) {
  Server server(shared(10, "1:weight=1 2:weight=1"));
  ASSERT_TRUE(server.gate.admits(server.account, 1));
  server.work(1, 20ms);
  server.gate.leave(server.account);
  EXPECT_FALSE(server.gate.admits(server.account, 1));
  EXPECT_GT(server.gate.ask_at(server.account, 1), cycles());
  EXPECT_TRUE(server.gate.admits(server.account, 2));
  EXPECT_TRUE(server.gate.admits(server.account, 9)) << "one of those that are not named";
  EXPECT_FALSE(server.gate.pass(server.account, 0)) << "some may be served: no sleep";
}

TEST(GateOfTenants, sleeps_where_all_are_in_debt) {
  Server server(shared(50, "1:weight=1"));
  for (const std::uint32_t tenant : {0u, 1u}) {
    ASSERT_TRUE(server.gate.admits(server.account, tenant));
    server.work(tenant, 10ms);
  }
  server.gate.leave(server.account);
  const Instant before = now();
  EXPECT_TRUE(server.gate.pass(server.account, 0));
  EXPECT_GE(now() - before, 10ms);
}

TEST(GateOfTenants, shares_the_cap_by_weight) {
  Server server(shared(100, "1:weight=3 2:weight=1"));
  server.serve({1, 2}, 800ms);
  const double total = server.used_ms(1) + server.used_ms(2);
  EXPECT_NEAR(server.used_ms(1) / total, 0.75, 0.05);
  const double cap_ms = 800 * 0.1 * std::thread::hardware_concurrency();
  EXPECT_LT(total, 1.3 * cap_ms) << "with the burst of so short a time";
}

TEST(GateOfTenants, lends_what_idle_tenants_leave) {
  Server alone(shared(50, "1:weight=1 2:weight=9"));
  alone.serve({1}, 600ms);
  Server both(shared(50, "1:weight=1 2:weight=9"));
  both.serve({1, 2}, 600ms);
  EXPECT_GT(alone.used_ms(1), 3 * both.used_ms(1));
}

TEST(GateOfTenants, keeps_a_guarantee_whatever_the_weights) {
  Server server(shared(100, "1:guarantee=6%,weight=0.001 2:weight=1000"));
  server.serve({1, 2}, 800ms);
  const double total = server.used_ms(1) + server.used_ms(2);
  EXPECT_NEAR(server.used_ms(1) / total, 0.6, 0.06);
}

TEST(GateOfTenants, has_one_thread_pay_what_its_books_say) {
  Server server(shared(200, "1:weight=1 2:weight=1"));
  server.serve({1, 2, 5}, 300ms);
  const GovernorStats stats = server.gate.stats();
  ASSERT_EQ(stats.budgets.size(), 3u);
  EXPECT_EQ(stats.budgets[0].tenant, 0u);
  EXPECT_EQ(stats.budgets[2].tenant, 2u);
  for (const BudgetStats& budget : stats.budgets) {
    EXPECT_NEAR(budget.part, 0.2 / 3, 1e-9);
    EXPECT_GT(budget.waits, 0u);
    EXPECT_GT(budget.throttled_seconds, 0);
  }
}

TEST(GateOfTenants, lets_everybody_through_while_suspended_and_wakes_who_sleeps) {
  Server server(shared(1, "1:weight=1"));
  ASSERT_TRUE(server.gate.admits(server.account, 1));
  server.work(1, 5ms);
  server.gate.leave(server.account);
  ASSERT_FALSE(server.gate.admits(server.account, 1));
  const Instant before = now();
  std::thread suspends([&server] {
    std::this_thread::sleep_for(5ms);
    server.gate.suspend();
  });
  server.gate.sleep_until(server.account, server.gate.ask_at(server.account, 1));
  EXPECT_LT(now() - before, 500ms) << "the debt of 5 ms takes 2.5 s and more to pay off";
  suspends.join();
  EXPECT_TRUE(server.gate.admits(server.account, 1));
}

TEST(GateOfTenants, forgets_what_was_spent_under_other_budgets) {
  Server server(shared(1, "1:weight=1"));
  ASSERT_TRUE(server.gate.admits(server.account, 1));
  server.work(1, 20ms);
  ASSERT_TRUE(server.gate.configure(shared(1, "1:weight=2")).ok());
  EXPECT_TRUE(server.gate.admits(server.account, 1));
  server.gate.leave(server.account);
  EXPECT_TRUE(server.gate.admits(server.account, 1)) << "was charged to the former budget";
}

TEST(GateOfTenants, reports_a_rate_that_the_cap_cannot_pay_for) {
  Server server(shared(10, "3:rate=100000"));
  server.gate.pass(server.account, 0);
  ASSERT_TRUE(server.gate.admits(server.account, 3));
  for (int request = 0; request < 50; ++request) server.work(3, 20us);
  server.gate.leave(server.account);
  const GovernorStats stats = server.gate.stats();
  ASSERT_EQ(stats.conflicts.size(), 1u);
  EXPECT_NE(stats.conflicts[0].find("tenant 3 is guaranteed"), std::string::npos)
      << stats.conflicts[0];
  EXPECT_NE(stats.conflicts[0].find("but the cap of 1 % leaves it"), std::string::npos)
      << stats.conflicts[0];
  EXPECT_NE(stats.conflicts[0].find("raise the cap"), std::string::npos);
}

TEST(GateOfTenants, heeds_the_hosts_limit_before_a_guarantee_and_says_so) {
  if (::access("/run/k2k/limit", F_OK) == 0) {
    GTEST_SKIP() << "this machine has a limit (/run/k2k), which outranks the test's";
  }
  const host::TemporaryPlace place;
  ::setenv("K2K_HOST_DIR", place.path().c_str(), 1);
  const Status limited = host::write_limit(place.place(), 0.02);
  ASSERT_TRUE(limited.ok()) << limited.error().message;
  {
    Server server(shared(100, "1:guarantee=5%"));
    const GovernorStats stats = server.gate.stats();
    EXPECT_DOUBLE_EQ(stats.cap, 0.02);
    ASSERT_EQ(stats.conflicts.size(), 1u);
    EXPECT_NE(stats.conflicts[0].find("tenant 1 is guaranteed 5 %"), std::string::npos)
        << stats.conflicts[0];
  }
  ::unsetenv("K2K_HOST_DIR");
}

}  // namespace
}  // namespace k2k::server
