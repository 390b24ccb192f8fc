#pragma once
// One request from one work-item: claim a slot, fill it, publish it, ring, wait, release.
//
//   claim ─▶ fill ─▶ publish (release) ─▶ ring ─▶ wait ─▶ take the result ─▶ release
//
// This file does not depend on scopes or orders: invoke.hpp chooses the calling work-item and the
// barriers.

#include <cstdint>

#include "base/bits.hpp"
#include "device/options.hpp"
#include "device/platform/platform.hpp"
#include "device/reply.hpp"
#include "device/transfer.hpp"
#include "protocol/claim.hpp"

namespace k2k::device {

// A claimed slot, later a published request: the slot and its generation. Four words, so that it is
// passed in registers.
struct Handle {
  // Values of `begun` that are not time stamps: no slot was claimed; the call is not timed.
  static constexpr std::uint32_t nothing = 0;
  static constexpr std::uint32_t untimed = 1;

  protocol::Place place;
  std::uint32_t generation = 0;
  std::uint32_t begun = nothing;  // Stamp of the call's beginning.

  [[nodiscard]] K2K_DEVICE bool live() const { return begun != nothing; }
};

// The time at which a timed call begins. Not used where host and device clocks are not comparable.
K2K_DEVICE inline std::uint32_t begun_at(std::uint32_t stamp) {
  return stamp == 0 ? Handle::untimed : stamp;
}

K2K_DEVICE inline bool closed(const protocol::AreaView& area) {
  return protocol::load_acquire(area.closed) != 0;  // Pairs with the server's close().
}

K2K_DEVICE inline Reply shut_down() {
  return Reply(-error::cancelled, protocol::TransportError::shutdown);
}

K2K_DEVICE inline bool any_ready(const protocol::AreaView& area, std::uint32_t wave,
                                 std::uint64_t lanes) {
  for (std::uint64_t left = lanes; left != 0; left &= left - 1) {
    const std::uint32_t lane = lowest_bit(left);
    if (observe(area.slot(wave, lane)).state == protocol::SlotState::ready) return true;
  }
  return false;
}

// A wait looks for the end of the runtime once in so many turns: a GPU reads a word of the host
// that all lanes read at 33 million a second (an H200), for all of them together.
inline constexpr std::uint32_t looks_at_end_part = 64;

// Waits for a place in the ring, not for the host's answer. The rescan finds requests whose
// doorbell was lost, and requests that wait here for long; those need no doorbell any more.
K2K_SHARED_CODE K2K_DEVICE inline void ring_doorbell(const protocol::AreaView& area,
                                                     std::uint32_t wave, std::uint64_t lanes) {
  const protocol::DoorbellRing& ring = area.ring_of(wave);
  std::uint64_t ticket = protocol::take_ticket(ring);
  while (!protocol::may_ring(ring, ticket)) {
    if (!any_ready(area, wave, lanes) ||
        (platform::now_and_then(looks_at_end_part) && closed(area))) {
      return;
    }
    if (protocol::passed_over(ring, ticket)) ticket = protocol::take_ticket(ring);
    platform::yield();
  }
  protocol::ring(ring, ticket, wave, lanes);
  platform::interrupt();
}

// Attempts of a wave to find one row for all its lanes before each lane claims a slot for itself.
inline constexpr int row_tries_max = 64;

// Locks `lanes` of one row, searching from home + `tried`. Returns the row's number + 1, or 0 after
// the rows of one attempt; the next attempt begins at home again.
K2K_DEVICE inline std::uint32_t lock_row(const protocol::AreaView& area, std::uint32_t home,
                                         std::uint64_t lanes, std::uint32_t& tried) {
  while (tried < area.wave_count && tried < protocol::claim_rows_max) {
    const std::uint32_t wave = (home + tried++) % area.wave_count;
    if (protocol::try_lock(area, wave, lanes)) return wave + 1;
  }
  tried = 0;
  return 0;
}

// Claims one row for all `lanes`, which are all here. The leader takes the locks in device memory.
// Then each lane accesses its own slot, so that the bus accesses of all lanes overlap. The handle
// is not live if no row was free.
K2K_DEVICE inline Handle claim_side_by_side(const protocol::AreaView& area, std::uint32_t home,
                                            std::uint32_t lane, std::uint64_t lanes) {
  const std::uint32_t leader = lowest_bit(lanes);
  std::uint32_t tried = 0;
  for (int attempt = 0; attempt < row_tries_max;) {
    const std::uint32_t mine = lane == leader ? lock_row(area, home, lanes, tried) : 0;
    const auto found = static_cast<std::uint32_t>(platform::shuffle(mine, leader));
    if (found == 0) {  // Also when the leader left because the launch is cancelled.
      ++attempt;
      platform::yield();
      continue;
    }
    const protocol::Place place{found - 1, lane};
    protocol::Slot& slot = area.slot(place.wave, place.lane);
    const protocol::Found seen = protocol::look_at(slot);
    if (platform::ballot(seen.open) == lanes) {
      return {place, protocol::take(slot, seen.generation), Handle::untimed};
    }
    if (lane == leader) protocol::unlock(area, place.wave, lanes);
  }
  return {};
}

// Finds one row for all `lanes`. Returns its number + 1, or 0 if no row was free.
K2K_SHARED_CODE K2K_DEVICE inline std::uint32_t claim_row(const protocol::AreaView& area,
                                                          std::uint32_t home, std::uint64_t lanes) {
  for (int attempt = 0; attempt < row_tries_max; ++attempt) {
    for (std::uint32_t row = 0; row < area.wave_count && row < protocol::claim_rows_max; ++row) {
      const std::uint32_t wave = (home + row) % area.wave_count;
      if (protocol::try_claim(area, wave, lanes)) return wave + 1;
    }
    platform::yield();
  }
  return 0;
}

// Fills a claimed slot and hands it to the host. `stamp`: when the call was made.
K2K_SHARED_CODE K2K_DEVICE inline void publish(const protocol::AreaView& area,
                                               protocol::Place place,
                                               protocol::Attributes attributes,
                                               std::uint16_t number, const Words& arguments,
                                               std::uint32_t stamp) {
  protocol::Slot& slot = area.slot(place.wave, place.lane);
  for (int index = 0; index < protocol::argument_count; ++index) {
    slot.arguments[index] = arguments.word[index];
  }
  protocol::store_hint(&slot.attributes, pack(attributes));  // TopHalf::any_urgent() peeks.
  slot.stamp = stamp;
  protocol::fence_system();  // Covers writes of other work-items before the barrier.
  // Pairs with the bottom half's observe().
  protocol::move<protocol::SlotState::populating, protocol::SlotState::ready,
                 protocol::Side::device>(slot, number);
  if ((attributes.flags & protocol::flag::detached) != 0) {
    protocol::unlock(area, place.wave, std::uint64_t{1} << place.lane);
  }
}

template <class Scope, class Chosen>
K2K_DEVICE inline protocol::Attributes attributes_of(const platform::Item& me,
                                                     std::uint8_t flags = 0) {
  if constexpr (Chosen::outcome == Outcome::async) flags |= protocol::flag::async;
  if constexpr (Chosen::outcome == Outcome::detached) flags |= protocol::flag::detached;
  if constexpr (Chosen::urgent) flags |= protocol::flag::urgent;
  if constexpr (Chosen::waiting == Waiting::halting) flags |= protocol::flag::halted;
  return {Scope::scope, flags, 0, me.tenant};
}

#if defined(K2K_PLATFORM_GATHERS)

// A lane's arguments for a wave-wide call, and the handle it receives. The publishing lane times
// the call once for all lanes.
struct Offer {
  std::uint16_t number;
  const Words& arguments;
  Handle handle;
};

// One lane publishes for all lanes and rings once. On the cpu backend each meeting of lanes costs
// fibre switches, so the lanes meet once: to submit and, if the call blocks, to wait for the
// answers.
template <class Scope, class Chosen>
K2K_SHARED_CODE K2K_DEVICE inline const protocol::Slot* publish_all(const platform::Item& me,
                                                                    const std::uint64_t* offers,
                                                                    std::uint64_t lanes) {
  const protocol::AreaView& area = *me.area;
  const std::uint32_t begun = begun_at(platform::stamp());
  const std::uint32_t found = claim_row(area, me.wave, lanes);
  if (found == 0) return nullptr;
  const std::uint32_t row = found - 1;
  const std::uint32_t stamp = platform::stamp();
  for (std::uint64_t left = lanes; left != 0; left &= left - 1) {
    const std::uint32_t lane = lowest_bit(left);
    Offer& offer = *reinterpret_cast<Offer*>(offers[lane]);
    offer.handle = {{row, lane}, area.slot(row, lane).generation, Handle::untimed};
    publish(area, offer.handle.place, attributes_of<Scope, Chosen>(me), offer.number,
            offer.arguments, stamp);
  }
  reinterpret_cast<Offer*>(offers[me.lane])->handle.begun = begun;
  ring_doorbell(area, row, lanes);
  return &area.slot(row, 0);
}

template <class Scope, class Chosen>
K2K_DEVICE inline Handle submit_gathered(std::uint16_t number, const Words& arguments) {
  constexpr bool polls =
      Chosen::outcome == Outcome::blocking && Chosen::waiting == Waiting::polling;
  Offer offer{number, arguments, {}};
  platform::gather(&offer, &publish_all<Scope, Chosen>, polls);
  return offer.handle;
}

#endif

// Each lane claims and publishes its own slot: for devices whose slots are across a bus and whose
// ballots are cheap.
template <class Scope, class Chosen>
K2K_DEVICE inline Handle submit_side_by_side(const platform::Item& me, std::uint16_t number,
                                             const Words& arguments) {
  const protocol::AreaView& area = *me.area;
  const std::uint64_t lanes = platform::ballot(true);
  const Handle handle = claim_side_by_side(area, me.wave, me.lane, lanes);
  if (!handle.live()) return handle;
  publish(area, handle.place, attributes_of<Scope, Chosen>(me), number, arguments,
          platform::stamp());
  platform::ballot(true);  // All are published before the one doorbell.
  if (me.lane == lowest_bit(lanes)) ring_doorbell(area, handle.place.wave, lanes);
  return handle;
}

// Every live lane of the wave is here. The handle is not live if no row was free for all of them.
template <class Scope, class Chosen, bool side_by_side>
K2K_DEVICE inline Handle submit_wave(const platform::Item& me, std::uint16_t number,
                                     const Words& arguments) {
#if defined(K2K_PLATFORM_GATHERS)
  if constexpr (!side_by_side) return submit_gathered<Scope, Chosen>(number, arguments);
#endif
  return submit_side_by_side<Scope, Chosen>(me, number, arguments);
}

// Claims, publishes and rings. With wave_wide, every live lane of the wave is here.
template <class Scope, class Chosen, bool side_by_side = platform::claims_side_by_side>
K2K_SHARED_CODE K2K_DEVICE inline Handle submit(std::uint16_t number, const Words& arguments) {
  const platform::Item& me = platform::current();
  const protocol::AreaView& area = *me.area;
  if constexpr (Chosen::wave_wide) {
    const Handle handle = submit_wave<Scope, Chosen, side_by_side>(me, number, arguments);
    if (handle.live()) return handle;
  }
  // A page fault takes its own time stamps.
  const platform::CallTiming timing = number == calls::fault_in_number
                                          ? platform::CallTiming{platform::stamp(), 0}
                                          : platform::begin_call(number);
  Handle handle{{me.wave, me.lane}, 0, begun_at(timing.begun)};
  const protocol::Attributes attributes =
      attributes_of<Scope, Chosen>(me, static_cast<std::uint8_t>(timing.flags));
  while (!protocol::try_claim_one(area, handle.place, handle.generation)) {
    if (platform::now_and_then(looks_at_end_part) && closed(area)) return {};
    platform::yield();
  }
  publish(area, handle.place, attributes, number, arguments,
          timing.begun == 0 ? 0 : platform::stamp());
  ring_doorbell(area, handle.place.wave, std::uint64_t{1} << handle.place.lane);
  return handle;
}

// Waits for the host, takes the answer and gives the slot back.
K2K_SHARED_CODE K2K_DEVICE inline Reply finish(const protocol::AreaView& area, const Handle& handle,
                                               platform::Wait how) {
  if (!handle.live()) return shut_down();
  protocol::Slot& slot = area.slot(handle.place.wave, handle.place.lane);
  platform::wait(slot, how);
  const protocol::Control control = observe(slot);  // Pairs with the server's complete().
  // The area closed before the host answered: the host keeps the slot.
  if (control.state != protocol::SlotState::finished) return shut_down();
  const Reply reply(static_cast<std::int64_t>(slot.arguments[protocol::answer_word::value]),
                    control.error);
  if (handle.begun > Handle::untimed) {
    const bool sampled =
        (protocol::unpack_attributes(slot.attributes).flags & protocol::flag::sampled) != 0;
    platform::note_times(handle.begun, slot.stamp, slot.arguments[protocol::answer_word::done],
                         sampled ? protocol::sample_stride : 1);
  }
  protocol::move<protocol::SlotState::finished, protocol::SlotState::free, protocol::Side::device>(
      slot);
  protocol::unlock(area, handle.place.wave, std::uint64_t{1} << handle.place.lane);
  return reply;
}

// The handle for the answer of an async call. Redeem it once, on the work-item that received it.
// Tickets that are not redeemed are counted when the kernel ends
// (LaunchReport::unredeemed_tickets).
template <std::uint16_t number>
class Ticket {
 public:
  // A lane that did not make the call holds an empty ticket: redeem() answers -EINPROGRESS.
  Ticket() = default;
  K2K_DEVICE explicit Ticket(Reply refused) : refused_(refused) {}
  K2K_DEVICE Ticket(const Handle& handle, const Transfer& transfer, platform::Wait how)
      : handle_(handle), transfer_(transfer), how_(how), issued_(true) {}
  // The call completed already, because tickets hold the most slots permitted
  // (protocol::admit_ticket()).
  K2K_DEVICE static Ticket answered(const Reply& reply) {
    Ticket ticket(reply);
    ticket.answered_ = true;
    return ticket;
  }

  // True if the ticket holds a slot until it is redeemed; false if it holds the answer itself.
  [[nodiscard]] K2K_DEVICE bool held() const { return issued_ && handle_.live(); }

  // True once redeem() would not wait.
  [[nodiscard]] K2K_DEVICE bool ready() const {
    if (!issued_ || !handle_.live()) return true;
    const protocol::AreaView& area = *platform::current().area;
    return redeemed_elsewhere(area) ||
           observe(area.slot(handle_.place.wave, handle_.place.lane)).state ==
               protocol::SlotState::finished;
  }

  // Waits for the answer. -EINVAL the second time, also on a copy of a ticket that was held().
  K2K_DEVICE Reply redeem() {
    if (!issued_) {
      const Reply reply = refused_;
      if (answered_) refused_ = Reply(-error::invalid);
      return reply;
    }
    const protocol::AreaView& area = *platform::current().area;
    issued_ = false;
    refused_ = Reply(-error::invalid);
    if (handle_.live() && redeemed_elsewhere(area)) return refused_;
    const Reply reply = finish(area, handle_, how_);
    if constexpr (number != raw_number) move_out<number>(area, transfer_, reply.value());
    if (handle_.live()) protocol::return_ticket(area, transfer_.block != no_block);
    return reply;
  }

  static constexpr std::uint16_t raw_number = 0xfffe;  // The generic call: nothing was moved.

 private:
  // A copy of this ticket was redeemed: the slot is free or has a later generation. A valid
  // ticket's slot belongs to the host or is finished.
  [[nodiscard]] K2K_DEVICE bool redeemed_elsewhere(const protocol::AreaView& area) const {
    const protocol::Slot& slot = area.slot(handle_.place.wave, handle_.place.lane);
    const protocol::SlotState state = observe(slot).state;
    return state == protocol::SlotState::free || state == protocol::SlotState::populating ||
           protocol::load_acquire(&slot.generation) != handle_.generation;
  }

  Handle handle_;
  Transfer transfer_;
  platform::Wait how_ = platform::Wait::polling;
  bool issued_ = false;
  bool answered_ = false;
  Reply refused_ = Reply::pending();  // Or the answer.
};

}  // namespace k2k::device
