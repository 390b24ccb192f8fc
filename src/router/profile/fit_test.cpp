#include "router/profile/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "router/plan/planner_fixture.hpp"

namespace k2k::router {
namespace {

using Points = std::vector<Point>;

// The sizes of k2k calibrate: powers of two and the midpoints between them.
std::vector<double> sizes() {
  std::vector<double> all;
  for (double bytes = 4096; bytes <= 8 << 20; bytes *= 2) {
    all.push_back(bytes);
    if (bytes > 4096 && bytes < 8 << 20) all.push_back(bytes * 1.5);
  }
  return all;
}

template <class Time>
Points measured(Time time, double noise = 0, std::uint64_t seed = 0) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> error(1 - noise, 1 + noise);
  Points points;
  for (const double bytes : sizes()) points.push_back({bytes, time(bytes) * error(random)});
  return points;
}

Points direct_of(const Model& model, double noise = 0, std::uint64_t seed = 0) {
  return measured([&](double bytes) { return direct_bytes_us(model, bytes); }, noise, seed);
}
Points cache_of(const Model& model, double noise = 0, std::uint64_t seed = 0) {
  return measured([&](double bytes) { return cache_bytes_us(model, bytes); }, noise, seed + 1000);
}

double error_of(const Model& model, const Points& direct) {
  double sum = 0;
  for (const Point& point : direct) {
    sum += std::pow(1 - direct_bytes_us(model, point.bytes) / point.us, 2);
  }
  return sum;
}

TEST(Fit, finds_the_numbers_of_a_device_that_is_the_model) {
  for (const Model& model : {Model{}, Model{80, 65536, 7, 12}, Model{200, 100'000, 3, 9},
                             Model{90, 0, 1.2, 8}, Model{1000, 3 << 20, 4, 5}}) {
    Result<Fit> found = fit(direct_of(model), cache_of(model));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_NEAR(found->model.call_us, model.call_us, 1e-6 * model.call_us);
    EXPECT_NEAR(found->model.cutoff_bytes, model.cutoff_bytes, 1e-6 * model.cutoff_bytes + 1e-3);
    EXPECT_NEAR(found->model.direct_gbs, model.direct_gbs, 1e-6 * model.direct_gbs);
    EXPECT_NEAR(found->model.cache_gbs, model.cache_gbs, 1e-6 * model.cache_gbs);
    EXPECT_NEAR(found->direct_r2, 1, 1e-9);
    EXPECT_NEAR(found->cache_r2, 1, 1e-9);
    EXPECT_TRUE(found->deviations.empty());
    EXPECT_TRUE(found->describes());
  }
}

TEST(Fit, finds_them_under_noise) {
  std::mt19937_64 random(1);
  const auto between = [&](double least, double most) {
    return std::exp(
        std::uniform_real_distribution<double>(std::log(least), std::log(most))(random));
  };
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    // Saturated well within the sizes, and C is visible: S / BW is at most C.
    Model model{between(20, 2000), between(16384, 1 << 20), 1, between(4, 20)};
    model.direct_gbs = between(std::max(0.5, model.cutoff_bytes / model.call_us / 1000), 20);
    Result<Fit> found = fit(direct_of(model, 0.04, seed), cache_of(model, 0.04, seed));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_NEAR(found->model.call_us, model.call_us, 0.05 * model.call_us) << seed;
    EXPECT_NEAR(found->model.cache_gbs, model.cache_gbs, 0.05 * model.cache_gbs) << seed;
    // S and the bandwidth are visible where the transfers take longer than C.
    if (direct_bytes_us(model, 8 << 20) < 5 * model.call_us) continue;
    EXPECT_NEAR(found->model.direct_gbs, model.direct_gbs, 0.1 * model.direct_gbs) << seed;
    EXPECT_GT(found->direct_r2, r2_min) << seed;
    EXPECT_GT(found->cache_r2, r2_min) << seed;
    EXPECT_TRUE(found->deviations.empty()) << seed;
  }
}

TEST(Fit, no_other_cutoff_is_better) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Model model{300, 150'000, 2, 10};
    const Points direct = direct_of(model, 0.3, seed);
    Result<Fit> found = fit(direct, cache_of(model));
    ASSERT_TRUE(found) << found.error().message;
    const double least = error_of(found->model, direct);
    for (double cutoff = 0; cutoff < 2e6; cutoff += 1999) {
      for (const double change : {0.98, 1.0, 1.02}) {
        Model other = found->model;
        other.cutoff_bytes = cutoff;
        EXPECT_GE(error_of(other, direct) * (1 + 1e-9), least) << seed << " " << cutoff;
        other.call_us *= change;
        EXPECT_GE(error_of(other, direct) * (1 + 1e-9), least) << seed << " " << cutoff;
      }
    }
  }
}

TEST(Fit, names_bad_points_and_devices_that_do_not_fit_the_model) {
  const Model model;
  Points direct = direct_of(model);
  direct[3].us *= 1.5;
  Result<Fit> one = fit(direct, cache_of(model));
  ASSERT_TRUE(one);
  ASSERT_EQ(one->deviations.size(), 1u);
  EXPECT_TRUE(one->deviations[0].direct);
  EXPECT_EQ(one->deviations[0].point, direct[3]);
  EXPECT_NEAR(one->deviations[0].model_us, direct[3].us / 1.5, 20);

  // Time that grows with the root of the size has neither C nor a bandwidth.
  const auto root = measured([](double bytes) { return std::sqrt(bytes); });
  Result<Fit> none = fit(root, cache_of(model));
  ASSERT_TRUE(none);
  EXPECT_LT(none->direct_r2, r2_min);
  EXPECT_FALSE(none->describes());
  EXPECT_GT(none->deviations.size(), 5u);

  const auto slow_call = measured([&](double bytes) { return 3 + cache_bytes_us(model, bytes); });
  Result<Fit> calls = fit(direct_of(model), slow_call);
  ASSERT_TRUE(calls);
  EXPECT_NEAR(calls->model.cache_gbs, model.cache_gbs, 0.1 * model.cache_gbs);
  for (const Deviation& each : calls->deviations) {
    EXPECT_FALSE(each.direct);
    EXPECT_GE(each.point.bytes, cache_bytes_min);
  }
}

TEST(Fit, refuses_points_without_a_model_with_the_reason) {
  const Model model;
  const Points good = direct_of(model);
  const Points cache = cache_of(model);
  const auto message = [](const Points& direct, const Points& copies) {
    Result<Fit> found = fit(direct, copies);
    EXPECT_FALSE(found);
    return found ? "" : found.error().message;
  };
  const std::string again = "; run k2k calibrate again when the device is idle";
  EXPECT_EQ(message(Points(good.begin(), good.begin() + 4), cache),
            "4 points of direct transfers were measured; wanted are 5 to 256" + again);
  EXPECT_EQ(
      message(good, Points(cache.begin(), cache.begin() + 9)),
      "2 points of cached reads of 64 KiB and more were measured; wanted are 3 to 256" + again);
  EXPECT_NE(message(Points(257, {1, 1}), cache).find("257 points"), std::string::npos);
  Points wrong = good;
  wrong[2].us = std::nan("");
  EXPECT_EQ(message(wrong, cache),
            "a point of direct transfers is 12288 bytes in nan us; wanted are finite numbers above "
            "0" +
                again);
  wrong[2].us = HUGE_VAL;
  EXPECT_NE(message(wrong, cache).find("12288 bytes in inf us"), std::string::npos);
  wrong[2].us = -1;
  EXPECT_NE(message(wrong, cache).find("12288 bytes in -1 us"), std::string::npos);
  wrong = good;
  wrong[2].bytes = wrong[1].bytes;
  EXPECT_EQ(message(wrong, cache),
            "the points of direct transfers do not ascend: 8192 bytes behind 8192; sort them by "
            "size, each once");
  const Points falling = measured([](double bytes) { return 1e9 / bytes; });
  EXPECT_NE(message(falling, cache).find("the time does not grow with the size"),
            std::string::npos);
  const Points flat = measured([](double) { return 50.0; });
  EXPECT_NE(message(flat, cache).find("the time does not grow with the size"), std::string::npos);
  const Points slow = measured([](double bytes) { return 1e6 + bytes; });
  EXPECT_EQ(message(slow, cache)
                .find("the measured times give no model: the time of a direct "
                      "transfer (C) is "),
            0u);
}

TEST(Fit, random_times_give_a_valid_model_or_an_error) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-5, 8);
  int models = 0;
  for (int round = 0; round < 2000; ++round) {
    Points direct;
    Points cache;
    for (const double bytes : sizes()) {
      direct.push_back({bytes, std::pow(10, exponent(random))});
      cache.push_back({bytes, std::pow(10, exponent(random))});
    }
    Result<Fit> found = fit(direct, cache);
    if (!found) continue;
    ++models;
    EXPECT_TRUE(costs_of(found->model));
    EXPECT_TRUE(std::isfinite(found->direct_r2) && std::isfinite(found->cache_r2));
  }
  EXPECT_GT(models, 0);
}

TEST(Fit, derives_the_cost_of_a_further_transfer_in_flight) {
  const Model model{60, 0, 2.8, 5.7};
  const auto next_of = [&](std::optional<Together> together) {
    return fit(direct_of(model), cache_of(model), together).value().model.next_us;
  };
  const double alone = direct_bytes_us(model, 64 * 32768);
  EXPECT_EQ(next_of({}), 0);
  EXPECT_NEAR(next_of(Together{64, 32768, alone + 63 * 2.5}), 2.5, 1e-3);
  EXPECT_EQ(next_of(Together{64, 32768, alone / 2}), next_us_min)
      << "a measured value if faster than alone";
  EXPECT_NEAR(next_of(Together{64, 32768, 1e6}), 60, 1e-3) << "at most the cost alone";
  EXPECT_EQ(next_of(Together{1, 32768, 100}), 0);
}

}  // namespace
}  // namespace k2k::router
