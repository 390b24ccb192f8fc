// Goal: the simulator counts every request and every microsecond, and equal seeds give equal
// results. The budget policy keeps its cap; the published rule is compared with it.

#include "labs/interference/governor/simulator.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "labs/interference/governor/study.hpp"

namespace k2k::labs::governor {
namespace {

namespace policy = k2k::governor;

using policy::Policy;

nlohmann::ordered_json row(const Case& one, std::uint64_t seed = 1) {
  auto result = run(one, seed);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.value();
}

Load study_load() { return {.name = "study"}; }

TEST(Simulator, the_budget_is_within_one_percent_of_its_cap_and_wastes_at_most_three) {
  for (const double cap : {0.01, 0.05, 0.25}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const auto result = row({Policy::budget, study_load(), cap}, seed);
      EXPECT_NEAR(result["share"].get<double>(), cap, 0.01 * cap) << "seed " << seed;
      EXPECT_GE(result["of_ideal"].get<double>(), 0.97) << "seed " << seed;
      EXPECT_LE(result["worst_100ms"].get<double>(), cap * (cap < 0.02 ? 1.4 : 1.1));
    }
  }
}

TEST(Simulator, the_budget_holds_for_every_load_of_the_study) {
  for (const Case& one : study(true, {Policy::budget})) {
    const auto result = row(one);
    const double share = result["share"];
    EXPECT_LE(share, 1.01 * one.cap) << result;
    // A load below the cap is served completely.
    if (one.load.name == "paper-calibrated" && one.cap == 0.25) {
      EXPECT_GE(result["throughput"].get<double>(), 255'000) << result;
      continue;
    }
    EXPECT_GE(share, 0.99 * one.cap) << result;
    EXPECT_GE(result["of_ideal"].get<double>(), 0.96) << result;
  }
}

// Shares from the study on which this simulator's model is based.
TEST(Simulator, the_published_rule_breaks_small_caps_as_the_study_found) {
  const double shares[] = {0.0437, 0.0734, 0.239};
  const double caps[] = {0.01, 0.05, 0.25};
  for (int index = 0; index < 3; ++index) {
    const auto result = row({Policy::backoff, study_load(), caps[index]});
    EXPECT_NEAR(result["share"].get<double>(), shares[index], 0.02 * shares[index]);
  }
}

TEST(Simulator, without_a_governor_the_calibrated_load_is_the_paper_s) {
  for (const Case& one : study(true, {Policy::none})) {
    if (one.load.name != "paper-calibrated") continue;
    const auto result = row(one);
    EXPECT_NEAR(result["throughput"].get<double>(), 260e3, 10e3);
    EXPECT_NEAR(result["share"].get<double>(), 0.28, 0.01);
  }
}

TEST(Simulator, never_uses_more_than_all_cores) {
  for (const std::uint32_t cores : {1u, 4u}) {
    Load load = study_load();
    load.cores = cores;
    const auto result = row({Policy::none, load, 1});
    EXPECT_LE(result["share"].get<double>(), 1.0005);
    EXPECT_LE(result["worst_100ms"].get<double>(), 1.002);
  }
}

TEST(Simulator, loses_no_request_and_repeats_itself) {
  for (const Policy one : policy::all_policies) {
    for (const double offered : {unbounded, 30'000.0}) {
      Load load = study_load();
      load.offered = offered;
      load.busy = 0.8;
      const policy::GovernorConfig config = configuration({one, load, 0.05});
      auto first = simulate(load, config, 0.5, 7);
      auto second = simulate(load, config, 0.5, 7);
      auto other = simulate(load, config, 0.5, 8);
      ASSERT_TRUE(first.ok()) << first.error().message;
      EXPECT_EQ(first->lost, 0u) << policy::name_of(one);
      EXPECT_EQ(first->share, second->share) << policy::name_of(one);
      EXPECT_EQ(first->throughput, second->throughput) << policy::name_of(one);
      EXPECT_NE(first->share, other->share) << policy::name_of(one);
    }
  }
}

TEST(Simulator, serves_all_requests_of_a_load_below_the_cap) {
  Load load = study_load();
  load.offered = 1'000;  // 2.6 % of a core; the cap is 20 %.
  const auto result = row({Policy::budget, load, 0.05});
  EXPECT_NEAR(result["throughput"].get<double>(), 1'000, 30);
  EXPECT_LT(result["share"].get<double>(), 0.01);
}

TEST(Simulator, displaced_serves_more_at_the_same_cost_to_others) {
  for (const Case& one : study(true, {Policy::displaced})) {
    if (one.load.busy == 1) continue;
    const auto displaced = row(one);
    const auto budget = row({Policy::budget, one.load, one.cap});
    EXPECT_LE(displaced["displaced"].get<double>(), 1.1 * one.cap) << displaced;
    EXPECT_GE(displaced["throughput"].get<double>(), 1.4 * budget["throughput"].get<double>())
        << displaced;
  }
}

TEST(Simulator, hard_mode_stays_below_the_cap_with_long_services) {
  Load load = study_load();
  load.service = ServiceTime::uniform(500, 1500);
  policy::GovernorConfig config = configuration({Policy::budget, load, 0.05});
  config.quantum = std::chrono::milliseconds(4);
  config.hard = true;
  auto outcome = simulate(load, config, 10, 1);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_NEAR(outcome->share, 0.05, 0.0005);
  EXPECT_LE(outcome->worst_100ms, 0.05 * 1.25);
}

TEST(ServiceTime, reads_permitted_texts_and_draws_their_mean) {
  for (const char* text : {"uniform:2:50", "fixed:12.5", "lognormal:30:0.8", "lognormal:5:0"}) {
    auto service = ServiceTime::parse(text);
    ASSERT_TRUE(service.ok()) << service.error().message;
    Random random(1);
    double sum = 0;
    for (int draw = 0; draw < 200'000; ++draw) sum += service->draw_us(random);
    EXPECT_NEAR(sum / 200'000, service->mean_us(), 0.01 * service->mean_us()) << text;
  }
  EXPECT_DOUBLE_EQ(ServiceTime::parse("lognormal:30:0.8")->mean_us(), 30);
}

TEST(ServiceTime, computes_the_mean_of_a_truncated_distribution) {
  for (const ServiceTime& service :
       {ServiceTime::lognormal(8, 0.8, 2, 50), ServiceTime::lognormal(300, 0.7, 40, 2600)}) {
    Random random(3);
    double sum = 0;
    for (int draw = 0; draw < 500'000; ++draw) sum += service.draw_us(random);
    EXPECT_NEAR(sum / 500'000, service.mean_us(), 0.005 * service.mean_us());
  }
}

TEST(ServiceTime, refuses_texts_without_sense) {
  const auto refusal = [](const char* text) { return ServiceTime::parse(text).error().message; };
  const std::string fix =
      "; give uniform:LO:HI, lognormal:MEAN:SIGMA or fixed:X in microseconds, such as uniform:2:50";
  EXPECT_EQ(refusal("uniform:50:2"), "service time 'uniform:50:2': LO is above HI" + fix);
  EXPECT_EQ(refusal("uniform:5"), "service time 'uniform:5': uniform takes 2 numbers, not 1" + fix);
  EXPECT_EQ(refusal("gauss:5:1"), "service time 'gauss:5:1': 'gauss' is no distribution" + fix);
  EXPECT_EQ(refusal("fixed:x"), "service time 'fixed:x': 'x' is no number" + fix);
  EXPECT_EQ(refusal("fixed:0"), "service time 'fixed:0': times are 0.01 to 1e+06 us" + fix);
  EXPECT_EQ(refusal("lognormal:5:9"), "service time 'lognormal:5:9': SIGMA is 0 to 3" + fix);
  EXPECT_EQ(refusal(""), "service time '': '' is no distribution" + fix);
}

}  // namespace
}  // namespace k2k::labs::governor
