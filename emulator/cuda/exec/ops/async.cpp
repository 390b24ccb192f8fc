// cp.async, st.async and mbarrier: copies that go on beside a lane, and barriers that lie in shared
// memory.
//
// A copy is made at the last moment that PTX allows, when the lane waits for it: a kernel that does
// not wait reads what was there before. One that nobody waits for is never made.
//
// cp.async.bulk is made at once: no lane waits for it but at its mbarrier.
//
// An mbarrier is a word of 64 bits. Its layout is ours (PTX keeps it opaque); a state is the word
// before an arrival:
//
//   0..19 pending arrivals   20..39 arrivals of each phase   40..60 bytes to come, signed   63
//   phase

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "emulator/cuda/exec/ops/access.hpp"
#include "emulator/cuda/exec/ops/decoding.hpp"

namespace k2k::emulator::exec {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

// --- Copies. a, immediate: where to; b, d: where from; c: flags' mode. flags: bytes, mode << 8.
enum class CopyMode : std::uint32_t { whole, part, ignored_if };

void copy_later(Lane& lane, const Op& op) {
  const std::uint32_t bytes = op.flags & 255;
  const auto mode = static_cast<CopyMode>(op.flags >> 8);
  std::uint32_t from_bytes = bytes;
  if (mode == CopyMode::part) from_bytes = std::min(bytes, get<std::uint32_t>(lane, op.c));
  if (mode == CopyMode::ignored_if && get_pred(lane, op.c) != op.negated) from_bytes = 0;
  std::byte* const to =
      reach(lane, Space::shared, bits_of(lane, op.a) + op.immediate, bytes, bytes);
  if (to == nullptr) return;
  const std::byte* from = nullptr;
  if (from_bytes != 0) {
    from = reach(lane, Space::global, bits_of(lane, op.b) + op.d.value, bytes, bytes);
    if (from == nullptr) return;
  }
  lane.copies.push_back({&op, to, from, bytes, from_bytes, lane.copy_group});
}

// Makes the copies of the groups below `group`, in their order.
void make_copies(Lane& lane, std::uint64_t group) {
  BlockWatch* const watch = lane.block->watch.get();
  const auto end = std::find_if(lane.copies.begin(), lane.copies.end(),
                                [&](const AsyncCopy& copy) { return copy.group >= group; });
  for (auto copy = lane.copies.begin(); copy != end; ++copy) {
    if (watch != nullptr) {
      const auto from = reinterpret_cast<std::uint64_t>(copy->from);
      if (copy->from_bytes != 0) watch->touches(lane, *copy->op, from, copy->from_bytes, false);
      watch->touches(lane, *copy->op, reinterpret_cast<std::uint64_t>(copy->to), copy->bytes, true);
    }
    // Other multiprocessors may write the global memory meanwhile.
    zero_words(copy->to, copy->bytes);
    copy_words(copy->to, copy->from, copy->from_bytes);
  }
  lane.copies.erase(lane.copies.begin(), end);
}

void commit_group(Lane& lane, const Op&) { ++lane.copy_group; }
// immediate: the latest groups that need not be complete.
void wait_for_groups(Lane& lane, const Op& op) {
  make_copies(lane, lane.copy_group - std::min(lane.copy_group, op.immediate));
}
void wait_for_all(Lane& lane, const Op&) { make_copies(lane, ++lane.copy_group); }

// --- mbarrier.

constexpr std::uint64_t count_max = (1u << 20) - 1;
constexpr int expected_shift = 20;
constexpr int bytes_shift = 40;
constexpr int phase_shift = 63;

struct Counts {
  std::uint64_t pending = 0;
  std::uint64_t expected = 0;
  std::int64_t bytes = 0;
  std::uint64_t phase = 0;

  static Counts of(std::uint64_t word) {
    constexpr int above = 64 - bytes_shift - 21;  // Shifted out, so that the sign is kept.
    return {word & count_max, word >> expected_shift & count_max,
            static_cast<std::int64_t>(word << above) >> (above + bytes_shift), word >> phase_shift};
  }
  [[nodiscard]] std::uint64_t word() const {
    constexpr std::uint64_t bytes_mask = (1u << 21) - 1;
    return pending | expected << expected_shift |
           (static_cast<std::uint64_t>(bytes) & bytes_mask) << bytes_shift | phase << phase_shift;
  }
  void end_phase_if_complete() {
    if (pending != 0 || bytes != 0) return;
    phase ^= 1;
    pending = expected;
  }
};

// The lanes of a cluster run on one thread, so its mbarriers need no atomic operations.
std::uint64_t* mbarrier_at(Lane& lane, const Op& op) {
  std::byte* const at = reach(lane, op, 8);
  if (at == nullptr) return nullptr;
  if (space_in(op) != Space::cluster &&
      !lane.block->shared_range().holds(reinterpret_cast<std::uint64_t>(at), 1)) {
    lane.fail(Fault::illegal_address, "an mbarrier that does not lie in shared memory");
    return nullptr;
  }
  return reinterpret_cast<std::uint64_t*>(at);
}

// One that was initialised.
std::uint64_t* live_mbarrier_at(Lane& lane, const Op& op) {
  std::uint64_t* const word = mbarrier_at(lane, op);
  if (word == nullptr || Counts::of(*word).expected != 0) return word;
  lane.fail(Fault::illegal_instruction, "an mbarrier that was not initialised");
  return nullptr;
}

void initialise(Lane& lane, const Op& op) {
  std::uint64_t* const word = mbarrier_at(lane, op);
  if (word == nullptr) return;
  const std::uint64_t count = get<std::uint32_t>(lane, op.b);
  if (count == 0 || count > count_max) {
    lane.fail(Fault::illegal_instruction,
              "an mbarrier for " + std::to_string(count) + " arrivals; 1 to 1048575 are possible");
    return;
  }
  *word = Counts{count, count, 0, 0}.word();
}
void invalidate(Lane& lane, const Op& op) {
  std::uint64_t* const word = mbarrier_at(lane, op);
  if (word != nullptr) *word = 0;
}

bool add_bytes(Lane& lane, Counts& counts, std::int64_t bytes) {
  counts.bytes += bytes;
  if (std::abs(counts.bytes) <= static_cast<std::int64_t>(count_max)) return true;
  lane.fail(Fault::illegal_instruction, "an mbarrier that waits for more than 1048575 bytes");
  return false;
}

// flags above the space: what an arrival does besides.
constexpr std::uint32_t drops = 16;
constexpr std::uint32_t expects_bytes = 32;
constexpr std::uint32_t does_not_complete = 64;
constexpr std::uint32_t counts_nothing = 128;  // cp.async.mbarrier.arrive without .noinc
constexpr std::uint32_t waits_for_copies = 256;

void arrive(Lane& lane, const Op& op) {
  std::uint64_t* const word = live_mbarrier_at(lane, op);
  if (word == nullptr) return;
  if ((op.flags & waits_for_copies) != 0) make_copies(lane, ++lane.copy_group);
  const std::uint64_t before = *word;
  Counts counts = Counts::of(before);
  const bool expects = (op.flags & expects_bytes) != 0;
  const std::uint64_t given = get<std::uint32_t>(lane, op.b);
  if (expects && !add_bytes(lane, counts, static_cast<std::int64_t>(given))) return;
  const std::uint64_t arrivals = (op.flags & counts_nothing) != 0 ? 0 : expects ? 1 : given;
  const bool completes = arrivals == counts.pending;
  if (arrivals > counts.pending || (completes && (op.flags & does_not_complete) != 0)) {
    lane.fail(Fault::illegal_instruction,
              std::to_string(arrivals) + " arrivals at an mbarrier that waits for " +
                  std::to_string(counts.pending) +
                  (completes ? ", by an instruction that may not complete it" : ""));
    return;
  }
  if ((op.flags & drops) != 0) counts.expected -= std::min(counts.expected, arrivals);
  counts.pending -= arrivals;
  counts.end_phase_if_complete();
  *word = counts.word();
  put<std::uint64_t>(lane, op.to, before);
}

// immediate of the offset; c: 1 expects, -1 completes.
void count_bytes(Lane& lane, const Op& op) {
  std::uint64_t* const word = live_mbarrier_at(lane, op);
  if (word == nullptr) return;
  const std::uint64_t before = *word;
  Counts counts = Counts::of(before);
  const auto bytes = static_cast<std::int64_t>(get<std::uint32_t>(lane, op.b));
  if (!add_bytes(lane, counts, bytes * static_cast<std::int64_t>(op.c.value))) return;
  counts.end_phase_if_complete();
  *word = counts.word();
  put<std::uint64_t>(lane, op.to, before);
}

// more: to, its offset, from, its offset; b: bytes. flags above the space: from shared memory. Then
// the mbarrier learns of the bytes.
constexpr std::uint32_t from_shared = 16;

void copy_bulk(Lane& lane, const Op& op) {
  constexpr std::uint64_t align = 16;
  const std::uint64_t bytes = get<std::uint32_t>(lane, op.b);
  if (bytes % align != 0) {
    lane.fail(Fault::misaligned_address,
              "a bulk copy of " + std::to_string(bytes) + " bytes, which is no multiple of 16");
    return;
  }
  if (bytes == 0) return;
  std::byte* const to =
      reach(lane, space_in(op), bits_of(lane, op.more[0]) + op.more[1].value, bytes, align);
  if (to == nullptr) return;
  const Space of = (op.flags & from_shared) != 0 ? Space::shared : Space::global;
  const std::byte* const from =
      reach(lane, of, bits_of(lane, op.more[2]) + op.more[3].value, bytes, align);
  if (from == nullptr) return;
  BlockWatch* const watch = lane.block->watch.get();
  for (std::uint64_t at = 0; at < bytes && watch != nullptr; at += align) {
    watch->touches(lane, op, reinterpret_cast<std::uint64_t>(from + at), align, false);
    watch->touches(lane, op, reinterpret_cast<std::uint64_t>(to + at), align, true);
  }
  copy_words(to, from, bytes);
}
void copy_bulk_and_count(Lane& lane, const Op& op) {
  if (lane.block->watch == nullptr) copy_bulk(lane, op);  // Else Access::first did.
  if (lane.state == LaneState::running) count_bytes(lane, op);
}

// st.async. more: to, its offset, the values. flags above the space: the bytes of a value.
constexpr int element_shift = 8;

void store_values(Lane& lane, const Op& op) {
  const std::uint64_t bytes = op.flags >> element_shift;
  const std::size_t count = op.more.size() - 2;
  std::byte* const to = reach(lane, Space::cluster, bits_of(lane, op.more[0]) + op.more[1].value,
                              bytes * count, bytes * count);
  if (to == nullptr) return;
  if (const auto& watch = lane.block->watch; watch != nullptr) {
    watch->touches(lane, op, reinterpret_cast<std::uint64_t>(to),
                   static_cast<std::uint32_t>(bytes * count), true);
  }
  for (std::size_t at = 0; at < count; ++at) {
    const std::uint64_t value = bits_of(lane, op.more[2 + at]);
    std::memcpy(to + at * bytes, &value, bytes);
  }
}
void store_values_and_count(Lane& lane, const Op& op) {
  if (lane.block->watch == nullptr) store_values(lane, op);  // Else Access::first did.
  if (lane.state == LaneState::running) count_bytes(lane, op);
}

// b: a state, or a parity. It never blocks: try_wait may return at once.
void test_wait(Lane& lane, const Op& op) {
  const std::uint64_t* const word = live_mbarrier_at(lane, op);
  if (word == nullptr) return;
  const std::uint64_t phase =
      op.negated ? get<std::uint32_t>(lane, op.b) & 1 : bits_of(lane, op.b) >> phase_shift;
  put<std::uint32_t>(lane, op.to, *word >> phase_shift != phase ? 1 : 0);
}
void pending_count(Lane& lane, const Op& op) {
  put<std::uint32_t>(lane, op.to, static_cast<std::uint32_t>(bits_of(lane, op.a) & count_max));
}

// --- Decoding.

Space shared_or_generic(Decoding& with) {
  return with.take_shared() ? Space::shared : Space::generic;
}

Access access_of(Access::Kind kind, Space space) {
  Access access;
  access.kind = kind;
  access.is_mbarrier = kind != Access::Kind::initialise;
  access.space = space;
  access.bytes = 8;
  access.scope = Scope::block;
  return access;
}

bool decode_copy(Decoding& with) {
  const std::size_t cached = with.take_one({"ca", "cg"});
  if (cached > 1 || !with.take_shared() || !with.take("global")) return false;
  with.take_one({"L2::64B", "L2::128B", "L2::256B"});
  with.need_count(3, 4);
  with.op.a = with.address(0, Space::shared, with.op.immediate);
  with.op.b = with.address(1, Space::global, with.op.d.value);
  const Operand& size = with.operand(2);
  if (size.kind != Operand::Kind::integer) return false;
  const bool fits = size.value == 16 || (cached == 0 && (size.value == 4 || size.value == 8));
  with.op.flags = static_cast<std::uint32_t>(size.value);
  if (with.count() == 4) {
    const Operand& more = with.operand(3);
    const bool ignores =
        more.kind == Operand::Kind::reg && with.function.registers[more.index] == Type::pred;
    with.op.c = with.source(3, ignores ? Type::pred : Type::u32);
    with.op.flags |= static_cast<std::uint32_t>(ignores ? CopyMode::ignored_if : CopyMode::part)
                     << 8;
  }
  with.op.run = &copy_later;
  return fits;
}

// Global memory to the block's own shared memory, with an mbarrier.
bool decode_bulk(Decoding& with) {
  const bool is_of_cluster = with.take("shared::cluster");
  const bool copies_shared = is_of_cluster && with.take("shared::cta");
  if (!is_of_cluster && !with.take("shared::cta")) return false;
  if (!copies_shared && !with.take("global")) return false;
  if (!with.take("mbarrier::complete_tx::bytes")) return false;
  const Space to = is_of_cluster ? Space::cluster : Space::shared;
  with.need_count(4, 4);
  with.op.more.resize(4);
  with.op.more[0] = with.address(0, to, with.op.more[1].value);
  with.op.more[2] =
      with.address(1, copies_shared ? Space::shared : Space::global, with.op.more[3].value);
  with.op.b = with.source(2, Type::u32);
  with.op.a = with.address(3, to, with.op.immediate);
  with.op.c.value = ~std::uint64_t{0};
  with.op.flags = static_cast<std::uint32_t>(to) | (copies_shared ? from_shared : 0);
  with.op.access = access_of(Access::Kind::modify, to);
  with.op.access.scope = is_of_cluster ? Scope::cluster : Scope::block;
  with.op.access.strong = true;
  with.op.access.releases = true;
  with.op.access.first = &copy_bulk;
  with.op.run = &copy_bulk_and_count;
  return true;
}

bool decode_async(Decoding& with) {
  if (!with.take("async")) return false;
  if (with.take("bulk")) return decode_bulk(with);
  if (with.take("commit_group")) {
    with.need_count(0, 0);
    with.op.run = &commit_group;
  } else if (with.take("wait_all")) {
    with.need_count(0, 0);
    with.op.run = &wait_for_all;
  } else if (with.take("wait_group")) {
    with.need_count(1, 1);
    if (with.operand(0).kind != Operand::Kind::integer) return false;
    with.op.immediate = static_cast<std::uint64_t>(with.operand(0).value);
    with.op.run = &wait_for_groups;
  } else if (with.take("mbarrier")) {
    if (!with.take("arrive")) return false;
    const bool counts = with.take("noinc");
    const Space space = shared_or_generic(with);
    with.need_count(1, 1);
    with.op.access = access_of(Access::Kind::modify, space);
    with.op.access.strong = true;
    with.op.access.releases = true;
    with.op.access.first = &wait_for_all;
    with.op.flags =
        static_cast<std::uint32_t>(space) | waits_for_copies | (counts ? 0 : counts_nothing);
    with.op.a = with.address(0, space, with.op.immediate);
    with.op.b.value = 1;
    with.op.run = &arrive;
    return with.take_type() == Type::b64;
  } else {
    return decode_copy(with);
  }
  return true;
}

bool decode_arrival(Decoding& with, bool is_drop) {
  const bool expects = with.take("expect_tx");
  const bool no_complete = with.take("noComplete");
  const std::size_t order = with.take_one({"release", "relaxed"});
  const Scope scope = with.take_scope().value_or(Scope::block);
  const Space space = with.take_any_shared().value_or(Space::generic);
  with.need_count(2, 3);
  if (space == Space::cluster && with.operand(0).kind != Operand::Kind::sink) {
    with.refuse("an arrival at an mbarrier of the cluster has no state as its result, but _");
  }
  with.op.access = access_of(Access::Kind::modify, space);
  with.op.access.strong = true;
  with.op.access.releases = order != 1;
  with.op.access.scope = scope;
  with.op.flags = static_cast<std::uint32_t>(space) | (is_drop ? drops : 0) |
                  (expects ? expects_bytes : 0) | (no_complete ? does_not_complete : 0);
  with.op.to = with.destination(0);
  with.op.a = with.address(1, space, with.op.immediate);
  if (with.count() == 3) {
    with.op.b = with.source(2, Type::u32);
  } else {
    with.op.b.value = 1;
  }
  with.op.run = &arrive;
  return (with.count() == 3 || (!expects && !no_complete)) && !(expects && no_complete);
}

bool decode_test(Decoding& with) {
  with.op.negated = with.take("parity");
  const std::size_t order = with.take_one({"acquire", "relaxed"});
  const Scope scope = with.take_scope().value_or(Scope::block);
  const Space space = shared_or_generic(with);
  with.need_count(3, 4);  // The fourth of try_wait is a time limit.
  const bool is_parity = with.op.negated;
  with.op.access = access_of(Access::Kind::wait, space);
  with.op.access.strong = true;
  with.op.access.acquires = order != 1;
  with.op.access.scope = scope;
  with.op.flags = static_cast<std::uint32_t>(space);
  with.op.to = with.destination(0);
  with.op.a = with.address(1, space, with.op.immediate);
  with.op.b = with.source(2, is_parity ? Type::u32 : Type::b64);
  if (with.count() == 4) with.source(3, Type::u32);
  with.op.run = &test_wait;
  return true;
}

bool decode_mbarrier(Decoding& with) {
  if (with.take_type() != Type::b64) return false;
  if (with.take("arrive")) return decode_arrival(with, false);
  if (with.take("arrive_drop")) return decode_arrival(with, true);
  if (with.take("test_wait")) return with.count() == 3 && decode_test(with);
  if (with.take("try_wait")) return decode_test(with);
  if (with.take("pending_count")) {
    with.need_count(2, 2);
    with.op.to = with.destination(0);
    with.op.a = with.source(1, Type::b64);
    with.op.run = &pending_count;
    return true;
  }
  const std::size_t what = with.take_one({"init", "inval", "expect_tx", "complete_tx"});
  if (what > 3) return false;
  if (what > 1) with.take("relaxed");
  const Scope scope = what > 1 ? with.take_scope().value_or(Scope::block) : Scope::block;
  const Space space =
      what > 1 ? with.take_any_shared().value_or(Space::generic) : shared_or_generic(with);
  with.need_count(what == 1 ? 1 : 2, what == 1 ? 1 : 2);
  with.op.access = access_of(what > 1 ? Access::Kind::modify : Access::Kind::initialise, space);
  with.op.access.strong = what > 1;
  with.op.access.scope = scope;
  with.op.flags = static_cast<std::uint32_t>(space);
  with.op.a = with.address(0, space, with.op.immediate);
  if (what != 1) with.op.b = with.source(1, Type::u32);
  with.op.c.value = what == 2 ? 1 : ~std::uint64_t{0};
  with.op.run = what == 0 ? &initialise : what == 1 ? &invalidate : &count_bytes;
  return true;
}

// Into another block's shared memory; the mbarrier there learns of the bytes.
bool decode_async_store(Decoding& with) {
  with.take("weak");
  with.take("shared::cluster");
  if (!with.take("mbarrier::complete_tx::bytes")) return false;
  const std::size_t vector = with.take_one({"v2", "v4"});
  const Type type = with.take_type();
  const std::uint32_t bytes = ptx::bytes_of(type);
  with.need_count(3, 3);
  const Operand& data = with.operand(1);
  const bool is_list = data.kind == Operand::Kind::vector;
  if (is_list != (vector < 2) || (is_list && data.elements.size() != std::size_t{2} << vector)) {
    return false;
  }
  with.op.more.resize(2);
  with.op.more[0] = with.address(0, Space::cluster, with.op.more[1].value);
  if (is_list) {
    add_sources(with, data, type);
  } else {
    with.op.more.push_back(with.source_of(data, type));
  }
  with.op.a = with.address(2, Space::cluster, with.op.immediate);
  with.op.b.value = bytes * (with.op.more.size() - 2);
  with.op.c.value = ~std::uint64_t{0};
  with.op.flags = static_cast<std::uint32_t>(Space::cluster) | bytes << element_shift;
  with.op.access = access_of(Access::Kind::modify, Space::cluster);
  with.op.access.scope = Scope::cluster;
  with.op.access.strong = true;
  with.op.access.releases = true;
  with.op.access.first = &store_values;
  with.op.run = &store_values_and_count;
  return bytes == 4 || bytes == 8;
}

}  // namespace

bool decode_copies(Decoding& with) {
  if (with.opcode() == "st" && with.take("async")) {
    if (!decode_async_store(with)) with.refuse("this form of the instruction is not known");
    return true;
  }
  const bool is_copy = with.opcode() == "cp";
  if (!is_copy && with.opcode() != "mbarrier") return false;
  if (!(is_copy ? decode_async(with) : decode_mbarrier(with))) {
    with.refuse("this form of the instruction is not known");
  }
  return true;
}

}  // namespace k2k::emulator::exec
