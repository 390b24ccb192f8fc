#include "tests/simulation/scenario.hpp"

#include <fmt/format.h>

#include <iterator>

#include "tests/simulation/random.hpp"

namespace k2k::simulation {

Scenario draw(std::uint64_t seed) {
  Random random(seed);
  const auto one_of = [&random](auto... values) {
    const std::uint32_t all[] = {static_cast<std::uint32_t>(values)...};
    return all[random.below(std::size(all))];
  };
  Scenario scenario;
  scenario.seed = seed;
  scenario.rows = one_of(1, 1, 2, 2, 3);
  scenario.lanes = one_of(1, 2, 2, 3);
  scenario.waves = one_of(1, 2, 2, scenario.lanes < 3 ? 3 : 2);
  scenario.rings = one_of(1, 1, 2);
  scenario.ring_entries = one_of(2, 4, 8);
  scenario.blocks = one_of(1, 2);
  scenario.launches = one_of(1, 1, 1, 2);
  scenario.calls_max = one_of(1, 2, 3);
  scenario.wave_wide = random.one_in(3);
  scenario.side_by_side = random.one_in(2);

  scenario.top_halves = scenario.rings == 2 ? one_of(1, 2) : 1;
  // Besides the top halves, one thread watches and one may be occupied by a call.
  scenario.threads = scenario.top_halves + one_of(2, 2, 3);
  scenario.split = random.one_in(3);
  scenario.window = one_of(0, 0, 40);
  scenario.stall_max = one_of(0, 20, 20, 300);

  scenario.switch_in = one_of(2, 4, 4, 16, 64);
  scenario.deliver_in = one_of(1, 2, 4, 16);
  if (random.one_in(4)) scenario.slow_agent = random.below(8);

  // Half of the schedules have no fault of the bus and no rescan.
  scenario.rescan = random.one_in(2);
  if (scenario.rescan) {
    scenario.strays = random.one_in(4);
    scenario.faults.lose_doorbell = one_of(0, 0, 2, 4);
    scenario.faults.hold_doorbell = one_of(0, 0, 16);
    scenario.disturbance = static_cast<Disturbance>(one_of(0, 1, 2, 3));
  } else {
    scenario.disturbance = static_cast<Disturbance>(one_of(0, 0, 2, 3));
  }
  if (scenario.disturbance == Disturbance::stop) scenario.death = one_of(0, 2, 6);
  scenario.disturbance_step = random.below(one_of(40, 200, 800));
  scenario.staged = scenario.split && random.one_in(2);
  if (scenario.staged) ++scenario.threads;  // The stage keeps one.
  return scenario;
}

std::string text_of(const Scenario& scenario) {
  constexpr const char* disturbances[] = {"nothing", "cancel", "drain", "stop"};
  return fmt::format(
      "device: {} rows of {} lanes, {} waves, {} rings of {}, {} blocks, {} launches, up to {} "
      "calls"
      "{}{}\nserver: {} threads, {} top halves{}, window {}, calls last up to {}, one in {} "
      "dies{}\n"
      "chance: switch one in {}, deliver one in {}, slow agent {}, lose one in {}, hold {}; {} at "
      "{}",
      scenario.rows, scenario.lanes, scenario.waves, scenario.rings, scenario.ring_entries,
      scenario.blocks, scenario.launches, scenario.calls_max,
      !scenario.wave_wide     ? ""
      : scenario.side_by_side ? ", one wave-wide, side by side"
                              : ", one wave-wide",
      scenario.strays ? ", strays" : "", scenario.threads, scenario.top_halves,
      scenario.staged  ? ", staged"
      : scenario.split ? ", split"
                       : "",
      scenario.window, scenario.stall_max, scenario.death, scenario.rescan ? "" : ", no rescan",
      scenario.switch_in, scenario.deliver_in, scenario.slow_agent, scenario.faults.lose_doorbell,
      scenario.faults.hold_doorbell, disturbances[static_cast<std::size_t>(scenario.disturbance)],
      scenario.disturbance_step);
}

}  // namespace k2k::simulation
