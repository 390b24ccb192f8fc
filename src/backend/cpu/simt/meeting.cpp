// Where work-items of one group or one wave meet: barrier, ballot, shuffle, gather.
//
// Members of a group live on one unit, so a meeting is a count: the last member opens it and goes
// on, the others become ready. Only live members count; a member that ends is counted out, so a
// work-item that returns early never delays the rest.
//
// Threading: the unit's thread, on the fibre of the caller or on the scheduler's stack. The edges
// are for ThreadSanitizer (sanitizers.hpp); between work-items of one thread the
// program order of the thread does the rest.

#include "backend/cpu/simt/group.hpp"
#include "backend/cpu/simt/turns.hpp"
#include "backend/cpu/simt/waiters.hpp"
#include "base/bits.hpp"

namespace k2k::backend::cpu {

namespace {
// WorkItem::answer at a gathering.
constexpr std::uint64_t follows = 0;
constexpr std::uint64_t leads = 1;
}  // namespace

// --- Of a group.

void Group::barrier(Turns& turns, WorkItem& me) noexcept {
  EdgeToken& edge = edges[barriers & 1];
  release_edge(edge);
  ++arrived;
  if (arrived == live && !turns.stopped()) {
    open_barrier(turns);
  } else {
    me.state = ItemState::at_barrier;
    turns.suspend(me);
  }
  acquire_edge(edge);
}

void Group::open_barrier(Turns& turns) {
  arrived = 0;
  ++barriers;
  for (std::uint32_t rank = 0; rank < items; ++rank) {
    WorkItem& item = first[rank];
    if (item.state == ItemState::at_barrier) turns.make_ready(item);
  }
}

// The work-item that was waited for has ended.
void Group::open_without(Turns& turns) {
  if (!turns.stopped()) open_barrier(turns);
}

// --- Of a wave.

std::uint64_t Wave::ballot(Turns& turns, WorkItem& me, bool predicate) noexcept {
  if (predicate) predicates |= std::uint64_t{1} << me.visible.lane;
  return meet(turns, me, Meeting::ballot);
}

std::uint64_t Wave::shuffle(Turns& turns, WorkItem& me, std::uint64_t value,
                            std::uint32_t lane) noexcept {
  values[me.visible.lane] = value;
  lanes_wanted[me.visible.lane] = lane;
  return meet(turns, me, Meeting::shuffle);
}

// One lane leads: it works for all, on the value of each. No lane can end meanwhile, so it may
// yield.
void Wave::gather(Turns& turns, Waiters& waiters, WorkItem& me, void* brought,
                  device::platform::Lead lead, bool polls) noexcept {
  join(Meeting::gather);
  values[me.visible.lane] = reinterpret_cast<std::uint64_t>(brought);
  EdgeToken& edge = edges[meetings & 1];
  release_edge(edge);
  arrived |= std::uint64_t{1} << me.visible.lane;
  me.answer = arrived == live && !turns.stopped() ? leads : follows;
  if (me.answer == follows) {
    me.state = ItemState::at_ballot;
    turns.suspend(me);
  }
  acquire_edge(edge);
  if (me.answer == follows) return;
  const protocol::Slot* const row = lead(me.visible, values, arrived);
  release_edge(edge);
  dismiss(turns, waiters, me, polls ? row : nullptr);
}

// The others go on, or first wait for the answers to the requests that the leader published.
void Wave::dismiss(Turns& turns, Waiters& waiters, const WorkItem& leader,
                   const protocol::Slot* row) {
  for (std::uint64_t left = arrived; left != 0; left &= left - 1) {
    const std::uint32_t lane = lowest_bit(left);
    WorkItem& item = first[lane];
    if (&item == &leader) continue;
    if (row == nullptr) {
      turns.make_ready(item);
    } else {
      waiters.poll(item, row[lane]);
    }
  }
  end_meeting();
}

void Wave::join(Meeting kind) {
  if (meeting == Meeting::none) meeting = kind;
  if (meeting != kind) {
    device::platform::trap(
        "lanes of one wave meet at different calls (ballot(), shuffle() or a wave-wide system "
        "call); every live lane of a wave must make the same call");
  }
}

std::uint64_t Wave::meet(Turns& turns, WorkItem& me, Meeting kind) {
  join(kind);
  EdgeToken& edge = edges[meetings & 1];
  release_edge(edge);
  arrived |= std::uint64_t{1} << me.visible.lane;
  if (arrived == live && !turns.stopped()) {
    close(turns);
  } else {
    me.state = ItemState::at_ballot;
    turns.suspend(me);
  }
  acquire_edge(edge);
  return me.answer;
}

// Answers are given now: the first lane to go on may already bring its value for the next meeting.
void Wave::close(Turns& turns) {
  if (meeting == Meeting::gather) {  // The one it waited for has ended: another leads.
    WorkItem& leader = first[lowest_bit(arrived)];
    leader.answer = leads;
    return turns.make_ready(leader);
  }
  for (std::uint64_t left = arrived; left != 0; left &= left - 1) {
    const std::uint32_t lane = lowest_bit(left);
    WorkItem& item = first[lane];
    if (meeting == Meeting::ballot) {
      item.answer = predicates;
    } else {
      const std::uint32_t asked = lanes_wanted[lane];
      const bool member = asked < 64 && (arrived >> asked & 1) != 0;
      item.answer = member ? values[asked] : 0;
    }
    if (item.state == ItemState::at_ballot) turns.make_ready(item);
  }
  end_meeting();
}

void Wave::end_meeting() {
  arrived = predicates = 0;
  meeting = Meeting::none;
  ++meetings;
}

// The lane that was waited for has ended.
void Wave::close_without(Turns& turns) {
  if (!turns.stopped()) close(turns);
}

}  // namespace k2k::backend::cpu
