// Goal: a wrong configuration is refused with a message that names the permitted values.

#include "governor/config.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace k2k::governor {
namespace {

using std::chrono::microseconds;

GovernorConfig good() {
  GovernorConfig config;
  config.cap = 0.05;
  config.cores = 4;
  config.threads = 4;
  return config;
}

std::string refusal(const GovernorConfig& config) {
  const auto governor = create(config, Instant());
  if (governor.ok()) return "accepted";
  EXPECT_EQ(governor.error().code, EINVAL);
  return governor.error().message;
}

TEST(Config, every_policy_can_be_created_and_serves) {
  for (const Policy policy : all_policies) {
    GovernorConfig config = good();
    config.policy = policy;
    auto governor = create(config, Instant());
    ASSERT_TRUE(governor.ok()) << governor.error().message;
    EXPECT_EQ(governor.value()->decide(Instant(), {}).verdict, Verdict::serve);
    EXPECT_GE(governor.value()->threads_wanted(), 1u);
    EXPECT_EQ(policy_named(name_of(policy)).value(), policy);
  }
}

TEST(Config, a_cap_can_be_changed_where_there_is_one) {
  for (const Policy policy : all_policies) {
    GovernorConfig config = good();
    config.policy = policy;
    auto governor = create(config, Instant());
    ASSERT_TRUE(governor.ok());
    const Status changed = governor.value()->set_cap(Instant(), 0.02, Guarantees::must_fit);
    EXPECT_EQ(changed.ok(), policy != Policy::none) << name_of(policy);
    EXPECT_EQ(governor.value()->report(Instant()).cap, policy == Policy::none ? 1 : 0.02);
    EXPECT_FALSE(governor.value()->set_cap(Instant(), 2, Guarantees::must_fit).ok())
        << name_of(policy);
    EXPECT_EQ(governor.value()->report(Instant()).cap, policy == Policy::none ? 1 : 0.02);
  }
}

TEST(Config, refuses_a_policy_that_does_not_exist) {
  EXPECT_EQ(policy_named("magic").error().message,
            "governor.policy 'magic' does not exist; there are none, backoff, budget, displaced, "
            "auto");
}

TEST(Config, refuses_caps_outside_zero_to_one_hundred_percent) {
  GovernorConfig config = good();
  config.cap = 1.2;
  EXPECT_EQ(refusal(config),
            "governor.cap is 120 % of the CPU time of all cores; permitted are 0.01 to 100 %");
  config.cap = -0.1;
  EXPECT_EQ(refusal(config),
            "governor.cap is -10 % of the CPU time of all cores; permitted are 0.01 to 100 %");
  config.cap = 0;
  EXPECT_EQ(refusal(config),
            "governor.cap is 0 % of the CPU time of all cores; permitted are 0.01 to 100 %; to "
            "serve without a limit use the policy 'none', and to serve nothing stop the server");
  config.cap = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(refusal(config), "accepted");
}

TEST(Config, refuses_a_machine_without_cores_or_threads) {
  GovernorConfig config = good();
  config.cores = 0;
  EXPECT_EQ(refusal(config), "governor: 0 cores to share; give 1 to 65536");
  config = good();
  config.threads = 0;
  EXPECT_EQ(refusal(config), "governor: 0 service threads would serve nothing; give 1 to 65536");
}

TEST(Config, refuses_a_quantum_that_is_spent_on_waking) {
  GovernorConfig config = good();
  config.quantum = microseconds(39);
  EXPECT_EQ(refusal(config),
            "governor.quantum is 39 us; it must be at least 40 us, 20 times the 2 us of a wake-up, "
            "or the budget is spent on waking");
}

TEST(Config, refuses_a_burst_below_a_batch_or_a_service_of_each_thread) {
  GovernorConfig config = good();
  ASSERT_DOUBLE_EQ(config.cap * config.cores, 0.2);
  config.burst = microseconds(324);
  EXPECT_EQ(refusal(config),
            "governor.burst is 324 us; it must be at least 325 us, the larger of 1.3 quanta and "
            "service_max on each of 1 threads; 0 chooses that");
  config.hard = true;
  EXPECT_DOUBLE_EQ(burst_quanta(config), 2) << "a predicted request may cost a quantum";
  config.hard = false;
  config.cap = 1;
  config.service_max = microseconds(400);
  config.burst = microseconds(1000);
  EXPECT_NE(refusal(config), "accepted");
  config.burst = microseconds(1600);
  EXPECT_EQ(refusal(config), "accepted");
}

TEST(Config, refuses_guarantees_above_the_cap) {
  GovernorConfig config = good();
  config.tenants = {{.guarantee = 0.04}, {.guarantee = 0.02}};
  EXPECT_EQ(refusal(config),
            "governor: the tenants are guaranteed 6 % of all cores' CPU time, more than the cap of "
            "5 %; raise governor.cap or lower a guarantee");
}

TEST(Config, refuses_guarantees_that_the_policy_cannot_keep) {
  GovernorConfig config = good();
  config.policy = Policy::backoff;
  config.tenants = {{.guarantee = 0.04}};
  EXPECT_EQ(refusal(config),
            "governor: tenant 0 has a guarantee, which the policy 'backoff' cannot keep; use "
            "'budget'");
}

TEST(Config, refuses_no_tenants_and_tenants_without_weight) {
  GovernorConfig config = good();
  config.tenants.clear();
  EXPECT_EQ(refusal(config), "governor: 0 tenants; give 1 to 64");
  config.tenants = {{}, {.weight = 0}};
  EXPECT_EQ(refusal(config),
            "governor: the weight of tenant 1 is 0; give more than 0, at most 1000000");
}

TEST(Config, refuses_settings_of_the_other_policies_out_of_range) {
  GovernorConfig config = good();
  config.policy = Policy::backoff;
  config.window = microseconds(5);
  EXPECT_EQ(refusal(config), "governor.window is 5 us; permitted are 10 to 655360 us");
  config = good();
  config.policy = Policy::displaced;
  config.wake_burst = 0;
  EXPECT_EQ(refusal(config),
            "governor.wake_burst is 0, so that no core could ever be woken; give at least 1");
  config = good();
  config.policy = Policy::automatic;
  config.loss_max = 0;
  EXPECT_EQ(refusal(config),
            "governor.loss_max is 0 %; permitted are 0.1 to 100 % of what CPU programs do "
            "undisturbed");
  config = good();
  config.delay_max = microseconds(1);
  EXPECT_EQ(refusal(config), "governor.delay_max is 1 us; permitted are 1000 to 3600000000 us");
}

}  // namespace
}  // namespace k2k::governor
