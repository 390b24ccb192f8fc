// Goal: from samples alone the coalescer finds a setting within 5 % of the best fixed one, for
// loads of different shapes, and keeps the delay below its bound. Method: a model of a setting's
// cost; the coalescer never reads the model.

#include "governor/coalescer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace k2k::governor {
namespace {

using std::chrono::microseconds;

struct Shape {
  const char* name;
  double per_us;       // Requests a microsecond while they come.
  double at_once;      // The requests come in groups of this size.
  double outstanding;  // The largest number of waiting requests.
  double service_us;
};

constexpr Shape shapes[] = {
    {"steady and fast", 0.25, 1, 64, 4}, {"rare", 0.004, 1, 64, 4},
    {"bursts", 0.02, 16, 64, 4},         {"few outstanding", 0.5, 1, 4, 4},
    {"long services", 0.02, 1, 64, 200},
};
constexpr double wake_us = 3;  // Interrupt and wake-up.

// A bundle ends with the window, at the maximum, or when no more requests can come.
double bundle(const Shape& shape, CoalesceSetting setting) {
  const double come = shape.at_once + shape.per_us * setting.window_us;
  return std::clamp(std::min<double>(come, shape.outstanding), 1.0,
                    std::max(1.0, 1.0 * setting.max));
}

double cost_us(const Shape& shape, CoalesceSetting setting) {
  const double size = bundle(shape, setting);
  const double timer = setting.window_us > 0 ? 0.5 : 0;
  return shape.service_us + (wake_us + timer) / size + 0.002 * size;  // Large bundles miss caches.
}

double delay_us(const Shape& shape, CoalesceSetting setting) {
  const double fill =
      (std::min<double>(setting.max, shape.outstanding) - shape.at_once) / shape.per_us;
  return std::clamp<double>(fill, 0, setting.window_us) + wake_us;
}

double best_us(const Shape& shape, double delay_max_us) {
  double best = 1e18;
  for (const CoalesceSetting& setting : Coalescer::ladder) {
    if (setting.window_us > delay_max_us || delay_us(shape, setting) > delay_max_us) continue;
    best = std::min(best, cost_us(shape, setting));
  }
  return best;
}

// Mean cost and largest delay after it settled.
struct Settled {
  double cost_us = 0;
  double late = 0;  // The fraction of samples with a delay beyond the bound.
};

Settled settle(Coalescer& coalescer, const Shape& shape, double noise, double delay_max_us,
               std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> error(1, noise > 0 ? noise : 1e-12);
  Settled settled;
  constexpr int samples = 1000;
  for (int sample = -50; sample < samples; ++sample) {
    const CoalesceSetting setting = coalescer.setting();
    const double cost = cost_us(shape, setting);
    const double delay = delay_us(shape, setting);
    if (sample >= 0) {
      settled.cost_us += cost / samples;
      settled.late += delay > delay_max_us ? 1.0 / samples : 0;
    }
    coalescer.sample({.cpu = Nanoseconds(static_cast<std::int64_t>(1e6 * cost * error(random))),
                      .requests = 1000,
                      .delay = Nanoseconds(static_cast<std::int64_t>(1e3 * delay))});
  }
  return settled;
}

TEST(Coalescer, comes_within_five_percent_of_the_best_fixed_setting) {
  for (const Shape& shape : shapes) {
    for (const double noise : {0.0, 0.003, 0.01}) {
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Coalescer coalescer(microseconds(1000));
        const Settled settled = settle(coalescer, shape, noise, 1000, seed);
        EXPECT_LE(settled.cost_us, 1.05 * best_us(shape, 1000))
            << shape.name << ", noise " << noise << ", seed " << seed;
      }
    }
  }
}

TEST(Coalescer, keeps_the_delay_below_its_bound) {
  for (const Shape& shape : shapes) {
    for (const int bound : {10, 50, 150}) {
      Coalescer coalescer{microseconds(bound)};
      const Settled settled = settle(coalescer, shape, 0.003, bound, 1);
      EXPECT_LE(settled.late, 0.03) << shape.name << ", bound " << bound;
      EXPECT_LE(settled.cost_us, 1.05 * best_us(shape, bound)) << shape.name << ", bound " << bound;
    }
  }
}

TEST(Coalescer, with_no_delay_allowed_never_holds_a_doorbell) {
  Coalescer coalescer{Nanoseconds(0)};
  for (int sample = 0; sample < 200; ++sample) {
    EXPECT_EQ(
        coalescer.sample({.cpu = microseconds(100), .requests = 100, .delay = microseconds(3)})
            .window_us,
        0u);
  }
}

TEST(Coalescer, follows_a_load_that_changes) {
  Coalescer coalescer(microseconds(1000));
  settle(coalescer, shapes[4], 0.003, 1000, 1);
  const Settled settled = settle(coalescer, shapes[0], 0.003, 1000, 2);
  EXPECT_LE(settled.cost_us, 1.05 * best_us(shapes[0], 1000));
}

CoalesceSample sample_of(double cost_us, std::uint64_t requests, double delay_us) {
  return {.cpu = Nanoseconds(static_cast<std::int64_t>(1e3 * cost_us) *
                             static_cast<std::int64_t>(requests)),
          .requests = requests,
          .delay = Nanoseconds(static_cast<std::int64_t>(1e3 * delay_us))};
}

// Short windows are spun and cost their duration; longer windows are slept.
TEST(Coalescer, finds_a_setting_behind_a_hump) {
  constexpr double costs_us[] = {10, 12, 15, 20, 11, 4, 4.1, 4.2, 6};
  Coalescer coalescer(microseconds(1000));
  const auto cost_now = [&] {
    std::size_t step = 0;
    const CoalesceSetting now = coalescer.setting();
    while (Coalescer::ladder[step].window_us != now.window_us ||
           Coalescer::ladder[step].max != now.max) {
      ++step;
    }
    return costs_us[step];
  };
  for (int sample = 0; sample < 50; ++sample) coalescer.sample(sample_of(cost_now(), 100, 20));
  EXPECT_EQ(coalescer.best().window_us, 80u);
  double sum = 0;
  constexpr int samples = 1000;
  for (int sample = 0; sample < samples; ++sample) {
    sum += cost_now();
    coalescer.sample(sample_of(cost_now(), 100, 20));
  }
  EXPECT_LE(sum / samples, 1.05 * 4) << "trials of expensive settings are rare";
}

// A few expensive requests and many cheap ones alternate: only adjacent samples can be compared.
TEST(Coalescer, is_not_led_astray_by_a_load_that_swings) {
  Coalescer coalescer(microseconds(1000));
  double spent = 0;
  double least = 0;
  for (int sample = -200; sample < 1000; ++sample) {
    const bool dense = (sample + 200) / 5 % 2 == 0;
    const bool holds = coalescer.setting().window_us >= 20;
    const double cost_us = dense ? (holds ? 4 : 18) : (holds ? 100 : 90);
    const std::uint64_t requests = dense ? 500 : 20;
    if (sample >= 0) {
      spent += cost_us * static_cast<double>(requests);
      least += (dense ? 4 : 100) * static_cast<double>(requests);
    }
    coalescer.sample(sample_of(cost_us, requests, 20));
  }
  EXPECT_LE(spent, 1.05 * least);
}

// Some samples are beyond the bound, the mean of the requests is not.
TEST(Coalescer, bounds_the_mean_and_not_each_sample) {
  Coalescer coalescer(microseconds(100));
  for (int sample = 0; sample < 400; ++sample) {
    const bool holds = coalescer.setting().window_us >= 40;
    const bool rare = sample % 5 == 4;
    coalescer.sample(sample_of(holds ? 4 : 8, rare ? 20 : 500, holds ? (rare ? 150 : 60) : 5));
  }
  EXPECT_GE(coalescer.best().window_us, 40u);
}

TEST(Coalescer, ignores_samples_without_requests) {
  Coalescer coalescer(microseconds(1000));
  for (int sample = 0; sample < 10; ++sample) coalescer.sample({.requests = 3});
  EXPECT_EQ(coalescer.setting().window_us, 0u);
}

}  // namespace
}  // namespace k2k::governor
