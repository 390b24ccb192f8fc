#pragma once
// The parameters of one schedule: drawn from its seed, or set by a test.

#include <cstdint>
#include <string>

#include "tests/simulation/bus.hpp"

namespace k2k::simulation {

// A planted mistake, which the simulation must find: up to claim_ignores_state in planted.hpp, the
// others in the code that they change.
enum class Bug : std::uint8_t {
  none,
  nothing,                     // The device's calls as planted.hpp makes them, without a mistake.
  ready_before_arguments,      // The control word is stored before the data that it publishes.
  head_before_lanes,           // A doorbell is visible before the lanes that it names.
  unlock_before_free,          // The lock is released before the slot.
  claim_ignores_state,         // A lock is taken for a free slot.
  ready_without_release,       // The control word is stored last, but by a plain store.
  finished_without_release,    // As ready_without_release, for the answer.
  result_after_finished,       // The answer's state is stored before its result.
  accepted_twice,              // Two threads may accept from one row at a time.
  answer_after_end,            // An abandoned worker answers after the end.
  no_rescan,                   // No thread searches for requests without a doorbell.
  no_barrier_before_doorbell,  // A wave's one doorbell does not wait for all its lanes.
  stage_looks_before_it_rests  // The stage rests later than it looked for bundles.
};

enum class Disturbance : std::uint8_t { none, cancel, drain, stop };

struct Scenario {
  std::uint64_t seed = 0;

  // The device.
  std::uint32_t rows = 2;
  std::uint32_t lanes = 2;
  std::uint32_t waves = 2;  // Waves of work-items; the home of wave w is row w % rows.
  std::uint32_t rings = 1;
  std::uint32_t ring_entries = 4;
  std::uint32_t blocks = 1;
  std::uint32_t launches = 1;
  std::uint32_t calls_max = 2;  // Per work-item and launch.
  bool wave_wide = false;       // One call of each wave is made by all its lanes together.
  bool side_by_side = false;    // In this call each lane claims its own slot, as on a GPU.
  bool strays = false;          // Doorbells without a request: repeated, stale, scribbled.

  // The server.
  std::uint32_t threads = 3;
  std::uint32_t top_halves = 1;
  bool split = false;
  bool staged = false;       // With `split`: one thread pre-processes, others make the calls.
  std::uint32_t window = 0;  // The window of coalescing, in cycles.
  std::uint32_t stall_max = 0;
  std::uint32_t death = 0;  // One call in as many never ends; 0 = all end.
  bool rescan = true;

  // Chance and faults.
  std::uint32_t switch_in = 4;   // Another agent runs after one step in as many.
  std::uint32_t deliver_in = 4;  // The bus delivers a store at one step in as many.
  BusFaults faults;
  std::uint32_t slow_agent = 0xff;
  Disturbance disturbance = Disturbance::none;
  std::uint32_t disturbance_step = 0;

  Bug bug = Bug::none;
};

// The scenario of a seed.
Scenario draw(std::uint64_t seed);
std::string text_of(const Scenario& scenario);

struct Outcome {
  std::string violation;  // Empty if no promise was broken.
  std::uint64_t steps = 0;
  std::uint32_t calls = 0;
  std::uint32_t lost_doorbells = 0;
  std::uint32_t refused = 0;  // Calls that got a transport error.
};

Outcome simulate(const Scenario& scenario);

}  // namespace k2k::simulation
