// The hooks, and the rules that every store must obey.

#include "tests/simulation/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "tests/simulation/hooks.hpp"

namespace k2k::simulation {

namespace {

using protocol::Side;
using protocol::SlotState;

constexpr std::size_t slots_bytes = sizeof(Image::slots);

bool is_control(std::size_t offset) {
  return offset < slots_bytes &&
         offset % sizeof(protocol::Slot) == offsetof(protocol::Slot, control);
}

std::string name_of(std::size_t slot) {
  const std::uint32_t lanes = world().scenario.lanes;
  return fmt::format("row {} lane {}", slot / lanes, slot % lanes);
}

const char* name_of(SlotState state) {
  constexpr const char* names[] = {"free", "populating", "ready", "processing", "finished"};
  const auto index = static_cast<std::size_t>(state);
  return index < std::size(names) ? names[index] : "none there is";
}

const char* name_of(Side side) { return side == Side::device ? "device" : "host"; }

// The device may store to a slot if it holds the lock, the host in a state that the host owns.
void expect_owner(Side side, std::size_t slot, SlotState state) {
  World& all = world();
  if (owner_of(state) != side) {
    violated(fmt::format("{}: the {} stored to it in state {}", name_of(slot), name_of(side),
                         name_of(state)));
  }
  if (side == Side::host) return;
  const std::uint32_t agent = all.agents.running()->index;
  const bool locked =
      (all.device.locks[slot / all.scenario.lanes] >> slot % all.scenario.lanes & 1) != 0;
  if (agent == all.sweeper ? locked : (all.holders[slot] >> agent & 1) != 0) return;
  violated(fmt::format("{}: agent {} stored to it without holding its lock", name_of(slot), agent));
}

void on_plain_store(Side side, std::size_t offset, std::size_t) {
  if (offset >= slots_bytes) return;
  const std::size_t slot = offset / sizeof(protocol::Slot);
  expect_owner(side, slot, observe_raw(world().slot(side, static_cast<std::uint32_t>(slot))));
}

void raise_event() {
  World& all = world();
  if (all.steps < all.next_event) return;
  all.next_event = Agents::never;
  ++all.events;
}

// All agents sleep: delivers a store, or advances the clock to the first alarm.
bool nobody_runs() {
  World& all = world();
  const std::uint64_t alarm = std::min(all.agents.first_alarm(), all.next_event);
  if (!all.bus.idle() && (alarm == Agents::never || all.random.one_in(2))) {
    all.bus.deliver_any();
    return true;
  }
  if (alarm == Agents::never) {
    violated("all wait for each other");
    return false;
  }
  all.steps = std::max(all.steps, alarm);
  raise_event();
  return true;
}

void advance() {
  World& all = world();
  if (++all.steps > steps_max) violated("the schedule does not end");
  raise_event();
}

void tear_check() {
  const Store* const torn = world().bus.torn();
  if (torn == nullptr) return;
  violated(fmt::format("both sides stored to byte {} of {}", torn->offset % sizeof(protocol::Slot),
                       name_of(torn->offset / sizeof(protocol::Slot))));
}

}  // namespace

World the_world;

SlotState observe_raw(const protocol::Slot& slot) {
  return protocol::unpack_control(slot.control).state;
}

std::string scene() {
  const World& all = world();
  std::string text =
      fmt::format("{} work-items live, closed {}\n", all.live_items, *all.host_area.closed);
  for (std::uint32_t slot = 0; slot < all.scenario.rows * all.scenario.lanes; ++slot) {
    const auto state = [&](const protocol::AreaView& area) {
      return name_of(observe_raw(area.slots[slot]));
    };
    text +=
        fmt::format("{}: device {} host {} lock {}\n", name_of(slot), state(all.device_area),
                    state(all.host_area),
                    all.device.locks[slot / all.scenario.lanes] >> slot % all.scenario.lanes & 1);
  }
  for (std::uint32_t ring = 0; ring < all.scenario.rings; ++ring) {
    text += fmt::format("ring {}: tail {} consumed {} of {}, heads", ring, all.device.tail[ring],
                        *all.host_area.rings[ring].consumed, all.scenario.ring_entries);
    for (std::uint32_t entry = 0; entry < all.scenario.ring_entries; ++entry) {
      text += fmt::format(" {:#x}", all.host_area.rings[ring].entries[entry].head);
    }
    text += "\n";
  }
  return text;
}

void capture_plain_stores() {
  World& all = world();
  const Agent* const self = all.agents.running();
  all.bus.capture(self->side, self->index, &on_plain_store);
}

void violated(const std::string& what) {
  World& all = world();
  if (all.violation.empty()) all.violation = fmt::format("{} (step {})", what, all.steps);
  if (all.agents.running() != nullptr) all.agents.stop();
}

void nap(std::uint32_t steps, const std::uint32_t& word) {
  World& all = world();
  advance();
  all.bus.deliver_any();
  tear_check();
  all.agents.sleep(&word, word, &word, word, all.steps + steps);
}

void nap(std::uint32_t steps) {
  static const std::uint32_t nothing = 0;
  nap(steps, nothing);
}

void World::begin(const Scenario& what) {
  scenario = what;
  random = Random(what.seed ^ 0x5eed);
  agents.begin(random, steps, what.slow_agent, &capture_plain_stores, &nobody_runs);
  bus.begin(random, what.faults, what.rows * what.lanes, what.ring_entries);
  device = {};
  requests.begin();
  steps = 0;
  next_event = Agents::never;
  events = 0;
  std::memset(holders, 0, sizeof(holders));
  sweeper = Agents::agents_max;
  live_items = 0;
  std::memset(resumed, 0, sizeof(resumed));
  std::memset(halted, 0, sizeof(halted));
  cancelled = launches_done = false;
  unredeemed = 0;
  violation.clear();

  const auto view = [&](Side side) {
    Image& image = bus.image(side);
    protocol::AreaView area;
    area.slots = image.slots;
    area.locks = device.locks;
    area.wave_count = what.rows;
    area.wave_lanes = what.lanes;
    area.ring_count = what.rings;
    for (std::uint32_t ring = 0; ring < what.rings; ++ring) {
      area.rings[ring] = {image.entries[ring], &image.consumed[ring], &device.tail[ring],
                          &device.consumed_seen[ring], what.ring_entries};
    }
    area.lent = device.lent;
    area.arena_blocks = what.blocks;
    area.tickets = device.tickets;
    area.closed = reinterpret_cast<std::uint32_t*>(&image.closed);
    return area;
  };
  device_area = view(Side::device);
  host_area = view(Side::host);
}

// --- The hooks.

void step() {
  World& all = world();
  if (all.agents.running() == nullptr) return;  // The caller is the test.
  advance();
  if (all.random.one_in(all.scenario.deliver_in)) {
    all.bus.deliver_any();
    tear_check();
  }
  if (all.random.one_in(all.scenario.switch_in)) all.agents.pass();
}

namespace {

void store(void* word, std::uint64_t value, std::size_t bytes, bool as_plain) {
  World& all = world();
  const Agent* const self = all.agents.running();
  if (self == nullptr || !all.bus.contains(word)) {
    violated("a release store to a word that is not shared");
    return;
  }
  capture_plain_stores();
  const std::size_t offset = all.bus.offset_of(self->side, word);
  if (offset >= sizeof(Image)) {
    violated(fmt::format("the {} stored into the other side's image", name_of(self->side)));
  }
  if (is_control(offset)) {
    const std::size_t slot = offset / sizeof(protocol::Slot);
    const SlotState from = observe_raw(all.slot(self->side, static_cast<std::uint32_t>(slot)));
    const SlotState to = protocol::unpack_control(static_cast<std::uint32_t>(value)).state;
    if (!protocol::may_move(from, to, self->side)) {
      violated(fmt::format("{}: the {} moved it from state {} to {}", name_of(slot),
                           name_of(self->side), name_of(from), name_of(to)));
    }
    expect_owner(self->side, slot, from);
    as_plain = as_plain ||
               (all.scenario.bug == Bug::ready_without_release && to == SlotState::ready) ||
               (all.scenario.bug == Bug::finished_without_release && to == SlotState::finished);
  } else if (offset < slots_bytes) {
    const std::size_t slot = offset / sizeof(protocol::Slot);
    expect_owner(self->side, slot,
                 observe_raw(all.slot(self->side, static_cast<std::uint32_t>(slot))));
  }
  all.bus.release(self->side, self->index, offset, bytes, value, as_plain);
}

}  // namespace

void release(void* word, std::uint64_t value, std::size_t bytes) {
  store(word, value, bytes, false);
}

void release_to_own_side(void* word, std::uint64_t value, std::size_t bytes) {
  store(word, value, bytes, true);
}

bool is_shared(const void* word) { return world().bus.contains(word); }

void device_word_changed(const void* word, std::uint64_t before, std::uint64_t after) {
  World& all = world();
  const auto* const lock = static_cast<const std::uint64_t*>(word);
  if (lock < all.device.locks || lock >= all.device.locks + rows_max) return;
  const auto row = static_cast<std::uint32_t>(lock - all.device.locks);
  const std::uint32_t self = all.agents.running()->index;
  const std::uint64_t taken = after & ~before;
  const std::uint64_t given = before & ~after;
  for (std::uint32_t lane = 0; lane < all.scenario.lanes; ++lane) {
    std::uint32_t& holders = all.holders[row * all.scenario.lanes + lane];
    if ((taken >> lane & 1) != 0) holders = all.claims_for(self, taken);
    if ((given >> lane & 1) == 0) continue;
    if (self != all.sweeper && (holders >> self & 1) == 0) {
      violated(
          fmt::format("row {} lane {}: agent {} gave up a lock it did not hold", row, lane, self));
    }
    holders = 0;
  }
}

std::uint64_t clock() { return world().steps; }

}  // namespace k2k::simulation
