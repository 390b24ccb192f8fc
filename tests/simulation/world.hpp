#pragma once
// The state of one schedule. A single instance is reset for each schedule.
//
// Threading: confined to one thread.

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/area.hpp"
#include "tests/simulation/agents.hpp"
#include "tests/simulation/bus.hpp"
#include "tests/simulation/random.hpp"
#include "tests/simulation/requests.hpp"
#include "tests/simulation/scenario.hpp"

namespace k2k::simulation {

inline constexpr std::uint32_t rows_max = 4;
// A schedule with more steps has hung. The longest of a million schedules took a tenth of this.
inline constexpr std::uint64_t steps_max = 60'000;

// Device memory: no bus in between.
struct DeviceWords {
  std::uint64_t locks[rows_max];
  std::uint64_t tail[rings_max];
  std::uint64_t consumed_seen[rings_max];
  std::uint64_t lent[blocks_max];
  std::uint64_t tickets[protocol::ticket_words];
};

struct World {
  Scenario scenario;
  Random random;
  Agents agents;
  Bus bus;
  DeviceWords device;
  protocol::AreaView device_area;  // The area as each side sees it.
  protocol::AreaView host_area;
  Requests requests;

  std::uint64_t steps = 0;
  std::uint64_t next_event = Agents::never;  // Step at which the disturbance is due.
  std::uint32_t events = 0;                  // Counts events for the waiting controller.
  std::uint32_t holders[slots_max];          // One bit per agent that may store to the slot.
  std::uint32_t sweeper = Agents::agents_max;

  // The device.
  std::uint32_t wave_of[Agents::agents_max];  // One bit per agent of the same wave.
  std::uint32_t live_items = 0;
  std::uint32_t resumed[rows_max];  // Times the server resumed the row.
  std::uint32_t halted[rows_max];   // Lanes that wait for resume(), or are about to.
  bool cancelled = false;
  bool launches_done = false;
  std::uint32_t unredeemed = 0;

  std::string violation;

  void begin(const Scenario& what);
  // The agents that may use the slots that `agent` locks at once: its wave's if they are several.
  [[nodiscard]] std::uint32_t claims_for(std::uint32_t agent, std::uint64_t lanes) const {
    return (lanes & (lanes - 1)) == 0 ? std::uint32_t{1} << agent : wave_of[agent];
  }
  [[nodiscard]] protocol::Slot& slot(protocol::Side side, std::uint32_t index) {
    return bus.image(side).slots[index];
  }
};

extern World the_world;
inline World& world() { return the_world; }

// The state of all agents and slots, for the text of a violation.
std::string scene();

// The state a side's image shows, without giving others a turn.
protocol::SlotState observe_raw(const protocol::Slot& slot);

// Notes the first broken promise, and ends the schedule if an agent found it.
void violated(const std::string& what);
inline void promise(bool kept, const char* what) {
  if (!kept) violated(what);
}

// Puts the running agent's plain stores so far in flight.
void capture_plain_stores();

// Lets other agents run for `steps` steps, or until `word` changes.
void nap(std::uint32_t steps);
void nap(std::uint32_t steps, const std::uint32_t& word);

}  // namespace k2k::simulation
