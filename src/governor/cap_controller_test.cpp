// Goal: whatever a CPU second of service costs the CPU programs, they lose at most the permitted
// loss, and not much less while requests exist.

#include "governor/cap_controller.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "governor/automatic.hpp"

namespace k2k::governor {
namespace {

constexpr CapController::Bounds five_percent{.loss_max = 0.05, .cap_min = 0.001, .cap_max = 1};

// CPU programs lose `harm` for each CPU time that service takes, measured with noise.
double settled_loss(double harm, double noise, std::uint64_t seed) {
  CapController controller(five_percent);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> error(1, noise);
  double sum = 0;
  for (int sample = 0; sample < 300; ++sample) {
    const double share = controller.cap();
    const double loss = std::min(1.0, share * harm);
    controller.update({.canary_loss = std::max(0.0, loss * error(random)), .share = share});
    if (sample >= 100) sum += loss / 200;
  }
  return sum;
}

TEST(CapController, holds_the_allowed_loss_at_any_cost_to_others) {
  for (const double harm : {0.2, 0.7, 1.0, 1.3, 4.0}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const double loss = settled_loss(harm, 0.1, seed);
      EXPECT_LE(loss, 0.05) << "harm " << harm << " seed " << seed;
      EXPECT_GE(loss, 0.042) << "harm " << harm << " seed " << seed;
    }
  }
}

TEST(CapController, does_not_wind_up_without_requests) {
  CapController controller(five_percent);
  const double before = controller.cap();
  for (int sample = 0; sample < 100; ++sample) {
    controller.update({.canary_loss = 0, .share = 0});
  }
  EXPECT_EQ(controller.cap(), before);
}

TEST(CapController, falls_at_most_by_half_a_sample_and_never_below_the_least) {
  CapController controller(five_percent);
  const double before = controller.cap();
  EXPECT_GE(controller.update({.canary_loss = 0.9, .share = before}), before / 2);
  for (int sample = 0; sample < 100; ++sample) {
    controller.update({.canary_loss = 0.9, .share = 0.001});
  }
  EXPECT_EQ(controller.cap(), 0.001);
}

TEST(CapController, without_a_canary_uses_pressure_and_share) {
  CapController calm(five_percent);
  CapController pressed(five_percent);
  for (int sample = 0; sample < 100; ++sample) {
    calm.update({.pressure = 0.001, .share = calm.cap()});
    pressed.update({.pressure = 0.9, .share = pressed.cap()});
  }
  EXPECT_EQ(calm.cap(), 1);  // No thread waits for a CPU.
  EXPECT_NEAR(pressed.cap(), 0.0475, 0.001);
}

TEST(CapController, without_a_sensor_keeps_its_cap) {
  CapController controller(five_percent);
  const double before = controller.cap();
  controller.update({.share = before});
  EXPECT_EQ(controller.cap(), before);
}

TEST(Automatic, reports_the_cap_it_chose_and_a_guarantee_that_it_cannot_keep) {
  GovernorConfig config;
  config.policy = Policy::automatic;
  config.cores = 4;
  config.threads = 4;
  config.cap = 0.5;
  config.loss_max = 0.05;
  config.tenants = {{.guarantee = 0.3}};
  Automatic automatic(config, Instant());
  for (int sample = 1; sample < 100; ++sample) {
    automatic.sample(Instant() + std::chrono::milliseconds(100) * sample,
                     {.canary_loss = automatic.cap() * 2, .share = automatic.cap()});
  }
  const Report report = automatic.report(Instant() + std::chrono::seconds(20));
  EXPECT_NEAR(report.cap, 0.05 * 0.95 / 2, 0.001);
  ASSERT_EQ(report.conflicts.size(), 1u);
  EXPECT_EQ(report.conflicts[0].message,
            "governor: tenant 0 is guaranteed 30 % of all cores' CPU time, but the cap of 2.38 % "
            "leaves it 2.38 %; raise the cap to keep the guarantee, or lower the guarantee");
}

}  // namespace
}  // namespace k2k::governor
