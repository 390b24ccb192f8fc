// Goal: rates are differences over the time between two answers, and an answer of any shape gives
// numbers, never an abort.

#include "control/rates.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace k2k::control {
namespace {

using nlohmann::ordered_json;

ordered_json answer(double uptime, int scale) {
  return {{"uptime_seconds", uptime},
          {"cores", 4},
          {"latency_us", {{10.0, 2.0, 100 * scale}, {1000.0, 100.0, scale > 1 ? 1 : 0}}},
          {"stats",
           {{"requests", 1000 * scale},
            {"in_flight", 7},
            {"wakes", 10 * scale},
            {"interrupts_saved", 100 * scale},
            {"ledger_seconds", 0.5 * scale},
            {"calls",
             {{{"name", "read"}, {"count", 600}, {"cpu_seconds", 0.1}},
              {{"name", "pread"}, {"count", 400 * scale}, {"cpu_seconds", 0.4 * scale}}}},
            {"tenants", {{{"tenant", 3}, {"requests", 10 * scale}, {"cpu_seconds", 0.25 * scale}}}},
            {"stage_seconds", {{"polling", 0.1 * scale}}},
            {"cores", {{{"core", 1}, {"cpu_seconds", 0.5 * scale}}}},
            {"governor",
             {{"cap", 0.05},
              {"throttled_seconds", 1.0 * scale},
              {"budgets", {{{"tenant", 3}, {"part", 0.04}, {"throttled_seconds", 0.5 * scale}}}},
              {"conflicts", {"tenant 3 misses some"}}}}}}};
}

TEST(ControlRates, are_differences_over_time) {
  const Rates rates = rates_between(answer(10, 1), answer(12, 2));
  EXPECT_DOUBLE_EQ(rates.seconds, 2);
  EXPECT_DOUBLE_EQ(rates.requests, 500);
  EXPECT_DOUBLE_EQ(rates.wakes, 5);
  EXPECT_DOUBLE_EQ(rates.saved, 50);
  EXPECT_DOUBLE_EQ(rates.share, 0.5 / 2 / 4);
  EXPECT_EQ(rates.queue, 7u);
  EXPECT_DOUBLE_EQ(rates.cap, 0.05);
  EXPECT_DOUBLE_EQ(rates.throttled, 0.5);
  EXPECT_DOUBLE_EQ(rates.p50_us, 11);
  ASSERT_EQ(rates.calls.size(), 1u) << "no read was made in the interval";
  EXPECT_EQ(rates.calls[0].name, "pread");
  EXPECT_DOUBLE_EQ(rates.calls[0].requests, 200);
  ASSERT_EQ(rates.tenants.size(), 1u);
  EXPECT_EQ(rates.tenants[0].tenant, 3u);
  EXPECT_DOUBLE_EQ(rates.tenants[0].share, 0.25 / 2 / 4);
  EXPECT_DOUBLE_EQ(rates.tenants[0].part, 0.04);
  EXPECT_DOUBLE_EQ(rates.tenants[0].throttled, 0.25);
  EXPECT_EQ(rates.conflicts, (std::vector<std::string>{"tenant 3 misses some"}));
  EXPECT_DOUBLE_EQ(rates.stages.at(0).share, 0.1 / 2 / 4);
  ASSERT_EQ(rates.cores.size(), 1u);
  EXPECT_EQ(rates.cores[0].name, "1");
  EXPECT_DOUBLE_EQ(rates.cores[0].share, 0.25) << "the share of that core";
}

TEST(ControlRates, latency_is_of_the_requests_in_between) {
  ordered_json before = answer(1, 1);
  ordered_json after = answer(2, 1);
  after["latency_us"] = {{10.0, 2.0, 100}, {1000.0, 100.0, 3}};
  const Rates rates = rates_between(before, after);
  EXPECT_DOUBLE_EQ(rates.p50_us, 1050) << "the hundred short requests came before";
  EXPECT_EQ(rates_between(before, before).p50_us, 0);
}

TEST(ControlRates, replaced_governor_begins_anew) {
  ordered_json after = answer(2, 1);
  after["stats"]["governor"]["throttled_seconds"] = 0.25;
  EXPECT_DOUBLE_EQ(rates_between(answer(1, 1), after).throttled, 0.25);
}

TEST(ControlRates, of_strange_answers_are_numbers) {
  const ordered_json good = answer(1, 1);
  const ordered_json flat = good.flatten();
  for (const auto& path : flat.items()) {
    for (const ordered_json& strange :
         {ordered_json(), ordered_json("x"), ordered_json(-1), ordered_json(1e300),
          ordered_json::array({1}), ordered_json::object()}) {
      ordered_json bad = good;
      bad[ordered_json::json_pointer(path.key())] = strange;
      const Rates rates = rates_between(good, bad);
      EXPECT_GE(rates.requests, -1e300) << path.key();
      static_cast<void>(rates_between(bad, good));
    }
  }
  EXPECT_EQ(rates_between(ordered_json(), ordered_json()).requests, 0);
}

}  // namespace
}  // namespace k2k::control
