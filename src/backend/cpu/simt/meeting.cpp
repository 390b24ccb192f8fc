// Where work-items of one group or one wave meet: barrier, ballot, shuffle, gather.
//
// Members of a group live on one unit, so a meeting is a count: who comes last opens it and goes
// on, the others become ready. Only live members count; one that ends is counted out, so a
// work-item that returns early never holds up the rest.
//
// Threading: the unit's thread, on the fibre of the caller or on the scheduler's stack. The edges
// are what ThreadSanitizer learns of it (sanitizers.hpp); between work-items of one thread the
// program order of the thread does the rest.

#include "backend/cpu/simt/running.hpp"
#include "backend/cpu/simt/unit.hpp"
#include "base/bits.hpp"

namespace k2k::backend::cpu {

namespace {
// WorkItem::answer at a gathering.
constexpr std::uint64_t follows = 0;
constexpr std::uint64_t leads = 1;
}  // namespace

void Unit::hook_barrier(WorkItem& me) noexcept {
  Group& group = *me.group;
  EdgeToken& edge = group.edges[group.barriers & 1];
  release_edge(edge);
  ++group.arrived;
  if (group.arrived == group.live && !stopped()) {
    open_barrier(group);
  } else {
    me.state = ItemState::at_barrier;
    to_scheduler(me);
  }
  acquire_edge(edge);
}

void Unit::open_barrier(Group& group) {
  group.arrived = 0;
  ++group.barriers;
  for (std::uint32_t rank = 0; rank < group.items; ++rank) {
    WorkItem& item = group.first[rank];
    if (item.state == ItemState::at_barrier) make_ready(item);
  }
}

std::uint64_t Unit::hook_ballot(WorkItem& me, bool predicate) noexcept {
  if (predicate) me.wave->predicates |= std::uint64_t{1} << me.visible.lane;
  return meet(me, Meeting::ballot);
}

std::uint64_t Unit::hook_shuffle(WorkItem& me, std::uint64_t value, std::uint32_t lane) noexcept {
  me.wave->values[me.visible.lane] = value;
  me.wave->lanes_asked[me.visible.lane] = lane;
  return meet(me, Meeting::shuffle);
}

// One lane leads: it works for all, on what each brought. Nobody can end meanwhile, so it may
// yield.
void Unit::hook_gather(WorkItem& me, void* brought, device::platform::Lead lead,
                       bool polls) noexcept {
  Wave& wave = *me.wave;
  join(wave, Meeting::gather);
  wave.values[me.visible.lane] = reinterpret_cast<std::uint64_t>(brought);
  EdgeToken& edge = wave.edges[wave.meetings & 1];
  release_edge(edge);
  wave.arrived |= std::uint64_t{1} << me.visible.lane;
  me.answer = wave.arrived == wave.live && !stopped() ? leads : follows;
  if (me.answer == follows) {
    me.state = ItemState::at_ballot;
    to_scheduler(me);
  }
  acquire_edge(edge);
  if (me.answer == follows) return;
  const protocol::Slot* const row = lead(me.visible, wave.values, wave.arrived);
  release_edge(edge);
  dismiss(wave, me, polls ? row : nullptr);
}

// The others go on, or first wait for the answers to what the leader published for them.
void Unit::dismiss(Wave& wave, const WorkItem& leader, const protocol::Slot* row) {
  for (std::uint64_t left = wave.arrived; left != 0; left &= left - 1) {
    const std::uint32_t lane = lowest_bit(left);
    WorkItem& item = wave.first[lane];
    if (&item == &leader) continue;
    if (row == nullptr) {
      make_ready(item);
    } else {
      poll(item, row[lane]);
    }
  }
  end_meeting(wave);
}

void Unit::join(Wave& wave, Meeting kind) {
  if (wave.meeting == Meeting::none) wave.meeting = kind;
  if (wave.meeting != kind) {
    device::platform::trap(
        "lanes of one wave meet at different calls (ballot(), shuffle() or a wave-wide system "
        "call); every live lane of a wave must make the same call");
  }
}

std::uint64_t Unit::meet(WorkItem& me, Meeting kind) {
  Wave& wave = *me.wave;
  join(wave, kind);
  EdgeToken& edge = wave.edges[wave.meetings & 1];
  release_edge(edge);
  wave.arrived |= std::uint64_t{1} << me.visible.lane;
  if (wave.arrived == wave.live && !stopped()) {
    close_meeting(wave);
  } else {
    me.state = ItemState::at_ballot;
    to_scheduler(me);
  }
  acquire_edge(edge);
  return me.answer;
}

// Answers are given now: the first lane to go on may already bring its value for the next meeting.
void Unit::close_meeting(Wave& wave) {
  if (wave.meeting == Meeting::gather) {  // The one it waited for has ended: another leads.
    WorkItem& leader = wave.first[lowest_bit(wave.arrived)];
    leader.answer = leads;
    return make_ready(leader);
  }
  for (std::uint64_t left = wave.arrived; left != 0; left &= left - 1) {
    const std::uint32_t lane = lowest_bit(left);
    WorkItem& item = wave.first[lane];
    if (wave.meeting == Meeting::ballot) {
      item.answer = wave.predicates;
    } else {
      const std::uint32_t asked = wave.lanes_asked[lane];
      const bool member = asked < 64 && (wave.arrived >> asked & 1) != 0;
      item.answer = member ? wave.values[asked] : 0;
    }
    if (item.state == ItemState::at_ballot) make_ready(item);
  }
  end_meeting(wave);
}

void Unit::end_meeting(Wave& wave) {
  wave.arrived = wave.predicates = 0;
  wave.meeting = Meeting::none;
  ++wave.meetings;
}

// A work-item that ended no longer counts; perhaps the others waited for it alone.
void Unit::leave_meetings(const WorkItem& item) {
  Group& group = *item.group;
  Wave& wave = *item.wave;
  --group.live;
  wave.live &= ~(std::uint64_t{1} << item.visible.lane);
  if (stopped()) return;
  if (wave.arrived != 0 && wave.arrived == wave.live) close_meeting(wave);
  if (group.arrived != 0 && group.arrived == group.live) open_barrier(group);
}

}  // namespace k2k::backend::cpu
