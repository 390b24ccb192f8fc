// One schedule from its seed to its verdict.

#include <fmt/format.h>

#include "tests/simulation/device.hpp"
#include "tests/simulation/scenario.hpp"
#include "tests/simulation/server.hpp"
#include "tests/simulation/world.hpp"

namespace k2k::simulation {

namespace {

World& all = world();

void wait_for_event(std::uint32_t seen) {
  while (all.events == seen) all.agents.sleep(&all.events, seen, &all.events, seen);
}

// All calls are answered and the launches are over: nothing may be left behind.
void expect_at_rest() {
  all.bus.flush(protocol::Side::device);
  all.bus.flush(protocol::Side::host);
  for (std::uint32_t slot = 0; slot < all.scenario.rows * all.scenario.lanes; ++slot) {
    for (const protocol::Side side : {protocol::Side::device, protocol::Side::host}) {
      const protocol::SlotState state = observe_raw(all.slot(side, slot));
      if (state == protocol::SlotState::free) continue;
      violated(fmt::format("row {} lane {} is left in state {}", slot / all.scenario.lanes,
                           slot % all.scenario.lanes, static_cast<int>(state)));
    }
  }
  for (std::uint32_t block = 0; block < all.scenario.blocks; ++block) {
    promise(all.device.lent[block] != protocol::block_owned, "a block is left owned");
  }
  all.requests.expect_settled(false);
}

void control() {
  const Scenario& scenario = all.scenario;
  if (scenario.disturbance != Disturbance::none) {
    all.next_event = all.steps + 1 + scenario.disturbance_step;
    if (!all.launches_done) wait_for_event(all.events);
    if (scenario.disturbance == Disturbance::cancel && !all.launches_done) {
      all.cancelled = true;
      all.agents.wake();
    }
    if (scenario.disturbance == Disturbance::drain) drain();
    if (scenario.disturbance == Disturbance::stop) stop();
  }
  while (!all.launches_done) wait_for_event(all.events);
  if (!stopped()) {
    drain();
    expect_at_rest();
    stop();
  }
}

}  // namespace

Outcome simulate(const Scenario& scenario) {
  all.begin(scenario);
  start_server();
  all.agents.add(protocol::Side::host, &control);
  all.agents.add(protocol::Side::device, &launcher);
  if (scenario.strays) all.agents.add(protocol::Side::device, &stray_ringer);
  all.agents.run();
  if (all.violation.empty() && !all.launches_done) violated("the launch did not end");
  if (all.violation.empty()) all.requests.expect_settled(true);
  if (!all.violation.empty()) all.violation += "\n" + scene();
  forget_server();

  Outcome outcome;
  outcome.violation = all.violation;
  outcome.steps = all.steps;
  outcome.calls = all.requests.size();
  outcome.lost_doorbells = all.bus.lost_doorbells();
  for (const Requests::Entry& entry : all.requests.entries()) outcome.refused += entry.cut_off;
  return outcome;
}

}  // namespace k2k::simulation
