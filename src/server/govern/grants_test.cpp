// Goal: for every order of a service thread's moves, its CPU time under a cap is charged once, a
// grant lasts as long as the charges say, and a thread in debt learns when it may continue.
// Method: the test passes the clocks and replays every sequence of moves up to a length.

#include "server/govern/grants.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/cores.hpp"
#include "server/govern/grants_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

ServerConfig capped(std::uint32_t permille, const char* tenants = "") {
  ServerConfig config;
  config.cap_permille = permille;
  config.tenants = tenants;
  return config;
}

enum class Move : std::uint8_t {
  renew,
  settle,
  woken,
  work_little,
  work_into_debt,
  sleep,
  adjust_cap,
  replace_rule,
  lift_cap,
};
constexpr std::size_t moves = 9;

// Computes the charges that Grants must compute.
class Model {
 public:
  Model() : thread_(capped(10)) {}

  void make(Move move) {
    switch (move) {
      case Move::renew:
        return renew();
      case Move::settle:
        return settle(false);
      case Move::woken:
        return settle(true);
      case Move::work_little:
        return work(50us);
      case Move::work_into_debt:
        return work(30ms);
      case Move::sleep:
        return thread_.clocks.sleep_until(thread_.clocks.now() + 70ms);
      case Move::adjust_cap:
        if (!governed_) return;
        ASSERT_TRUE(thread_.grants.set_cap(0.02).ok());
        return;
      case Move::replace_rule:
        return replace(capped(20));
      case Move::lift_cap:
        return replace({});
    }
  }

  void check() {
    EXPECT_EQ(thread_.grants.usage().charged, charged_);
    EXPECT_EQ(thread_.account.open && account_current_, open_);
    const Instant now = thread_.clocks.now();
    const Nanoseconds granted = thread_.grants.granted(now, now + 1ms);
    EXPECT_EQ(granted, open_ ? 1ms : 0ms) << "the log has as many grants as there are";
  }

  // A thread in debt continues after the ordered sleeps, which last until the debt is paid.
  void pay_off() {
    if (!governed_) return;
    int asked = 0;
    Grants::Answer answer = thread_.grants.renew(thread_.account, false);
    while (answer.outcome == Grants::Outcome::wait && asked++ < 100) {
      ASSERT_GT(answer.until, thread_.clocks.now());
      thread_.clocks.sleep_until(answer.until);
      answer = thread_.grants.renew(thread_.account, true);
    }
    EXPECT_EQ(answer.outcome, Grants::Outcome::open);
    EXPECT_GE(thread_.account.until, thread_.clocks.cycles()) << "one request at least";
  }

 private:
  void renew() {
    charge(false);
    const Grants::Answer answer = thread_.grants.renew(thread_.account, false);
    EXPECT_EQ(answer.outcome == Grants::Outcome::no_cap, !governed_);
    if (answer.outcome == Grants::Outcome::wait) {
      EXPECT_GT(answer.until, thread_.clocks.now());
    }
    open_ = answer.outcome == Grants::Outcome::open;
  }
  void settle(bool woken) {
    charge(woken);
    thread_.grants.settle(thread_.account, woken);
    open_ = false;
  }
  void work(Nanoseconds cpu) {
    thread_.clocks.work(cpu);
    owed_ += cpu;
  }
  void replace(const ServerConfig& config) {
    thread_.configure(config);
    governed_ = config.cap_permille != 0;
    account_current_ = false;
    open_ = false;
  }
  // CPU time before an account first asks under a rule is no debt of that rule.
  void charge(bool woken) {
    if (!governed_) return;
    if (account_current_) charged_ += owed_;
    if (woken) charged_ += governor::Costs{}.interrupt;
    owed_ = {};
    account_current_ = true;
  }

  ReplayedThread thread_;
  bool governed_ = true;
  bool account_current_ = false;  // True once it has asked under the rule in force.
  bool open_ = false;
  Nanoseconds owed_{};
  Nanoseconds charged_{};
};

TEST(Grants, keep_the_books_through_every_sequence_of_moves) {
#if defined(K2K_TSAN) || defined(K2K_ASAN)
  constexpr std::size_t length = 4;  // One thread; the release build tries the longer sequences.
#else
  constexpr std::size_t length = 5;
#endif
  std::size_t sequences = 1;
  for (std::size_t place = 0; place < length; ++place) sequences *= moves;
  for (std::size_t sequence = 0; sequence < sequences; ++sequence) {
    Model model;
    std::string done;
    std::size_t rest = sequence;
    for (std::size_t place = 0; place < length; ++place, rest /= moves) {
      model.make(static_cast<Move>(rest % moves));
      done += " " + std::to_string(rest % moves);
      model.check();
    }
    model.pay_off();
    ASSERT_FALSE(testing::Test::HasFailure()) << "after the moves" << done;
  }
}

TEST(Grants, are_as_long_as_the_cap_pays_for) {
  ReplayedThread thread(capped(100));
  const Instant begin = thread.clocks.now();
  while (thread.clocks.now() - begin < 10s) {
    thread.pass();
    thread.work(0, 50us);
  }
  const double share = static_cast<double>(thread.clocks.thread_time().count()) / 10e9;
  EXPECT_NEAR(share, 0.1 * online_cores(), 0.005 * online_cores());
}

TEST(Grants, report_a_refund_that_is_worth_a_wake) {
  ReplayedThread thread(capped(500));
  thread.pass();
  ASSERT_TRUE(thread.account.open);
  const Nanoseconds reserved = thread.account.reserved;
  ASSERT_GT(reserved, 200us);
  EXPECT_TRUE(thread.grants.settle(thread.account, false));
  thread.pass();
  EXPECT_TRUE(thread.grants.rest_masked(thread.account).refunded);
  thread.pass();
  thread.work(0, thread.account.reserved - 50us);
  EXPECT_FALSE(thread.grants.settle(thread.account, false));
  thread.pass();
  thread.work(0, thread.account.reserved - 50us);
  EXPECT_FALSE(thread.grants.rest_masked(thread.account).refunded);
}

TEST(Grants, ask_whether_cores_are_wanted_and_charge_nothing_while_not) {
  ReplayedThread thread({});
  governor::GovernorConfig displaced;
  displaced.policy = governor::Policy::displaced;
  displaced.cap = 0.001;
  auto governor = governor::create(displaced, thread.clocks.now());
  ASSERT_TRUE(governor.ok()) << governor.error().message;
  Grants::Rule rule;
  rule.governor = std::move(governor).value();
  bool busy = false;
  rule.contended = [&busy](Instant) { return busy; };
  thread.epoch = thread.grants.replace(rule);
  for (int request = 0; request < 100; ++request) {
    EXPECT_FALSE(thread.pass());
    thread.work(0, 50us);
  }
  thread.grants.settle(thread.account, false);
  EXPECT_GT(thread.grants.stats().free_seconds, 0.004);
  busy = true;
  bool slept = false;
  for (int request = 0; request < 100; ++request) {
    slept |= thread.pass();
    thread.work(0, 50us);
  }
  EXPECT_TRUE(slept);
}

TEST(Grants, charge_the_keeper_to_the_cap_but_not_to_the_demand) {
  ReplayedThread thread(capped(10));
  thread.pass();
  thread.grants.settle(thread.account, false);
  thread.grants.charge_keeper(30ms);
  EXPECT_EQ(thread.grants.usage().charged, 0ms);
  EXPECT_DOUBLE_EQ(thread.grants.stats().sensor_seconds, 0.03);
  EXPECT_TRUE(thread.pass()) << "a debt";
}

// --- Tenants with budgets of their own.

TEST(GrantsOfTenants, share_the_cap_by_weight) {
  ReplayedThread thread(capped(100, "1:weight=3 2:weight=1"));
  thread.serve({1, 2}, 10s);
  const double total = thread.used_ms(1) + thread.used_ms(2);
  EXPECT_NEAR(thread.used_ms(1) / total, 0.75, 0.01);
  EXPECT_NEAR(total, 10'000 * 0.1 * online_cores(), 10'000 * 0.005 * online_cores());
}

TEST(GrantsOfTenants, lend_the_tokens_of_idle_tenants) {
  ReplayedThread alone(capped(50, "1:weight=1 2:weight=9"));
  alone.serve({1}, 600ms);
  ReplayedThread both(capped(50, "1:weight=1 2:weight=9"));
  both.serve({1, 2}, 600ms);
  EXPECT_GT(alone.used_ms(1), 3 * both.used_ms(1));
}

TEST(GrantsOfTenants, keep_a_guarantee_whatever_the_weights) {
  ReplayedThread thread(capped(100, "1:guarantee=6%,weight=0.001 2:weight=1000"));
  thread.serve({1, 2}, 10s);
  const double total = thread.used_ms(1) + thread.used_ms(2);
  EXPECT_NEAR(thread.used_ms(1) / total, 0.6, 0.02);
}

TEST(GrantsOfTenants, charge_a_thread_by_its_statistics) {
  ReplayedThread thread(capped(200, "1:weight=1 2:weight=1"));
  thread.serve({1, 2, 5}, 300ms);
  const GovernorStats stats = thread.grants.stats();
  ASSERT_EQ(stats.budgets.size(), 3u);
  EXPECT_EQ(stats.budgets[0].tenant, 0u);
  EXPECT_EQ(stats.budgets[2].tenant, 2u);
  for (const BudgetStats& budget : stats.budgets) {
    EXPECT_NEAR(budget.part, 0.2 / 3, 1e-9);
    EXPECT_GT(budget.waits, 0u);
    EXPECT_GT(budget.throttled_seconds, 0);
  }
  const double total = thread.used_ms(1) + thread.used_ms(2) + thread.used_ms(5);
  EXPECT_NEAR(static_cast<double>(thread.grants.usage().charged.count()) / 1e6, total, 0.1);
}

}  // namespace
}  // namespace k2k::server
