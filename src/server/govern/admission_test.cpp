// Goal: a capped server consumes at most its cap, however its threads spend it; no thread stays
// asleep when roles change hands or the cap changes.

#include "server/govern/admission.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/cores.hpp"
#include "governor/displaced.hpp"
#include "host/proc_fixture.hpp"
#include "server/govern/burn_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

ServerConfig config_capped(std::uint32_t permille) {
  ServerConfig config;
  config.cap_permille = permille;
  return config;
}

double fraction_of(std::uint32_t permille) {
  return permille / 1000.0 * std::thread::hardware_concurrency();
}

TEST(Admission, lets_every_thread_pass_without_a_cap) {
  Admission admission;
  ASSERT_TRUE(admission.configure({}).ok());
  EXPECT_FALSE(admission.governed());
  ServiceAccount account;
  for (int request = 0; request < 1000; ++request) EXPECT_FALSE(admission.pass(account, 1));
  admission.leave(account);
  EXPECT_EQ(admission.stats().cap, 0);
}

TEST(Admission, lets_a_watcher_wake_the_more_rarely_the_smaller_the_cap_is) {
  Admission admission;
  Nanoseconds before = 100ms;
  for (const std::uint32_t permille : {1000u, 250u, 50u, 10u, 5u, 1u}) {
    ASSERT_TRUE(admission.configure(config_capped(permille)).ok());
    const Nanoseconds tick = admission.watch_tick();
    EXPECT_GE(tick, before) << permille;
    EXPECT_LE(tick, 1s) << permille;
    // A look of 30 us each tick takes less than 0.5 % of the cap, unless the tick is a second.
    const double part = 30e3 / static_cast<double>(tick.count()) / fraction_of(permille);
    if (tick < 1s) {
      EXPECT_LE(part, 0.005) << permille;
    }
    before = tick;
  }
  ASSERT_TRUE(admission.configure(config_capped(1000)).ok());
  EXPECT_EQ(admission.watch_tick(), 100ms);
}

// Requests of 50 us for 600 ms; the thread's CPU time, divided by the elapsed time.
double share_under(Admission& admission, int threads) {
  std::atomic<std::int64_t> used{0};
  const Instant begin = now();
  std::vector<std::thread> all;
  for (int thread = 0; thread < threads; ++thread) {
    all.emplace_back([&] {
      ServiceAccount account;
      while (now() - begin < 600ms) {
        admission.pass(account, 1);
        burn(50us);
      }
      admission.leave(account);
      used += thread_time().count();
    });
  }
  for (std::thread& thread : all) thread.join();
  return static_cast<double>(used) / static_cast<double>((now() - begin).count());
}

TEST(Admission, keeps_one_thread_to_the_cap) {
  Admission admission;
  ASSERT_TRUE(admission.configure(config_capped(100)).ok());
  // The first burst is a visible part of such a short measurement.
  EXPECT_LT(share_under(admission, 1), fraction_of(100) * 1.25);
  EXPECT_GT(admission.stats().waits, 0u);
  EXPECT_GT(admission.stats().throttled_seconds, 0);
}

TEST(Admission, keeps_several_threads_to_the_cap_together) {
  Admission admission;
  ASSERT_TRUE(admission.configure(config_capped(100)).ok());
  EXPECT_LT(share_under(admission, 4), fraction_of(100) * 1.25);
}

TEST(Admission, charges_time_beside_requests) {
  Admission admission;
  ASSERT_TRUE(admission.configure(config_capped(10)).ok());
  ServiceAccount account;
  admission.pass(account, 0);
  burn(20ms);  // Polling, say.
  admission.leave(account);
  const Instant before = now();
  EXPECT_TRUE(admission.pass(account, 0));  // Paid off before anything is served.
  EXPECT_GE(now() - before, 50ms);
}

TEST(Admission, charges_the_time_that_kernel_threads_may_have_worked) {
  Admission admission;
  ASSERT_TRUE(admission.configure({}).ok());
  admission.charge_kernel_threads(0, 1s);  // Without a cap it is no debt.
  ASSERT_TRUE(admission.configure(config_capped(10)).ok());
  ServiceAccount account;
  EXPECT_FALSE(admission.pass(account, 0));
  admission.leave(account);
  EXPECT_EQ(admission.stats().kernel_thread_seconds, 0);
  admission.charge_kernel_threads(0, 20ms);
  const Instant before = now();
  EXPECT_TRUE(admission.pass(account, 0)) << "paid off before anything is served";
  EXPECT_GE(now() - before, 50ms);
  EXPECT_DOUBLE_EQ(admission.stats().kernel_thread_seconds, 0.02);
}

TEST(Admission, charges_the_tenant_whose_call_kernel_threads_worked_for) {
  Admission admission;
  ServerConfig config = config_capped(20);
  config.tenants = "1:weight=1 2:weight=1";
  ASSERT_TRUE(admission.configure(config).ok());
  ThreadStats stats;
  ServiceAccount account;
  account.stats = &stats;
  admission.pass(account, 0);
  ASSERT_TRUE(admission.admits(account, 1));
  ASSERT_TRUE(admission.admits(account, 2));
  admission.leave(account);
  admission.charge_kernel_threads(1, 50ms);
  EXPECT_FALSE(admission.admits(account, 1));
  EXPECT_TRUE(admission.admits(account, 2));
}

TEST(Admission, forgets_time_spent_before_there_was_a_cap) {
  Admission admission;
  ASSERT_TRUE(admission.configure({}).ok());
  ServiceAccount account;
  burn(20ms);
  admission.pass(account, 1);
  ASSERT_TRUE(admission.configure(config_capped(10)).ok());
  EXPECT_FALSE(admission.pass(account, 0));
}

// A thread in deep debt, asleep in pass().
class Debtor {
 public:
  explicit Debtor(Admission& admission) {
    thread_ = std::thread([this, &admission] {
      ServiceAccount account;
      admission.pass(account, 0);
      burn(10ms);
      asleep_ = true;
      admission.pass(account, 1);
      passed_at_ = now();
    });
    while (!asleep_) std::this_thread::yield();
    std::this_thread::sleep_for(5ms);
  }
  Instant join() {
    thread_.join();
    return passed_at_;
  }

 private:
  std::atomic<bool> asleep_{false};
  Instant passed_at_{};
  std::thread thread_;
};

TEST(Admission, lets_a_sleeper_pass_when_it_is_suspended) {
  Admission admission;
  ASSERT_TRUE(admission.configure(config_capped(1)).ok());
  Debtor debtor(admission);
  const Instant before = now();
  admission.suspend();
  EXPECT_LT(debtor.join() - before, 500ms);  // Its debt is more than a second.
  ServiceAccount account;
  EXPECT_FALSE(admission.pass(account, 0));
  admission.resume();
}

TEST(Admission, lets_a_sleeper_pass_when_the_cap_is_lifted) {
  Admission admission;
  ASSERT_TRUE(admission.configure(config_capped(1)).ok());
  Debtor debtor(admission);
  const Instant before = now();
  ASSERT_TRUE(admission.configure({}).ok());
  EXPECT_LT(debtor.join() - before, 500ms);
}

TEST(Admission, wakes_a_sleeper_when_the_cap_is_raised) {
  Admission admission;
  ASSERT_TRUE(admission.configure(config_capped(1)).ok());
  Debtor debtor(admission);
  const Instant before = now();
  ASSERT_TRUE(admission.configure(config_capped(1000)).ok());
  EXPECT_LT(debtor.join() - before, 500ms);
  EXPECT_DOUBLE_EQ(admission.stats().cap, 1);
}

// Time stands still: no thread spends CPU time, and no tokens are saved. It stands this far ahead
// of the real clock, which is how long a thread without tokens sleeps if nobody wakes it.
constexpr Nanoseconds standing_sleep = 5s;
class StandingClocks : public Clocks {
 public:
  [[nodiscard]] Instant now() const override { return moment_; }
  [[nodiscard]] std::uint64_t cycles() const override { return 0; }
  [[nodiscard]] Nanoseconds thread_time() const override { return {}; }
  // A thread that sleeps for a lock would pay for the interrupt that ends its sleep.
  [[nodiscard]] Switches switches() const override { return {}; }

 private:
  const Instant moment_ = k2k::now() + standing_sleep;
};

// How long a thread that sleeps for a batch still waits after another thread has returned its
// grants by `give_back`.
template <class GiveBack>
Nanoseconds wait_behind_a_refund(const GiveBack& give_back) {
  const StandingClocks clocks;
  Admission admission(host::proc_folder, clocks);
  EXPECT_TRUE(admission.configure(config_capped(1)).ok());
  std::vector<ServiceAccount> accounts(1);  // They take the whole budget, one grant each.
  admission.pass(accounts[0], 0);
  const Nanoseconds whole = accounts[0].reserved;
  while (accounts.back().reserved == whole && accounts.size() < 1000) {
    admission.pass(accounts.emplace_back(), 0);
  }
  EXPECT_LT(accounts.size(), 1000u);
  Instant passed_at{};
  std::thread sleeper([&] {
    ServiceAccount account;
    EXPECT_TRUE(admission.pass(account, 0));
    passed_at = now();
  });
  // Its ticket is older than this count: a wake from now on is not lost.
  while (admission.stats().waits == 0) std::this_thread::yield();
  const Instant begin = now();
  for (ServiceAccount& account : accounts) give_back(admission, account);
  sleeper.join();
  return passed_at - begin;
}

// One thread of a busy machine may be late.
template <class GiveBack>
bool wakes_a_sleeper(const GiveBack& give_back) {
  constexpr int attempts_max = 3;
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    if (wait_behind_a_refund(give_back) < standing_sleep / 2) return true;
  }
  return false;
}

TEST(Admission, wakes_a_sleeper_when_others_give_back_the_rest_of_their_grants) {
  EXPECT_TRUE(wakes_a_sleeper(
      [](Admission& admission, ServiceAccount& account) { admission.leave(account); }));
}

// A poller gives its grant back here before it waits for a doorbell. Without the wake, a split
// bottom half slept for a whole grant after each bundle, and used a third of its cap.
TEST(Admission, wakes_a_sleeper_when_a_poller_rests) {
  EXPECT_TRUE(wakes_a_sleeper(
      [](Admission& admission, ServiceAccount& account) { admission.rest_masked(account); }));
}

TEST(Admission, keeps_to_the_published_rule_if_asked) {
  Admission admission;
  ServerConfig config = config_capped(100);
  config.governor = governor::Policy::backoff;
  ASSERT_TRUE(admission.configure(config).ok());
  share_under(admission, 1);
  EXPECT_GT(admission.stats().waits, 0u);
  EXPECT_GT(admission.stats().sensor_seconds, 0) << "the published thread that looks each tick";
  ASSERT_TRUE(admission.configure({}).ok());
  const double ended = admission.stats().sensor_seconds;
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(admission.stats().sensor_seconds, ended);
}

TEST(Admission, keeps_no_cap_if_asked) {
  Admission admission;
  ServerConfig config = config_capped(1);
  config.governor = governor::Policy::none;
  ASSERT_TRUE(admission.configure(config).ok());
  EXPECT_FALSE(admission.governed());
  EXPECT_EQ(admission.stats().cap, 0);
}

class AdmissionWithSensors : public ::testing::Test {
 protected:
  static ServerConfig asked_for(governor::Policy policy, std::uint32_t permille) {
    ServerConfig config = config_capped(permille);
    config.governor = policy;
    return config;
  }
  // Plants more runnable threads than a machine has cores, or only one.
  void all_busy(bool busy) const {
    proc_.plant("loadavg", busy ? "0.0 0.0 0.0 99999/99999 1\n" : "0.0 0.0 0.0 1/99999 1\n");
  }
  void waited(Nanoseconds total) const {
    proc_.plant("pressure/cpu",
                "some avg10=0.00 total=" + std::to_string(total.count() / 1000) + "\n");
  }
  // Serves requests of 50 us. Returns true if one had to wait.
  static bool serve(Admission& admission, ServiceAccount& account, int requests) {
    bool waited = false;
    for (int request = 0; request < requests; ++request) {
      waited |= admission.pass(account, 1);
      burn(50us);
    }
    return waited;
  }

  const host::PlantedProc proc_;
  Admission admission_{proc_.path()};
  ServiceAccount account_;
};

TEST_F(AdmissionWithSensors, charges_nothing_while_a_core_is_idle) {
  all_busy(false);
  ASSERT_TRUE(admission_.configure(asked_for(governor::Policy::displaced, 1)).ok());
  EXPECT_EQ(admission_.stats().sensors, "idle cores");
  // Cores count as busy until the thread has looked, and again if the thread is delayed.
  const Instant patience = now() + 10s;
  bool waited = true;
  while (waited && now() < patience) {
    const double before = admission_.stats().free_seconds;
    waited = serve(admission_, account_, 400);  // Ten times the burst under a cap of 0.1 %.
    admission_.leave(account_);
    if (!waited) {
      EXPECT_GE(admission_.stats().free_seconds - before, 0.019);
    }
  }
  EXPECT_FALSE(waited);
}

TEST_F(AdmissionWithSensors, wakes_a_debtor_once_a_core_is_seen_idle) {
  all_busy(false);
  governor::GovernorConfig displaced;
  displaced.cap = 0.001;
  displaced.cores = online_cores();
  const Nanoseconds unwoken = governor::idle_check_of(displaced);
  // Another attempt: a busy machine may delay the thread.
  bool woken = false;
  for (int attempt = 0; attempt < 20 && !woken; ++attempt) {
    Admission admission(proc_.path());
    ASSERT_TRUE(admission.configure(asked_for(governor::Policy::displaced, 1)).ok());
    ServiceAccount account;
    admission.pass(account, 0);
    burn(300us);  // Beyond the first quantum, within a burst of debt.
    admission.leave(account);
    std::this_thread::sleep_for(20ms);  // The thread that looks sleeps again.
    const Instant begin = now();
    EXPECT_TRUE(admission.pass(account, 1)) << "cores count as busy before the first look";
    woken = now() - begin < unwoken / 2;
    admission.leave(account);
  }
  EXPECT_TRUE(woken);
}

TEST_F(AdmissionWithSensors, charges_time_that_another_program_wanted) {
  all_busy(true);
  ASSERT_TRUE(admission_.configure(asked_for(governor::Policy::displaced, 100)).ok());
  EXPECT_TRUE(serve(admission_, account_, 400));
  admission_.leave(account_);
  EXPECT_GT(admission_.stats().waits, 0u);
  EXPECT_EQ(admission_.stats().free_seconds, 0);
}

TEST_F(AdmissionWithSensors, lets_a_debtor_pass_once_a_core_is_idle) {
  all_busy(true);
  ASSERT_TRUE(admission_.configure(asked_for(governor::Policy::displaced, 1)).ok());
  admission_.pass(account_, 0);
  burn(300us);  // Beyond the first quantum, within a burst of debt.
  admission_.leave(account_);
  all_busy(false);
  serve(admission_, account_, 20);
  EXPECT_GT(admission_.stats().free_seconds, 0);
}

TEST_F(AdmissionWithSensors, keeps_cores_asleep_once_too_many_were_woken) {
  all_busy(false);
  ASSERT_TRUE(admission_.configure(asked_for(governor::Policy::displaced, 100)).ok());
  EXPECT_FALSE(admission_.rest_masked(account_)) << "none has been woken";
  bool masked = false;
  const Instant patience = now() + 10s;
  while (!masked && now() < patience) {
    admission_.woken(account_);
    masked = admission_.rest_masked(account_);
  }
  EXPECT_TRUE(masked);
  EXPECT_GT(admission_.stats().masked_rests, 0u);
}

TEST_F(AdmissionWithSensors, wakes_no_sleeper_for_the_budget) {
  ASSERT_TRUE(admission_.configure(config_capped(100)).ok());
  for (int wake = 0; wake < 100; ++wake) admission_.woken(account_);
  EXPECT_FALSE(admission_.rest_masked(account_))
      << "only displaced masks a source that is not in debt";
}

TEST_F(AdmissionWithSensors, changes_nothing_where_idle_cores_cannot_be_seen) {
  ASSERT_TRUE(admission_.configure(config_capped(100)).ok());
  const Status status = admission_.configure(asked_for(governor::Policy::displaced, 50));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ENOENT);
  EXPECT_EQ(status.error().message,
            "server.governor is displaced, which has to see which cores are idle: cannot open " +
                proc_.path() + "/loadavg: No such file or directory; or choose budget");
  EXPECT_DOUBLE_EQ(admission_.stats().cap, 0.1);
}

TEST_F(AdmissionWithSensors, follows_the_loss_that_is_allowed) {
  waited(0s);
  proc_.plant("thread-self/schedstat", "0 0 0\n");
  ServerConfig config = asked_for(governor::Policy::automatic, 500);
  config.loss_max_permille = 20;
  ASSERT_TRUE(admission_.configure(config).ok());
  EXPECT_EQ(admission_.stats().sensors, "canary, pressure");
  EXPECT_NEAR(admission_.stats().cap, 0.02, 0.0015) << "what service takes is what others lose";
  // No program waits, so none loses CPU time, and an exhausted cap may grow.
  const Instant patience = now() + 10s;
  while (admission_.stats().cap < 0.03 && now() < patience) serve(admission_, account_, 1);
  EXPECT_GE(admission_.stats().cap, 0.03);
  EXPECT_GT(admission_.stats().sensor_seconds, 0);

  // From now on a program always waits: CPU time of service is its loss.
  const Instant begin = now();
  while (admission_.stats().cap > 0.025 && now() < patience + 10s) {
    waited(now() - begin + 100s);
    serve(admission_, account_, 1);
  }
  EXPECT_LE(admission_.stats().cap, 0.025);
  EXPECT_GT(admission_.stats().loss, 0.005);

  config.loss_max_permille = 300;
  ASSERT_TRUE(admission_.configure(config).ok());
  EXPECT_GT(admission_.stats().cap, 0.2);
}

TEST_F(AdmissionWithSensors, names_missing_sensors_and_goes_by_the_time_taken) {
  ASSERT_TRUE(admission_.configure(asked_for(governor::Policy::automatic, 500)).ok());
  EXPECT_EQ(admission_.stats().sensors,
            "no canary: cannot open " + proc_.path() +
                "/thread-self/schedstat: No such file or directory, no pressure: cannot open " +
                proc_.path() + "/pressure/cpu: No such file or directory");
  const Instant patience = now() + 10s;
  while (admission_.stats().loss < 0.01 && now() < patience) serve(admission_, account_, 1);
  EXPECT_GE(admission_.stats().loss, 0.01);
}

TEST_F(AdmissionWithSensors, may_be_reconfigured_while_threads_serve) {
  all_busy(true);
  waited(0s);
  proc_.plant("thread-self/schedstat", "0 0 0\n");
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&] {
      ServiceAccount account;
      while (!stop) {
        admission_.pass(account, 1);
        admission_.rest_masked(account);
        admission_.woken(account);
      }
      admission_.leave(account);
    });
  }
  for (int round = 0; round < 4; ++round) {
    for (const auto policy : governor::all_policies) {
      EXPECT_TRUE(admission_.configure(asked_for(policy, 100)).ok());
      std::this_thread::sleep_for(5ms);
      EXPECT_TRUE(admission_.configure(asked_for(policy, 200)).ok());
    }
  }
  stop = true;
  admission_.suspend();
  admission_.stop();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace k2k::server
