// Goal: a change of the host's limit is published while threads serve or wait, within a period of
// looks; while nothing is served, the keeper does not wake.

#include "server/govern/limit_keeper.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "base/clock.hpp"
#include "host/limit.hpp"
#include "host/place_fixture.hpp"
#include "host/proc_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

class LimitKeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::access("/run/k2k/limit", F_OK) == 0) {
      GTEST_SKIP() << "this machine has a limit (/run/k2k), which outranks the test's";
    }
    ::setenv("K2K_HOST_DIR", place_.path().c_str(), 1);
    keeper_ = std::make_unique<LimitKeeper>(grants_, waiting_, host::proc_folder,
                                            [this] { return cores_.load(); });
  }
  void TearDown() override { ::unsetenv("K2K_HOST_DIR"); }

  void limit(double fraction) {
    const Status status = host::write_limit(place_.place(), fraction);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  // Serves requests until the cap has this value. Returns false if it never had.
  bool served_until(double cap) {
    const Instant patience = now() + 20s;
    while (keeper_->limits().cap() != cap && now() < patience) {
      keeper_->refresh_if_due();
      std::this_thread::sleep_for(1ms);
    }
    return keeper_->limits().cap() == cap;
  }

  host::TemporaryPlace place_;
  Grants grants_;
  WaitingThreads waiting_;
  std::atomic<std::uint32_t> cores_{4};  // Online.
  std::unique_ptr<LimitKeeper> keeper_;
};

TEST_F(LimitKeeperTest, publishes_a_limit_that_comes_changes_and_goes_while_requests_are_served) {
  ASSERT_TRUE(keeper_->configure({}).ok());
  EXPECT_EQ(keeper_->limits().read().cap, 0u);
  limit(0.5);
  ASSERT_TRUE(served_until(0.5));
  const PublishedLimits::View came = keeper_->limits().read();
  EXPECT_EQ(keeper_->host_limit().limit, 0.5);
  limit(0.25);
  ASSERT_TRUE(served_until(0.25));
  EXPECT_EQ(keeper_->limits().read().epoch, came.epoch) << "what was saved or is owed stays";
  ASSERT_TRUE(host::remove_limit(place_.place()).ok());
  ASSERT_TRUE(served_until(0));
  EXPECT_NE(keeper_->limits().read().epoch, came.epoch);
  EXPECT_EQ(keeper_->host_limit().limit, 0);
}

// A cap is a part of all cores: with half of them, the rule permits half.
TEST_F(LimitKeeperTest, makes_its_rule_anew_when_cores_are_plugged_in_or_out) {
  ServerConfig config;
  config.cap_permille = 250;
  config.governor = governor::Policy::budget;
  ASSERT_TRUE(keeper_->configure(config).ok());
  for (const std::uint32_t online : {2u, 1u, 128u, 4u}) {
    const std::uint32_t before = keeper_->limits().read().epoch;
    cores_ = online;
    const Instant patience = now() + 20s;
    while (keeper_->limits().read().epoch == before && now() < patience) {
      keeper_->refresh_if_due();
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_NE(keeper_->limits().read().epoch, before) << online;
    EXPECT_DOUBLE_EQ(keeper_->limits().cap(), 0.25);
  }
  const std::uint32_t epoch = keeper_->limits().read().epoch;
  ASSERT_TRUE(keeper_->configure(config).ok());
  EXPECT_EQ(keeper_->limits().read().epoch, epoch) << "the same cores";
}

TEST_F(LimitKeeperTest, does_not_wake_while_nothing_is_served) {
  limit(0.5);
  ASSERT_TRUE(keeper_->configure({}).ok());
  std::this_thread::sleep_for(250ms);  // Time for two looks, which must not happen.
  EXPECT_EQ(keeper_->wakes(), 0u);
}

TEST_F(LimitKeeperTest, wakes_no_more_often_than_it_looks) {
  limit(0.5);
  ASSERT_TRUE(keeper_->configure({}).ok());
  const Instant begin = now();
  while (now() - begin < 450ms) keeper_->refresh_if_due();
  const auto looks = static_cast<std::uint64_t>((now() - begin) / Nanoseconds(100ms));
  EXPECT_GE(keeper_->wakes(), 1u);
  EXPECT_LE(keeper_->wakes(), looks + 1);
}

TEST_F(LimitKeeperTest, looks_by_itself_while_a_thread_waits_and_wakes_it_for_a_higher_limit) {
  limit(0.01);
  ASSERT_TRUE(keeper_->configure({}).ok());
  {
    const WaitingThreads::ForBudget counted(waiting_);
    const Instant patience = now() + 10s;
    while (keeper_->wake_by(now()) != Instant::max() && now() < patience) {
      std::this_thread::sleep_until(keeper_->wake_by(now()));  // As told.
      keeper_->refresh_if_due();
      std::this_thread::sleep_for(1ms);
    }
    ASSERT_EQ(keeper_->wake_by(now()), Instant::max());
    const std::uint64_t ticket = waiting_.ticket();
    limit(0.5);
    const Instant before = now();
    EXPECT_TRUE(waiting_.sleep(ticket, before + 10s));
    EXPECT_LT(now() - before, 5s);
    EXPECT_DOUBLE_EQ(keeper_->limits().cap(), 0.5);
  }
  std::this_thread::sleep_for(250ms);  // The look after the last wait.
  const std::uint64_t wakes = keeper_->wakes();
  std::this_thread::sleep_for(250ms);
  EXPECT_EQ(keeper_->wakes(), wakes) << "no thread waits any more";
}

TEST_F(LimitKeeperTest, publishes_the_runtimes_own_cap_and_counts_its_rules) {
  ServerConfig config;
  config.cap_permille = 50;
  ASSERT_TRUE(keeper_->configure(config).ok());
  EXPECT_DOUBLE_EQ(keeper_->limits().cap(), 0.05);
  const std::uint32_t epoch = keeper_->limits().read().epoch;
  config.cap_permille = 60;
  ASSERT_TRUE(keeper_->configure(config).ok());
  EXPECT_DOUBLE_EQ(keeper_->limits().cap(), 0.06);
  EXPECT_EQ(keeper_->limits().read().epoch, epoch);
  config.governor = governor::Policy::backoff;
  ASSERT_TRUE(keeper_->configure(config).ok());
  EXPECT_EQ(keeper_->limits().read().epoch, epoch + 1);
  keeper_->stop();
  EXPECT_DOUBLE_EQ(keeper_->limits().cap(), 0.06) << "limits stay";
}

TEST_F(LimitKeeperTest, charges_its_own_time_to_the_cap_alone) {
  limit(0.5);
  ASSERT_TRUE(keeper_->configure({}).ok());
  const Instant patience = now() + 10s;
  while (grants_.stats().sensor_seconds == 0 && now() < patience) keeper_->refresh_if_due();
  EXPECT_GT(grants_.stats().sensor_seconds, 0);
  EXPECT_EQ(grants_.usage().charged, 0ms);
}

TEST_F(LimitKeeperTest, learns_what_interrupts_behind_requests_cost_while_requests_are_served) {
  const host::PlantedProc proc;
  proc.plant("stat", "cpu  0 0 0 0 0 0 0 0\nintr 0\nsoftirq 0 0 0 0 0 0 0\n");
  LimitKeeper keeper(grants_, waiting_, proc.path());
  ServerConfig config;
  config.cap_permille = 500;
  ASSERT_TRUE(keeper.configure(config).ok());
  EXPECT_EQ(grants_.stats().interrupts, "sampled");
  EXPECT_DOUBLE_EQ(grants_.stats().interrupt_us, 1);
  ServiceAccount account;
  grants_.settle(account, false);
  account.interrupts = 1000;
  grants_.settle(account, false);
  proc.plant("stat", "cpu  0 0 0 0 0 0 2 0\nintr 1000 1000\nsoftirq 0 0 0 0 0 1000 0\n");
  const Instant patience = now() + 20s;
  while (grants_.stats().interrupt_us == 1 && now() < patience) {
    keeper.refresh_if_due();
    std::this_thread::sleep_for(1ms);
  }
  // Two of sysconf's ticks for a thousand interrupts, and the hard ones.
  EXPECT_NEAR(grants_.stats().interrupt_us, 1 + 2e3 / static_cast<double>(::sysconf(_SC_CLK_TCK)),
              1e-3);
}

TEST_F(LimitKeeperTest, does_without_linux_account_of_interrupts) {
  LimitKeeper keeper(grants_, waiting_, "/nowhere");
  ServerConfig config;
  config.cap_permille = 500;
  ASSERT_TRUE(keeper.configure(config).ok());
  EXPECT_EQ(grants_.stats().interrupts, "");
  EXPECT_DOUBLE_EQ(grants_.stats().interrupt_us, 1);
}

}  // namespace
}  // namespace k2k::server
