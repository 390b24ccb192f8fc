// Goal: tenants keep to their budgets under one cap. A tenant in debt is refused while others are
// served, until budgets, a suspension or the limit change. grants_test.cpp replays how the cap is
// shared.
// Method: one thread whose statistics the test writes, so that no other work counts.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "host/place_fixture.hpp"
#include "server/govern/admission.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

ServerConfig shared(std::uint32_t permille, const char* tenants) {
  ServerConfig config;
  config.cap_permille = permille;
  config.tenants = tenants;
  return config;
}

class AdmittedServer {
 public:
  explicit AdmittedServer(const ServerConfig& config) {
    account.stats = &stats;
    const Status status = admission.configure(config);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  }

  // Adds this CPU time for one request of a tenant.
  void work(std::uint32_t tenant, Nanoseconds cpu) {
    const std::uint64_t begin = cycles();
    const Nanoseconds end = thread_time() + cpu;
    while (thread_time() < end) {
    }
    stats.ledger.charge(telemetry::Stage::service, cycles() - begin, 0, tenant);
    stats.tenant_requests[tenant].add();
  }
  ThreadStats stats;
  Admission admission;
  ServiceAccount account;
};

// A tenant's budget and the number of budgets change together, even if a thread asks meanwhile.
TEST(AdmissionOfTenants, may_be_asked_while_budgets_become_fewer) {
  AdmittedServer server(shared(10, "1:weight=2"));
  std::atomic<bool> over{false};
  std::thread asking([&] {
    while (!over.load(std::memory_order_relaxed)) {
      for (const std::uint32_t tenant : {1u, 2u, 3u, 4u, 5u}) {
        server.account.grants = {};  // Each call must ask.
        static_cast<void>(server.admission.admits(server.account, tenant));
      }
    }
  });
  for (int round = 0; round < 500; ++round) {
    const char* const more = "1:weight=2 2:weight=2 3:weight=2 4:weight=2 5:weight=2";
    EXPECT_TRUE(server.admission.configure(shared(10, more)).ok());
    EXPECT_TRUE(server.admission.configure(shared(10, "1:weight=2")).ok());
  }
  over.store(true, std::memory_order_relaxed);
  asking.join();
}

TEST(AdmissionOfTenants, is_not_by_tenant_without_budgets_or_without_a_cap) {
  EXPECT_FALSE(AdmittedServer(shared(10, "")).admission.by_tenant());
  EXPECT_FALSE(AdmittedServer(shared(10, "0:weight=2")).admission.by_tenant())
      << "that is everybody";
  EXPECT_FALSE(AdmittedServer(shared(0, "1:weight=2")).admission.by_tenant());
  EXPECT_TRUE(AdmittedServer(shared(10, "1:weight=2")).admission.by_tenant());
  ServerConfig published = shared(10, "1:weight=2");
  published.governor = governor::Policy::backoff;
  EXPECT_FALSE(AdmittedServer(published).admission.by_tenant()) << "that rule knows no tenants";
}

TEST(AdmissionOfTenants, says_no_to_a_debtor_and_yes_to_the_others) {
  AdmittedServer server(shared(10, "1:weight=1 2:weight=1"));
  ASSERT_TRUE(server.admission.admits(server.account, 1));
  server.work(1, 20ms);
  server.admission.leave(server.account);
  EXPECT_FALSE(server.admission.admits(server.account, 1));
  EXPECT_GT(server.admission.retry_at(server.account, 1), cycles());
  EXPECT_TRUE(server.admission.admits(server.account, 2));
  EXPECT_TRUE(server.admission.admits(server.account, 9)) << "one of those that are not named";
  EXPECT_FALSE(server.admission.pass(server.account, 0)) << "some may be served: no sleep";
}

TEST(AdmissionOfTenants, sleeps_where_all_are_in_debt) {
  AdmittedServer server(shared(50, "1:weight=1"));
  for (const std::uint32_t tenant : {0u, 1u}) {
    ASSERT_TRUE(server.admission.admits(server.account, tenant));
    server.work(tenant, 10ms);
  }
  server.admission.leave(server.account);
  const Instant before = now();
  EXPECT_TRUE(server.admission.pass(server.account, 0));
  EXPECT_GE(now() - before, 10ms);
}

TEST(AdmissionOfTenants, lets_every_request_through_while_suspended_and_wakes_sleepers) {
  AdmittedServer server(shared(1, "1:weight=1"));
  ASSERT_TRUE(server.admission.admits(server.account, 1));
  server.work(1, 5ms);
  server.admission.leave(server.account);
  ASSERT_FALSE(server.admission.admits(server.account, 1));
  const Instant before = now();
  std::thread suspends([&server] {
    std::this_thread::sleep_for(5ms);
    server.admission.suspend();
  });
  server.admission.sleep_until(server.account, server.admission.retry_at(server.account, 1));
  EXPECT_LT(now() - before, 500ms) << "the debt of 5 ms takes 2.5 s and more to pay off";
  suspends.join();
  EXPECT_TRUE(server.admission.admits(server.account, 1));
}

TEST(AdmissionOfTenants, forgets_time_spent_under_other_budgets) {
  AdmittedServer server(shared(1, "1:weight=1"));
  ASSERT_TRUE(server.admission.admits(server.account, 1));
  server.work(1, 20ms);
  ASSERT_TRUE(server.admission.configure(shared(1, "1:weight=2")).ok());
  EXPECT_TRUE(server.admission.admits(server.account, 1));
  server.admission.leave(server.account);
  EXPECT_TRUE(server.admission.admits(server.account, 1)) << "was charged to the former budget";
}

TEST(AdmissionOfTenants, reports_a_rate_that_the_cap_cannot_pay_for) {
  AdmittedServer server(shared(10, "3:rate=100000"));
  server.admission.pass(server.account, 0);
  ASSERT_TRUE(server.admission.admits(server.account, 3));
  for (int request = 0; request < 50; ++request) server.work(3, 20us);
  server.admission.leave(server.account);
  const GovernorStats stats = server.admission.stats();
  ASSERT_EQ(stats.conflicts.size(), 1u);
  EXPECT_NE(stats.conflicts[0].find("tenant 3 is guaranteed"), std::string::npos)
      << stats.conflicts[0];
  EXPECT_NE(stats.conflicts[0].find("but the cap of 1 % leaves it"), std::string::npos)
      << stats.conflicts[0];
  EXPECT_NE(stats.conflicts[0].find("raise the cap"), std::string::npos);
}

TEST(AdmissionOfTenants, heeds_the_hosts_limit_before_a_guarantee_and_says_so) {
  if (::access("/run/k2k/limit", F_OK) == 0) {
    GTEST_SKIP() << "this machine has a limit (/run/k2k), which outranks the test's";
  }
  const host::TemporaryPlace place;
  ::setenv("K2K_HOST_DIR", place.path().c_str(), 1);
  const Status limited = host::write_limit(place.place(), 0.02);
  ASSERT_TRUE(limited.ok()) << limited.error().message;
  {
    AdmittedServer server(shared(100, "1:guarantee=5%"));
    const GovernorStats stats = server.admission.stats();
    EXPECT_DOUBLE_EQ(stats.cap, 0.02);
    ASSERT_EQ(stats.conflicts.size(), 1u);
    EXPECT_NE(stats.conflicts[0].find("tenant 1 is guaranteed 5 %"), std::string::npos)
        << stats.conflicts[0];
  }
  ::unsetenv("K2K_HOST_DIR");
}

}  // namespace
}  // namespace k2k::server
