// Goal: under any order of events and any faults, every call is answered once, nothing is leaked,
// and every shutdown completes; and the simulation finds mistakes in the protocol.
// Method: schedules drawn from seeds (docs/design/simulation.md). K2K_SIMULATION_SCHEDULES scales
// the long run, K2K_SIMULATION_SEED replays one seed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/simulation/scenario.hpp"

namespace k2k::simulation {
namespace {

#if defined(K2K_ASAN) || defined(K2K_SIMULATION_SHORT)
constexpr std::uint64_t schedules_usual = 100'000;
#else
constexpr std::uint64_t schedules_usual = 1'000'000;
#endif
constexpr std::uint64_t shards = 4;  // Tests that share the long run, for machines with cores.

std::uint64_t number_from(const char* variable, std::uint64_t fallback) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

std::string describe(const Scenario& scenario, const Outcome& outcome) {
  return "seed " + std::to_string(scenario.seed) + ": " + outcome.violation + text_of(scenario);
}

// Of a schedule as it was drawn.
std::string report(const Scenario& scenario, const Outcome& outcome) {
  return describe(scenario, outcome) +
         "\nagain: K2K_SIMULATION_SEED=" + std::to_string(scenario.seed) + " ./dev test one_seed\n";
}

TEST(Simulation, replays_one_seed) {
  const Scenario scenario = draw(number_from("K2K_SIMULATION_SEED", 1));
  const Outcome first = simulate(scenario);
  EXPECT_EQ(first.violation, "") << report(scenario, first);
  const Outcome second = simulate(scenario);
  EXPECT_EQ(first.violation, second.violation);
  EXPECT_EQ(first.steps, second.steps);
}

class LongRun : public testing::TestWithParam<std::uint64_t> {};

TEST_P(LongRun, keeps_every_promise_in_all_schedules) {
  const std::uint64_t count = number_from("K2K_SIMULATION_SCHEDULES", schedules_usual) / shards;
  std::uint64_t calls = 0;
  std::uint64_t lost = 0;
  std::uint64_t refused = 0;
  std::uint64_t steps_longest = 0;
  int failures = 0;
  for (std::uint64_t seed = GetParam() * count; seed < (GetParam() + 1) * count; ++seed) {
    const Scenario scenario = draw(seed);
    const Outcome outcome = simulate(scenario);
    calls += outcome.calls;
    lost += outcome.lost_doorbells;
    refused += outcome.refused;
    steps_longest = std::max(steps_longest, outcome.steps);
    if (outcome.violation.empty()) continue;
    ADD_FAILURE() << report(scenario, outcome);
    if (++failures == 5) break;
  }
  RecordProperty("calls", std::to_string(calls));
  RecordProperty("steps_longest", std::to_string(steps_longest));
  if (count < 1000) return;
  EXPECT_GT(lost, count / 20) << "the bus lost hardly any doorbell";
  EXPECT_GT(refused, count / 20) << "hardly any call was cut off";
}
INSTANTIATE_TEST_SUITE_P(Shard, LongRun, testing::Range(std::uint64_t{0}, shards));

// --- Ends at every step.

class AtEveryStep : public testing::TestWithParam<Disturbance> {};

TEST_P(AtEveryStep, nothing_is_left_behind) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Scenario scenario = draw(seed);
    scenario.rescan = true;
    scenario.faults = {};
    scenario.launches = 1;
    scenario.calls_max = 1;
    scenario.death = 0;
    scenario.disturbance = Disturbance::none;
    const std::uint64_t steps = simulate(scenario).steps;
    scenario.disturbance = GetParam();
    for (std::uint32_t step = 0; step < steps; ++step) {
      scenario.disturbance_step = step;
      const Outcome outcome = simulate(scenario);
      ASSERT_EQ(outcome.violation, "") << "at step " << step << "\n" << describe(scenario, outcome);
    }
  }
}
std::string name_of_end(const testing::TestParamInfo<Disturbance>& test) {
  if (test.param == Disturbance::cancel) return "cancel";
  return test.param == Disturbance::drain ? "drain" : "stop";
}
INSTANTIATE_TEST_SUITE_P(Of, AtEveryStep,
                         testing::Values(Disturbance::cancel, Disturbance::drain,
                                         Disturbance::stop),
                         &name_of_end);

// --- Mistakes put in on purpose.

struct Planted {
  Bug bug;
  const char* name;
  std::uint64_t seeds_max;  // The mistake is found within so many seeds.
  void (*prepare)(Scenario& scenario);
};

// Without faults and rescan only the planted mistake can fail.
void plainly(Scenario& scenario) {
  scenario.rescan = false;
  scenario.faults = {};
  scenario.strays = false;
  scenario.death = 0;
  scenario.disturbance = Disturbance::none;
}

void with_rescan(Scenario& scenario) { scenario.rescan = true; }

constexpr Planted planted[] = {
    {Bug::ready_before_arguments, "ready_before_arguments", 100, &plainly},
    // The doorbell's own release hides the mistake: only an earlier rescan finds it.
    {Bug::ready_without_release, "ready_without_release", 1000,
     [](Scenario& scenario) {
       plainly(scenario);
       with_rescan(scenario);
     }},
    {Bug::finished_without_release, "finished_without_release", 10'000, &plainly},
    {Bug::head_before_lanes, "head_before_lanes", 1000, &plainly},
    {Bug::unlock_before_free, "unlock_before_free", 100, &plainly},
    {Bug::claim_ignores_state, "claim_ignores_state", 1000, &plainly},
    {Bug::result_after_finished, "result_after_finished", 1000, &plainly},
    {Bug::accepted_twice, "accepted_twice", 10'000,
     [](Scenario& scenario) {
       plainly(scenario);
       with_rescan(scenario);
       scenario.split = true;
       scenario.faults.hold_doorbell = 16;
     }},
    {Bug::answer_after_end, "answer_after_end", 10'000,
     [](Scenario& scenario) {
       plainly(scenario);
       scenario.disturbance = Disturbance::stop;
       scenario.stall_max = 1000;
     }},
    {Bug::no_rescan, "no_rescan", 1000,
     [](Scenario& scenario) {
       plainly(scenario);
       scenario.faults.lose_doorbell = 4;
     }},
    {Bug::stage_looks_before_it_rests, "stage_looks_before_it_rests", 1000,
     [](Scenario& scenario) {
       plainly(scenario);
       if (!scenario.staged) ++scenario.threads;
       scenario.split = true;
       scenario.staged = true;
     }},
    {Bug::no_barrier_before_doorbell, "no_barrier_before_doorbell", 10'000,
     [](Scenario& scenario) {
       plainly(scenario);
       scenario.wave_wide = true;
       scenario.side_by_side = true;
     }},
};

class PlantedBug : public testing::TestWithParam<Planted> {};

TEST_P(PlantedBug, is_found) {
  const Planted& mistake = GetParam();
  for (std::uint64_t seed = 0; seed < mistake.seeds_max; ++seed) {
    Scenario scenario = draw(seed);
    mistake.prepare(scenario);
    scenario.bug = mistake.bug;
    const Outcome outcome = simulate(scenario);
    if (outcome.violation.empty()) continue;
    std::printf("found by seed %llu: %s", static_cast<unsigned long long>(seed),
                outcome.violation.substr(0, outcome.violation.find('\n') + 1).c_str());
    // Without the mistake the same schedules are sound.
    for (std::uint64_t again = 0; again <= seed; ++again) {
      Scenario sound = draw(again);
      mistake.prepare(sound);
      sound.bug = mistake.bug <= Bug::claim_ignores_state ? Bug::nothing : Bug::none;
      if (mistake.bug == Bug::no_rescan) with_rescan(sound);
      const Outcome quiet = simulate(sound);
      EXPECT_EQ(quiet.violation, "") << describe(sound, quiet);
    }
    return;
  }
  ADD_FAILURE() << "not found in " << mistake.seeds_max << " schedules";
}
std::string name_of_bug(const testing::TestParamInfo<Planted>& test) { return test.param.name; }
INSTANTIATE_TEST_SUITE_P(Of, PlantedBug, testing::ValuesIn(planted), &name_of_bug);

// --- A mistake that the simulation found: a ring that is full behind a hole stayed full for ever.

struct Holes {
  const char* name;
  void (*prepare)(Scenario& scenario);
};

constexpr Holes holes[] = {
    // Some or all heads of a ring never arrive.
    {"behind_lost_doorbells", [](Scenario& scenario) { scenario.faults.lose_doorbell = 2; }},
    // Nothing is lost: the poller skips a late producer, which writes into a place in use again.
    {"behind_a_late_doorbell",
     [](Scenario& scenario) {
       scenario.strays = true;
       scenario.faults.hold_doorbell = 16;
     }},
    // Work-items that wait for a place are cancelled; the next launch finds their tickets.
    {"behind_cancelled_waiters",
     [](Scenario& scenario) {
       scenario.launches = 2;
       scenario.disturbance = Disturbance::cancel;
     }},
};

class FullRing : public testing::TestWithParam<Holes> {};

TEST_P(FullRing, gets_room_again) {
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    Scenario scenario = draw(seed);
    plainly(scenario);
    scenario.rescan = true;
    scenario.ring_entries = 2;
    GetParam().prepare(scenario);
    const Outcome outcome = simulate(scenario);
    ASSERT_TRUE(outcome.violation.empty()) << describe(scenario, outcome);
  }
}
std::string name_of_holes(const testing::TestParamInfo<Holes>& test) { return test.param.name; }
INSTANTIATE_TEST_SUITE_P(Of, FullRing, testing::ValuesIn(holes), &name_of_holes);

}  // namespace
}  // namespace k2k::simulation
