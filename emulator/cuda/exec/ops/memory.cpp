// mov, ld, st, cvta, isspacep, prefetch.

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "emulator/cuda/exec/ops/access.hpp"
#include "emulator/cuda/exec/ops/decoding.hpp"
#include "emulator/cuda/exec/ops/dispatch.hpp"
#include "emulator/cuda/exec/ops/program.hpp"
#include "emulator/cuda/exec/ops/wide.hpp"

namespace k2k::emulator::exec {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

template <class T>
void load(Lane& lane, const Op& op) {
  const std::byte* const from = reach(lane, op, sizeof(T));
  if (from != nullptr) put<T>(lane, op.to, load_word<T>(from, order_in(op)));
}
template <class T>
void store(Lane& lane, const Op& op) {
  std::byte* const to = reach(lane, op, sizeof(T));
  if (to != nullptr) store_word<T>(to, get<T>(lane, op.b), order_in(op));
}
template <class T>
void load_vector(Lane& lane, const Op& op) {
  const std::byte* const from = reach(lane, op, sizeof(T) * op.tos.size());
  if (from == nullptr) return;
  std::array<T, 8> values{};
  for (std::size_t at = 0; at < op.tos.size(); ++at) {
    values[at] = load_word<T>(from + at * sizeof(T), order_in(op));
  }
  for (std::size_t at = 0; at < op.tos.size(); ++at) put<T>(lane, op.tos[at], values[at]);
}
template <class T>
void store_vector(Lane& lane, const Op& op) {
  std::byte* const to = reach(lane, op, sizeof(T) * op.more.size());
  if (to == nullptr) return;
  for (std::size_t at = 0; at < op.more.size(); ++at) {
    store_word<T>(to + at * sizeof(T), get<T>(lane, op.more[at]), order_in(op));
  }
}

template <class T>
void move(Lane& lane, const Op& op) {
  put<T>(lane, op.to, get<T>(lane, op.a));
}
void move_predicate(Lane& lane, const Op& op) {
  put<std::uint32_t>(lane, op.to, get_pred(lane, op.a) != op.negated ? 1 : 0);
}
// flags: bits of an element.
void pack(Lane& lane, const Op& op) {
  std::uint64_t all = 0;
  const std::uint64_t mask = (std::uint64_t{1} << op.flags) - 1;
  for (std::size_t at = op.more.size(); at-- > 0;) {
    all = all << op.flags | (bits_of(lane, op.more[at]) & mask);
  }
  lane.regs[op.to] = all;
}
void unpack(Lane& lane, const Op& op) {
  std::uint64_t all = bits_of(lane, op.a);
  const std::uint64_t mask = (std::uint64_t{1} << op.flags) - 1;
  for (const std::uint32_t to : op.tos) {
    lane.regs[to] = all & mask;
    all >>= op.flags;
  }
  lane.regs[0] = 0;
}

std::uint64_t window_of(const Lane& lane, Space space) {
  if (space == Space::shared) return reinterpret_cast<std::uint64_t>(lane.block->shared_base);
  if (space == Space::local) return reinterpret_cast<std::uint64_t>(lane.local);
  return 0;
}
bool lies_in(const Lane& lane, Space space, std::uint64_t address) {
  if (space == Space::cluster) return cluster_memory_at(lane, address, 1) != nullptr;
  const Range window = space == Space::shared ? lane.block->shared_range() : lane.local_range();
  return window.holds(address, 1);
}
void to_generic(Lane& lane, const Op& op) {
  const auto space = static_cast<Space>(op.flags);
  std::uint64_t address = bits_of(lane, op.a);
  if (space == Space::shared || space == Space::cluster) {
    const auto* const place = cluster_memory(lane, static_cast<std::uint32_t>(address), 0);
    if (place != nullptr) {
      lane.regs[op.to] = reinterpret_cast<std::uint64_t>(place);
      return;
    }
  }
  if (space == Space::shared || space == Space::local) {
    address = static_cast<std::uint32_t>(address);
  }
  lane.regs[op.to] = address + window_of(lane, space);
}
void from_generic(Lane& lane, const Op& op) {
  const auto space = static_cast<Space>(op.flags);
  if (space == Space::shared || space == Space::cluster) {
    const std::uint64_t address = bits_of(lane, op.a);
    if (const int rank = lane.block->cluster->rank_of(address); rank >= 0) {
      lane.regs[op.to] = cluster_address(lane, address, rank);
      return;
    }
  }
  lane.regs[op.to] = bits_of(lane, op.a) - window_of(lane, static_cast<Space>(op.flags));
}
void is_in_space(Lane& lane, const Op& op) {
  const std::uint64_t address = bits_of(lane, op.a);
  const auto space = static_cast<Space>(op.flags);
  const bool is = space == Space::global ? !lies_in(lane, Space::cluster, address) &&
                                               !lies_in(lane, Space::local, address)
                                         : lies_in(lane, space, address);
  put<std::uint32_t>(lane, op.to, is ? 1 : 0);
}

// --- Decoding.

Space take_space(Decoding& with) {
  if (with.take("global")) return Space::global;
  if (const std::optional<Space> shared = with.take_any_shared()) return *shared;
  if (with.take("local")) return Space::local;
  if (with.take("const")) return Space::constant;
  if (with.take("param") || with.take("param::func") || with.take("param::entry")) {
    return Space::param;
  }
  return Space::generic;
}

// Hints of caches mean nothing here.
void take_hints(Decoding& with) {
  for (const std::string_view hint : {"ca",
                                      "cg",
                                      "cs",
                                      "lu",
                                      "cv",
                                      "wb",
                                      "wt",
                                      "nc",
                                      "weak",
                                      "unified",
                                      "L1::evict_normal",
                                      "L1::evict_unchanged",
                                      "L1::evict_first",
                                      "L1::evict_last",
                                      "L1::no_allocate",
                                      "L2::64B",
                                      "L2::128B",
                                      "L2::256B",
                                      "L2::evict_first",
                                      "L2::evict_last",
                                      "L2::evict_normal"}) {
    with.take(hint);
  }
}

void take_order_and_scope(Decoding& with, std::string_view strong, Order order) {
  Access& access = with.op.access;
  if (with.take(strong)) {
    with.op.flags |= static_cast<std::uint32_t>(order) << 4;
    access.acquires = order == Order::acquire;
    access.releases = order == Order::release;
    access.strong = true;
  } else {
    access.strong = with.take("relaxed");
  }
  access.scope = with.take_scope().value_or(Scope::system);
  // PTX treats volatile accesses as relaxed ones of the system.
  const bool is_volatile = with.take("volatile");
  const bool is_mmio = with.take("mmio");
  access.strong = access.strong || is_volatile || is_mmio;
}

bool decode_access(Decoding& with, bool loads) {
  const Space space = take_space(with);
  with.op.flags = static_cast<std::uint32_t>(space);
  take_order_and_scope(with, loads ? "acquire" : "release",
                       loads ? Order::acquire : Order::release);
  take_hints(with);
  const std::size_t vector = with.take_one({"v2", "v4", "v8"});
  const Type type = with.take_type();
  Access& access = with.op.access;
  access.kind = loads ? Access::Kind::load : Access::Kind::store;
  access.space = space;
  access.bytes = static_cast<std::uint8_t>(ptx::bytes_of(type));
  access.elements = static_cast<std::uint8_t>(vector == 3 ? 1 : 2 << vector);
  with.need_count(2, 2);
  with.op.a = with.address(loads ? 1 : 0, space, with.op.immediate);
  const Operand& data = with.operand(loads ? 0 : 1);
  if (type == Type::b128) {
    if (loads) {
      with.op.to = with.wide_destination(data);
    } else {
      with.op.b = with.wide_source(data);
    }
    with.op.run = loads ? &load_wide : &store_wide;
    return vector == 3;
  }
  // b64 for f64: the bits are the same.
  const Type plain = type == Type::f64                             ? Type::b64
                     : type == Type::f32                           ? Type::b32
                     : type == Type::f16x2 || type == Type::bf16x2 ? Type::b32
                     : type == Type::f16 || type == Type::bf16     ? Type::b16
                                                                   : type;
  if (vector == 3) {
    if (loads) {
      with.op.to = with.destination_of(data);
    } else {
      with.op.b = with.source_of(data, type);
    }
    return for_any_integer(
        plain, [&]<class T>(std::type_identity<T>) { with.op.run = loads ? &load<T> : &store<T>; });
  }
  if (data.kind != Operand::Kind::vector || data.elements.size() != std::size_t{2} << vector) {
    return false;
  }
  if (loads) {
    add_destinations(with, data);
  } else {
    add_sources(with, data, type);
  }
  return for_any_integer(plain, [&]<class T>(std::type_identity<T>) {
    with.op.run = loads ? &load_vector<T> : &store_vector<T>;
  });
}

bool decode_wide_move(Decoding& with, const Operand& to, const Operand& from) {
  const auto fits = [](const Operand& of) {
    return of.elements.size() == 2 || of.elements.size() == 4;
  };
  if (to.kind == Operand::Kind::vector) {
    add_destinations(with, to);
    with.op.a = with.wide_source(from);
    with.op.run = &unpack_wide;
    return fits(to);
  }
  with.op.to = with.wide_destination(to);
  if (from.kind == Operand::Kind::vector) {
    add_sources(with, from, Type::b64);
    with.op.run = &pack_wide;
    return fits(from);
  }
  with.op.a = with.wide_source(from);
  with.op.run = &move_wide;
  return true;
}

bool decode_move(Decoding& with) {
  const Type type = with.take_type();
  with.need_count(2, 2);
  const Operand& to = with.operand(0);
  const Operand& from = with.operand(1);
  const std::uint32_t bits = 8 * ptx::bytes_of(type);
  if (type == Type::b128) return decode_wide_move(with, to, from);
  if (to.kind == Operand::Kind::vector) {
    add_destinations(with, to);
    with.op.flags = bits / static_cast<std::uint32_t>(std::max<std::size_t>(to.elements.size(), 1));
    with.op.a = with.source_of(from, type);
    with.op.run = &unpack;
    return bits != 0 && to.elements.size() >= 2 && to.elements.size() <= 4;
  }
  if (from.kind == Operand::Kind::vector) {
    add_sources(with, from, Type::b64);
    with.op.flags =
        bits / static_cast<std::uint32_t>(std::max<std::size_t>(from.elements.size(), 1));
    with.op.to = with.destination_of(to);
    with.op.run = &pack;
    return bits != 0 && from.elements.size() >= 2 && from.elements.size() <= 4;
  }
  with.op.to = with.destination_of(to);
  with.op.a = with.source_of(from, type);
  if (type == Type::pred) {
    with.op.run = &move_predicate;
    return true;
  }
  if (from.address) return false;
  const auto plain = [&]<class T>(std::type_identity<T>) { with.op.run = &move<T>; };
  if (type == Type::f32) with.op.run = &move<std::uint32_t>;
  if (type == Type::f64) with.op.run = &move<std::uint64_t>;
  return type == Type::f32 || type == Type::f64 || for_integer(type, plain) ||
         for_bits(type, plain);
}

bool decode_address(Decoding& with) {
  const bool leaves_generic = with.take("to");
  const Space space = take_space(with);
  if (space == Space::generic || with.take_type() != Type::u64) return false;
  with.need_count(2, 2);
  with.op.flags = static_cast<std::uint32_t>(space);
  with.op.to = with.destination(0);
  with.op.a = with.source(1, Type::u64);
  with.op.run = leaves_generic ? &from_generic : &to_generic;
  return true;
}

}  // namespace

std::string hexadecimal(std::uint64_t value) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(value));
  return text.data();
}

std::byte* in_cluster(Lane& lane, std::uint32_t address, std::uint64_t bytes) {
  const char* why = nullptr;
  std::byte* const place = cluster_memory(lane, address, bytes, &why);
  if (place == nullptr) {
    lane.fail(Fault::illegal_address, "an access of " + std::to_string(bytes) + " bytes to " +
                                          hexadecimal(address) + " in the cluster, which is " +
                                          why);
  }
  return place;
}

namespace {

// As a device whose faults Linux resolves: the pages are there now, or the address is illegal.
// Asked again in each turn of a lane, because a program may unmap its memory at any time.
bool brings_in_host_pages(Lane& lane, std::uint64_t address, std::uint64_t bytes) {
  constexpr std::uint64_t page = 4096;
  constexpr std::uint64_t writable = 1;
  const std::uint64_t begin = address / page * page;
  const std::uint64_t length = address + bytes - begin;
  const Access::Kind kind = lane.ops[lane.pc - 1].access.kind;
  const bool reads = kind == Access::Kind::load || kind == Access::Kind::wait;
  std::uint64_t& kept = lane.host_pages[begin / page % host_pages_kept];
  if (length <= page && (kept == (begin | writable) || (reads && kept == begin))) return true;
  auto* const pages = reinterpret_cast<void*>(begin);
  if (!reads && ::madvise(pages, length, MADV_POPULATE_WRITE) == 0) {
    kept = begin | writable;
    return true;
  }
  // Copies have a side of each kind.
  const bool may_read = reads || kind == Access::Kind::none;
  if (!may_read || ::madvise(pages, length, MADV_POPULATE_READ) != 0) return false;
  kept = begin;
  return true;
}

}  // namespace

std::byte* outside_near(Lane& lane, std::uint64_t address, std::uint64_t bytes) {
  if (std::byte* const place = cluster_memory_at(lane, address, bytes)) return place;
  const Range found = lane.block->grid->memory->find(address);
  if (found.holds(address, bytes)) {
    lane.near = found;
    return reinterpret_cast<std::byte*>(address);
  }
  const auto parameters = reinterpret_cast<std::uint64_t>(lane.block->grid->parameters.data());
  if (Range{parameters, parameters + lane.block->grid->parameters.size()}.holds(address, bytes)) {
    return reinterpret_cast<std::byte*>(address);
  }
  if (lane.block->grid->reaches_host_pages && found.end == 0 && address + bytes > address &&
      brings_in_host_pages(lane, address, bytes)) {
    return reinterpret_cast<std::byte*>(address);
  }
  const Cluster& cluster = *lane.block->cluster;
  const bool is_of_cluster =
      cluster.members.size() > 1 &&
      (cluster.rank_of(address) >= 0 || (address >> 32 == 0 && address >> cluster_rank_shift != 0 &&
                                         address >> cluster_rank_shift <= cluster.members.size()));
  lane.fail(Fault::illegal_address,
            "an access of " + std::to_string(bytes) + " bytes to " + hexadecimal(address) +
                (address == 0     ? ", a null pointer"
                 : is_of_cluster  ? ", shared memory of another block of the cluster, which has "
                                    "ended or needs .shared::cluster"
                 : found.end != 0 ? ", beyond the end of an allocation"
                                  : ", which is no memory that a kernel may touch"));
  return nullptr;
}

std::byte* misaligned(Lane& lane, std::uint64_t address, std::uint64_t bytes) {
  lane.fail(Fault::misaligned_address, "an access of " + std::to_string(bytes) + " bytes to " +
                                           hexadecimal(address) + ", which is not aligned to it");
  return nullptr;
}

namespace {

// Calls work(Word{}) with the largest word that `places`, addresses and sizes, are multiples of.
template <class Work>
void by_words(std::uint64_t places, Work work) {
  if (places % 8 == 0) return work(std::uint64_t{});
  if (places % 4 == 0) return work(std::uint32_t{});
  work(std::uint8_t{});
}

}  // namespace

void copy_words(std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto places =
      reinterpret_cast<std::uint64_t>(to) | reinterpret_cast<std::uint64_t>(from) | bytes;
  by_words(places, [&]<class Word>(Word) {
    const bool forwards = to <= from;
    for (std::size_t step = 0; step < bytes; step += sizeof(Word)) {
      const std::size_t at = forwards ? step : bytes - sizeof(Word) - step;
      store_word(to + at, load_word<Word>(from + at, Order::relaxed), Order::relaxed);
    }
  });
}

void zero_words(std::byte* to, std::size_t bytes) {
  by_words(reinterpret_cast<std::uint64_t>(to) | bytes, [&]<class Word>(Word zero) {
    for (std::size_t at = 0; at < bytes; at += sizeof(Word)) {
      store_word(to + at, zero, Order::relaxed);
    }
  });
}

bool decode_memory(Decoding& with) {
  const std::string& name = with.opcode();
  bool known = true;
  if (name == "ld" || name == "ldu" || name == "st") {
    known = decode_access(with, name != "st");
  } else if (name == "mov") {
    known = decode_move(with);
  } else if (name == "cvta") {
    known = decode_address(with);
  } else if (name == "isspacep") {
    const Space space = take_space(with);
    with.need_count(2, 2);
    with.op.flags = static_cast<std::uint32_t>(space);
    with.op.to = with.destination(0);
    with.op.a = with.source(1, Type::u64);
    with.op.run = &is_in_space;
    known = space == Space::global || space == Space::shared || space == Space::cluster ||
            space == Space::local;
  } else if (name == "prefetch" || name == "prefetchu") {
    take_space(with);
    with.take_one({"L1", "L2", "L2::evict_last", "L2::evict_normal"});
    with.need_count(1, 1);
    with.op.run = &nothing;
  } else {
    return false;
  }
  if (!known) with.refuse("this form of the instruction is not known");
  return true;
}

}  // namespace k2k::emulator::exec
