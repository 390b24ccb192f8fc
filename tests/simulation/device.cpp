#include "tests/simulation/device.hpp"

#include <array>
#include <bit>

#include "backend/sweep.hpp"
#include "calls/rows.hpp"
#include "device/invoke.hpp"
#include "tests/simulation/hooks.hpp"
#include "tests/simulation/planted.hpp"
#include "tests/simulation/world.hpp"

namespace k2k::simulation {

namespace {

using device::platform::Item;

constexpr std::uint32_t waves_max = 4;
constexpr std::uint32_t nobody = Agents::agents_max;
constexpr std::uint16_t any_number = device::Ticket<0xfffe>::raw_number;

constexpr std::uint16_t unknown_number = 500;

struct WaveMeeting {
  std::uint32_t members = 0;  // Lanes that have not ended.
  std::uint32_t arrived = 0;
  std::uint32_t leader = nobody;  // Works for all lanes during a round.
  std::uint32_t rounds = 0;
  std::uint64_t votes = 0;
  std::uint64_t result = 0;
  std::array<std::uint64_t, slots_max> values{};
  std::array<std::uint64_t, slots_max> shown{};
};

std::array<Item, Agents::agents_max> items;
std::array<std::uint32_t, Agents::agents_max> wave_index;
std::array<std::uint32_t, Agents::agents_max> outstanding;  // The current request; 0: none.
std::array<WaveMeeting, waves_max> meetings;
std::array<std::uint32_t, blocks_max> borrowers;  // The request that borrows the block; 0: none.

World& all = world();

std::uint32_t self() { return all.agents.running()->index; }

void end_item() {
  WaveMeeting& meeting = meetings[wave_index[self()]];
  if (meeting.leader == self()) meeting.leader = nobody;
  --meeting.members;
  --all.live_items;
}

// A point at which a real work-item can be abandoned.
void end_if_cancelled() {
  if (!all.cancelled) return;
  if (outstanding[self()] != 0) all.requests.abandon(outstanding[self()]);
  end_item();
  all.agents.leave();
}

void know_together() {
  if (all.scenario.bug == Bug::no_barrier_before_doorbell) return;
  capture_plain_stores();
  all.bus.meet(protocol::Side::device, all.wave_of[self()]);
}

void arrive(std::uint64_t value, bool vote) {
  end_if_cancelled();
  const std::uint32_t lane = items[self()].lane;
  WaveMeeting& meeting = meetings[wave_index[self()]];
  const std::uint32_t round = meeting.rounds;
  meeting.values[lane] = value;
  if (vote) meeting.votes |= std::uint64_t{1} << lane;
  ++meeting.arrived;
  while (meeting.rounds == round) {
    if (meeting.arrived == meeting.members) {
      know_together();
      meeting.result = meeting.votes;
      meeting.shown = meeting.values;
      meeting.arrived = 0;
      meeting.votes = 0;
      ++meeting.rounds;
      return;
    }
    all.agents.sleep(&meeting.rounds, round, &meeting.members, meeting.members);
    end_if_cancelled();
  }
}

void gather(std::uint64_t brought, device::platform::Lead lead) {
  end_if_cancelled();
  const Item& me = items[self()];
  WaveMeeting& meeting = meetings[wave_index[self()]];
  const std::uint32_t round = meeting.rounds;
  meeting.values[me.lane] = brought;
  ++meeting.arrived;
  while (meeting.rounds == round) {
    if (meeting.arrived == meeting.members && meeting.leader == nobody) {
      know_together();
      meeting.leader = self();
      lead(me, meeting.values.data(), (std::uint64_t{1} << me.wave_lanes) - 1);
      meeting.leader = nobody;
      know_together();
      meeting.arrived = 0;
      ++meeting.rounds;
      return;
    }
    all.agents.sleep(&meeting.rounds, round, &meeting.members, meeting.members);
    if (meeting.leader == nobody) end_if_cancelled();  // A leader writes to this stack.
  }
}

bool permitted_cut() { return (all.bus.image(protocol::Side::host).closed & 1) != 0; }

// --- The actions of a work-item.

enum class Kind : std::uint8_t { blocking, halting, async, detached, lent, count };

std::uint16_t draw_number() {
  // lseek never blocks, pread and fsync rarely do, sendto and nanosleep wait; 500 is unknown. Each
  // has a first argument: it names the request.
  constexpr std::uint16_t numbers[] = {8, 8, 17, 74, 44, 35, unknown_number};
  return numbers[all.random.below(std::size(numbers))];
}

template <class Chosen>
auto call(std::uint32_t id, std::uint16_t number) {
  return device::perform<any_number, WorkItem, Chosen>(number, Requests::words_of(id));
}

std::uint32_t issue(std::uint16_t number, std::uint8_t flags) {
  // The server need not apply the policy to calls that have a row, so only other calls are refused
  // here.
  const bool refused = number == unknown_number && all.random.one_in(4);
  const std::uint32_t id = all.requests.issue(number, flags, refused);
  outstanding[self()] = id;
  return id;
}

void settle(std::uint32_t id, const Reply& reply) {
  all.requests.take(id, reply, permitted_cut());
  outstanding[self()] = 0;
}

void settle_detached(std::uint32_t id, const Reply& published) {
  if (published.transport() != protocol::TransportError::none) all.requests.abandon(id);
  outstanding[self()] = 0;
}

void call_planted() {
  const std::uint16_t number = draw_number();
  const bool detached = all.random.one_in(2);
  const std::uint32_t id = issue(number, detached ? protocol::flag::detached : std::uint8_t{0});
  const Reply reply = planted::call(all.scenario.bug, number, detached, Requests::words_of(id));
  if (detached) {
    settle_detached(id, reply);
  } else {
    settle(id, reply);
  }
}

// A detached call with its data in an arena block.
void call_with_lent_block() {
  const protocol::AreaView& area = all.device_area;
  std::uint32_t block = 0;
  while ((block = protocol::try_take_block(area, items[self()].wave)) == area.arena_blocks) {
    if (device::closed(area)) return;
    device::platform::yield();
  }
  const std::uint32_t lender = borrowers[block];
  if (lender != 0 && !permitted_cut()) {
    const Requests::Entry& last = all.requests.entries()[lender - 1];
    promise(last.executed != 0 || last.refused_by_policy || last.cut_off,
            "a block was taken from a detached call that still needs it");
  }
  borrowers[block] = 0;
  const std::uint16_t number = draw_number();
  const std::uint32_t id = issue(number, protocol::flag::detached);
  const device::Handle handle = device::submit<WorkItem, std::remove_const_t<decltype(detached)>>(
      number, Requests::words_of(id));
  borrowers[block] = handle.live() ? id : 0;
  protocol::give_block(
      area, block,
      handle.live() ? protocol::lent_to(handle.place, handle.generation) : protocol::block_free);
  settle_detached(id, handle.live() ? Reply(0) : device::shut_down());
}

void call_async(bool redeem) {
  const std::uint16_t number = draw_number();
  const std::uint32_t id = issue(number, protocol::flag::async);
  auto ticket = call<std::remove_const_t<decltype(async)>>(id, number);
  for (std::uint32_t wait = all.random.below(4); wait != 0; --wait) device::platform::yield();
  if (!redeem && ticket.held()) {
    all.requests.abandon(id);
    outstanding[self()] = 0;
    ++all.unredeemed;
    return;
  }
  auto copy = ticket;
  settle(id, ticket.redeem());
  if (copy.held() && all.random.one_in(4)) {
    promise(copy.redeem().value() == -error::invalid || permitted_cut(),
            "a copy of a redeemed ticket was redeemed");
  }
}

void call_one(bool last) {
  if (all.scenario.bug != Bug::none && all.scenario.bug <= Bug::claim_ignores_state) {
    call_planted();
    return;
  }
  const auto kind = static_cast<Kind>(all.random.below(static_cast<std::uint32_t>(Kind::count)));
  const std::uint16_t number = draw_number();
  switch (kind) {
    case Kind::blocking: {
      const std::uint32_t id =
          issue(number, all.random.one_in(2) ? protocol::flag::urgent : std::uint8_t{0});
      const bool is_urgent = (all.requests.entries()[id - 1].flags & protocol::flag::urgent) != 0;
      settle(id, is_urgent ? call<std::remove_const_t<decltype(urgent)>>(id, number)
                           : call<device::Options<>>(id, number));
      break;
    }
    case Kind::halting: {
      const std::uint32_t id = issue(number, protocol::flag::halted);
      settle(id, call<std::remove_const_t<decltype(halting)>>(id, number));
      break;
    }
    case Kind::async:
      call_async(!last || !all.random.one_in(8));
      break;
    case Kind::detached: {
      const std::uint32_t id = issue(number, protocol::flag::detached);
      settle_detached(id, call<std::remove_const_t<decltype(detached)>>(id, number));
      break;
    }
    case Kind::lent:
    case Kind::count:
      call_with_lent_block();
      break;
  }
}

void call_wave_wide() {
  const std::uint16_t number = draw_number();
  const std::uint32_t id = issue(number, 0);
  using Chosen = std::remove_const_t<decltype(wave_wide)>;
  // The way of a GPU, and the way of the cpu backend.
  const device::Handle handle =
      all.scenario.side_by_side
          ? device::submit<WorkItem, Chosen, true>(number, Requests::words_of(id))
          : device::submit<WorkItem, Chosen, false>(number, Requests::words_of(id));
  settle(id, device::finish(all.device_area, handle, device::platform::Wait::polling));
}

void work_item() {
  if (all.scenario.wave_wide) call_wave_wide();
  const std::uint32_t calls = 1 + all.random.below(all.scenario.calls_max);
  for (std::uint32_t call = 0; call < calls; ++call) call_one(call + 1 == calls);
  end_item();
}

void start_items() {
  const Scenario& scenario = all.scenario;
  for (std::uint32_t wave = 0; wave < scenario.waves; ++wave) {
    std::uint32_t members = 0;
    for (std::uint32_t lane = 0; lane < scenario.lanes; ++lane) {
      const Agent& agent = all.agents.add(protocol::Side::device, &work_item);
      Item& item = items[agent.index];
      item = {};
      item.wave = wave % scenario.rows;
      item.lane = lane;
      item.wave_lanes = scenario.lanes;
      item.area = &all.device_area;
      wave_index[agent.index] = wave;
      outstanding[agent.index] = 0;
      members |= std::uint32_t{1} << agent.index;
    }
    for (std::uint32_t agents = members; agents != 0; agents &= agents - 1) {
      all.wave_of[std::countr_zero(agents)] = members;
    }
    meetings[wave] = {};
    meetings[wave].members = scenario.lanes;
  }
  all.live_items = scenario.waves * scenario.lanes;
}

}  // namespace

void launcher() {
  borrowers.fill(0);
  for (std::uint32_t launch = 0; launch < all.scenario.launches; ++launch) {
    all.unredeemed = 0;
    start_items();
    while (all.live_items != 0) {
      const std::uint32_t live = all.live_items;
      all.agents.sleep(&all.live_items, live, &all.live_items, live);
    }
    all.sweeper = self();
    const std::uint32_t unredeemed = backend::sweep(all.device_area);
    all.sweeper = Agents::agents_max;
    promise(all.cancelled || permitted_cut() || unredeemed == all.unredeemed,
            "the sweep counted other tickets than were left");
    for (std::uint32_t row = 0; row < all.scenario.rows; ++row) {
      promise(all.device.locks[row] == 0, "a lock was left behind by a launch");
    }
    all.cancelled = false;
    all.bus.flush(protocol::Side::device);  // The end of a launch is seen by the host.
  }
  all.launches_done = true;
  ++all.events;
}

void stray_ringer() {
  const protocol::AreaView& area = all.device_area;
  for (std::uint32_t count = 1 + all.random.below(4); count != 0; --count) {
    const std::uint32_t row = all.random.below(area.wave_count);
    const protocol::DoorbellRing& ring = area.ring_of(row);
    std::uint64_t ticket = protocol::take_ticket(ring);
    while (!protocol::may_ring(ring, ticket)) {
      if (device::closed(area)) return;
      if (protocol::passed_over(ring, ticket)) ticket = protocol::take_ticket(ring);
      nap(4);
    }
    const std::uint32_t named =
        all.random.one_in(4) ? static_cast<std::uint32_t>(all.random.next()) : row;
    protocol::ring(ring, ticket, named, all.random.next());
  }
}

}  // namespace k2k::simulation

// --- The platform functions of device code.

namespace k2k::device::platform {

using simulation::all;
using simulation::items;

const Item& current() noexcept { return items[simulation::self()]; }
void barrier() noexcept { simulation::arrive(0, false); }

std::uint64_t ballot(bool predicate) noexcept {
  simulation::arrive(0, predicate);
  return simulation::meetings[simulation::wave_index[simulation::self()]].result;
}

std::uint64_t shuffle(std::uint64_t value, std::uint32_t lane) noexcept {
  simulation::arrive(value, false);
  return simulation::meetings[simulation::wave_index[simulation::self()]].shown[lane];
}

void gather(void* brought, Lead lead, bool) noexcept {
  simulation::gather(reinterpret_cast<std::uint64_t>(brought), lead);
}

void yield() noexcept {
  simulation::end_if_cancelled();
  simulation::nap(1 + all.random.below(8));
  simulation::end_if_cancelled();
}

// Returns as specified in device/platform/cpu.hpp. A lane that halts for a slot in another row
// polls it here: the backend counts such lanes separately.
void wait(const protocol::Slot& slot, Wait how) noexcept {
  const protocol::AreaView& area = all.device_area;
  const std::uint32_t row = current().wave;
  const bool at_home = &slot >= &area.slot(row, 0) && &slot <= &area.slot(row, area.wave_lanes - 1);
  const bool halts = how == Wait::halted && at_home;
  if (halts) {
    ++all.halted[row];
    all.bus.flush(protocol::Side::host);  // The lane sees the answer now, or resume() wakes it.
  }
  while (true) {
    simulation::end_if_cancelled();
    const std::uint32_t resumed = all.resumed[row];
    if (observe(slot).state == protocol::SlotState::finished || *area.closed != 0) break;
    if (halts) {
      all.agents.sleep(&all.resumed[row], resumed, area.closed, 0);
    } else if (simulation::observe_raw(slot) != protocol::SlotState::finished) {
      all.agents.sleep(&slot.control, slot.control, area.closed, 0);
    }
  }
  if (halts) --all.halted[row];
}

void interrupt() noexcept {}
void* local_memory(const void*, std::size_t, std::size_t) noexcept { return nullptr; }
bool host_visible(const void*, std::size_t) noexcept { return true; }
bool is_registered(const void*) noexcept { return false; }
std::uint32_t stamp() noexcept { return 1; }
CallTiming begin_call(std::uint16_t) noexcept { return {1, 0}; }
void note_times(std::uint32_t, std::uint32_t, std::uint64_t, std::uint32_t) noexcept {}
void trap(const char* message) noexcept {
  simulation::violated(message);
  std::abort();
}

}  // namespace k2k::device::platform
