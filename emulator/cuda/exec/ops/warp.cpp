// Where lanes meet: shfl, vote, match, redux, elect, bar.warp within a warp, bar and barrier within
// a block. The lanes that a mask names and that have not exited meet at instructions with the same
// words; which of them that is does not matter (PTX asks for no more).

#include <algorithm>
#include <bit>
#include <string_view>

#include "emulator/cuda/exec/block.hpp"
#include "emulator/cuda/exec/ops/decoding.hpp"

namespace k2k::emulator::exec {

namespace {

using ptx::Type;

// What shfl gives for a lane that does not take part: PTX leaves it open.
constexpr std::uint32_t poison = 0xbad0bad0;

void wait_for_lanes(Lane& lane, const Op& op, std::uint32_t mask) {
  lane.waits_at = &op;
  lane.waits_mask = mask;
  if ((mask >> lane.in_warp & 1) == 0) {
    lane.fail(Fault::divergence, "a lane is not in the mask it gives");
    return;
  }
  lane.state = LaneState::meeting;
}

// The mask is op.d, but for bar.warp and elect, where it is op.a.
void meet_by_d(Lane& lane, const Op& op) {
  wait_for_lanes(lane, op, get<std::uint32_t>(lane, op.d));
}

template <class With>
void for_lanes(Block& block, std::uint32_t first, std::uint32_t mask, With&& with) {
  for (std::uint32_t at = 0; at < warp_lanes; ++at) {
    if ((mask >> at & 1) != 0) with(block.lanes[first + at], at);
  }
}

void only_meet(Block&, std::uint32_t, std::uint32_t) {}

// flags: 0 up, 1 down, 2 bfly, 3 idx.
void shuffle(Block& block, std::uint32_t first, std::uint32_t mask) {
  std::array<std::uint32_t, warp_lanes> values{};
  std::array<std::uint32_t, warp_lanes> results{};
  std::array<bool, warp_lanes> valid{};
  for_lanes(block, first, mask, [&](Lane& lane, std::uint32_t at) {
    values[at] = get<std::uint32_t>(lane, lane.waits_at->a);
  });
  for_lanes(block, first, mask, [&](Lane& lane, std::uint32_t at) {
    const Op& op = *lane.waits_at;
    const std::uint32_t by = get<std::uint32_t>(lane, op.b) & 31;
    const auto c = get<std::uint32_t>(lane, op.c);
    const std::uint32_t clamp = c & 31;
    const std::uint32_t segment = c >> 8 & 31;
    const std::uint32_t last = (at & segment) | (clamp & ~segment);
    const std::uint32_t least = at & segment;
    std::uint32_t from = at;
    switch (op.flags) {
      case 0:
        valid[at] = at >= by && at - by >= last;
        from = at - by;
        break;
      case 1:
        from = at + by;
        valid[at] = from <= last;
        break;
      case 2:
        from = at ^ by;
        valid[at] = from <= last;
        break;
      default:
        from = least | (by & ~segment);
        valid[at] = from <= last;
        break;
    }
    if (!valid[at]) from = at;
    results[at] = (mask >> from & 1) != 0 ? values[from] : poison;
  });
  for_lanes(block, first, mask, [&](Lane& lane, std::uint32_t at) {
    const Op& op = *lane.waits_at;
    put<std::uint32_t>(lane, op.to, results[at]);
    if (op.to2 != 0) put<std::uint32_t>(lane, op.to2, valid[at] ? 1 : 0);
  });
}

// flags: 0 all, 1 any, 2 uni, 3 ballot.
void vote(Block& block, std::uint32_t first, std::uint32_t mask) {
  std::uint32_t set = 0;
  for_lanes(block, first, mask, [&](Lane& lane, std::uint32_t at) {
    if (get_pred(lane, lane.waits_at->a) != lane.waits_at->negated) set |= 1u << at;
  });
  for_lanes(block, first, mask, [&](Lane& lane, std::uint32_t) {
    const Op& op = *lane.waits_at;
    const bool all = set == mask;
    const bool answer = op.flags == 0 ? all : op.flags == 1 ? set != 0 : all || set == 0;
    put<std::uint32_t>(lane, op.to, op.flags == 3 ? set : answer ? 1 : 0);
  });
}

// flags: 0 any, 1 all.
template <class T>
void match(Block& block, std::uint32_t first, std::uint32_t mask) {
  std::array<std::uint32_t, warp_lanes> results{};
  for_lanes(block, first, mask, [&](Lane& lane, std::uint32_t at) {
    for_lanes(block, first, mask, [&](Lane& other, std::uint32_t other_at) {
      if (get<T>(lane, lane.waits_at->a) == get<T>(other, other.waits_at->a)) {
        results[at] |= 1u << other_at;
      }
    });
  });
  for_lanes(block, first, mask, [&](Lane& lane, std::uint32_t at) {
    const Op& op = *lane.waits_at;
    const bool equal = results[at] == mask;
    put<std::uint32_t>(lane, op.to, op.flags == 0 ? results[at] : equal ? mask : 0);
    if (op.to2 != 0) put<std::uint32_t>(lane, op.to2, equal ? 1 : 0);
  });
}

// flags: 0 add, 1 min, 2 max, 3 and, 4 or, 5 xor; 8 signed.
void reduce(Block& block, std::uint32_t first, std::uint32_t mask) {
  bool begun = false;
  std::uint32_t all = 0;
  for_lanes(block, first, mask, [&](Lane& lane, std::uint32_t) {
    const std::uint32_t flags = lane.waits_at->flags;
    const auto value = get<std::uint32_t>(lane, lane.waits_at->a);
    const bool less = (flags & 8) != 0
                          ? static_cast<std::int32_t>(value) < static_cast<std::int32_t>(all)
                          : value < all;
    switch (begun ? flags & 7 : 6) {
      case 0:
        all += value;
        break;
      case 1:
        all = less ? value : all;
        break;
      case 2:
        all = less ? all : value;
        break;
      case 3:
        all &= value;
        break;
      case 4:
        all |= value;
        break;
      case 5:
        all ^= value;
        break;
      default:
        all = value;
        break;
    }
    begun = true;
  });
  for_lanes(block, first, mask,
            [&](Lane& lane, std::uint32_t) { put<std::uint32_t>(lane, lane.waits_at->to, all); });
}

void elect(Block& block, std::uint32_t first, std::uint32_t mask) {
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(mask));
  for_lanes(block, first, mask, [&](Lane& lane, std::uint32_t at) {
    put<std::uint32_t>(lane, lane.waits_at->to, leader);
    put<std::uint32_t>(lane, lane.waits_at->to2, at == leader ? 1 : 0);
  });
}

// Not in step, so a lane is active by itself alone: PTX promises no more.
void active_mask(Lane& lane, const Op& op) { put<std::uint32_t>(lane, op.to, 1u << lane.in_warp); }

// flags: 1 aligned, 2 arrives only. immediate: bar.red, as Block reads it.
void barrier(Lane& lane, const Op& op) {
  const auto number = get<std::uint32_t>(lane, op.a);
  if (number >= barriers_max) {
    lane.fail(Fault::illegal_instruction, "there is no barrier " + std::to_string(number));
    return;
  }
  const auto count = get<std::uint32_t>(lane, op.b);
  Barrier& at = lane.block->barriers[number];
  if (at.arrived != 0 && at.needed != count) {
    const auto other =
        std::find_if(lane.block->lanes.begin(), lane.block->lanes.end(), [&](const Lane& waits) {
          return waits.state == LaneState::barrier && waits.waits_barrier == number;
        });
    lane.fail(Fault::divergence,
              "barrier " + std::to_string(number) + " is waited for by " + std::to_string(count) +
                  " lanes and by " + std::to_string(at.needed) +
                  (other == lane.block->lanes.end()
                       ? ""
                       : ", in line " + std::to_string(other->waits_at->line) + " by thread " +
                             std::to_string(other->rank) + " of the block"));
    return;
  }
  ++at.arrived;
  at.needed = count;
  if (lane.block->watch != nullptr) lane.block->watch->arrives(lane, number);
  if (op.immediate != 0 && get_pred(lane, op.c) != op.negated) ++at.set;
  if ((op.flags & 2) != 0) return;
  lane.waits_at = &op;
  lane.waits_barrier = number;
  lane.state = LaneState::barrier;
}

// --- Decoding.

bool decode_shuffle(Decoding& with) {
  const std::size_t mode = with.take_one({"up", "down", "bfly", "idx"});
  const bool syncs = with.take("sync");
  with.need_count(5, 5);
  with.op.flags = static_cast<std::uint32_t>(mode);
  with.destinations(0);
  with.op.a = with.source(1, Type::b32);
  with.op.b = with.source(2, Type::b32);
  with.op.c = with.source(3, Type::b32);
  with.op.d = with.source(4, Type::b32);
  meets(with, &shuffle);
  return syncs && mode < 4 && with.take_type() == Type::b32;
}

bool decode_vote(Decoding& with) {
  const std::size_t mode = with.take_one({"all", "any", "uni", "ballot"});
  const bool syncs = with.take("sync");
  with.need_count(3, 3);
  with.op.flags = static_cast<std::uint32_t>(mode);
  with.op.to = with.destination(0);
  with.op.a = with.source(1, Type::pred);
  with.op.d = with.source(2, Type::b32);
  meets(with, &vote);
  return syncs && mode < 4 && with.take_type() == (mode == 3 ? Type::b32 : Type::pred);
}

bool decode_match(Decoding& with) {
  const std::size_t mode = with.take_one({"any", "all"});
  const bool syncs = with.take("sync");
  const Type type = with.take_type();
  with.need_count(3, 3);
  with.op.flags = static_cast<std::uint32_t>(mode);
  with.destinations(0);
  with.op.a = with.source(1, type);
  with.op.d = with.source(2, Type::b32);
  meets(with, type == Type::b64 ? &match<std::uint64_t> : &match<std::uint32_t>);
  return syncs && mode < 2 && (type == Type::b32 || type == Type::b64);
}

bool decode_reduce(Decoding& with) {
  const std::size_t what = with.take_one({"add", "min", "max", "and", "or", "xor"});
  const bool syncs = with.take("sync");
  const Type type = with.take_type();
  with.need_count(3, 3);
  with.op.flags = static_cast<std::uint32_t>(what) | (type == Type::s32 ? 8u : 0u);
  with.op.to = with.destination(0);
  with.op.a = with.source(1, type);
  with.op.d = with.source(2, Type::b32);
  meets(with, &reduce);
  return syncs && what < 6 && ptx::bytes_of(type) == 4 && !ptx::is_float(type);
}

bool decode_block_barrier(Decoding& with, bool aligned) {
  with.take("cta");
  const std::size_t what = with.take_one({"sync", "arrive", "red"});
  if (with.take("aligned")) aligned = true;
  with.op.flags = (aligned ? 1u : 0u) | (what == 1 ? 2u : 0u);
  std::size_t at = 0;
  if (what == 2) {
    const std::size_t how = with.take_one({"popc", "and", "or"});
    if (how > 2) return false;
    with.op.immediate = how + 1;
    if (with.take_type() != (how == 0 ? Type::u32 : Type::pred)) return false;
    with.op.to = with.destination(at++);
    with.op.c = with.source(with.count() - 1, Type::pred);
  }
  const std::size_t last = what == 2 ? with.count() - 1 : with.count();
  if (what > 2 || at >= last) return false;
  with.op.a = with.source(at++, Type::u32);
  if (at < last) with.op.b = with.source(at++, Type::u32);
  with.op.run = &barrier;
  return at == last && (what != 1 || last == 2);
}

}  // namespace

void meets(Decoding& with, Meet meet) {
  with.op.run = &meet_by_d;
  with.op.meet = meet;
  with.op.meeting = with.meeting_number();
}

bool decode_warp(Decoding& with) {
  const std::string& name = with.opcode();
  bool known = true;
  if (name == "shfl") {
    known = decode_shuffle(with);
  } else if (name == "vote") {
    known = decode_vote(with);
  } else if (name == "match") {
    known = decode_match(with);
  } else if (name == "redux") {
    known = decode_reduce(with);
  } else if (name == "elect") {
    known = with.take("sync");
    with.need_count(2, 2);
    with.destinations(0);
    with.op.d = with.source(1, Type::b32);
    meets(with, &elect);
  } else if (name == "activemask") {
    known = with.take_type() == Type::b32;
    with.need_count(1, 1);
    with.op.to = with.destination(0);
    with.op.run = &active_mask;
  } else if (name == "bar" && with.take("warp")) {
    known = with.take("sync");
    with.need_count(1, 1);
    with.op.d = with.source(0, Type::b32);
    with.op.access.kind = Access::Kind::warp_barrier;
    meets(with, &only_meet);
  } else if (name == "bar" || name == "barrier") {
    known = decode_block_barrier(with, name == "bar");
  } else {
    return false;
  }
  if (!known) with.refuse("this form of the instruction is not known");
  return true;
}

}  // namespace k2k::emulator::exec
