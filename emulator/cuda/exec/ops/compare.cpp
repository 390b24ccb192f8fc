// Comparisons and choices: setp, set, selp, slct. NaN is unequal to everything; the comparisons
// whose names end with u are true for it.

#include <algorithm>
#include <cmath>
#include <string_view>

#include "emulator/cuda/exec/ops/decoding.hpp"
#include "emulator/cuda/exec/ops/dispatch.hpp"
#include "emulator/cuda/exec/ops/real_formats.hpp"

namespace k2k::emulator::exec {

namespace {

using ptx::Type;

enum Compare : std::uint32_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan_ };
enum Combine : std::uint32_t { combine_and, combine_or, combine_xor, combine_none };

// flags: bits 0 to 3 Compare, 4 and 5 Combine, 6 subnormal numbers are zero.
constexpr std::uint32_t flush = 1u << 6;

template <class T>
bool compare(T a, T b, std::uint32_t how) {
  bool unordered = false;
  if constexpr (std::is_floating_point_v<T>) {
    unordered = std::isnan(a) || std::isnan(b);
    if (how == num) return !unordered;
    if (how == nan_) return unordered;
  }
  if (how >= equ) {
    if (unordered) return true;
    how -= equ;
  } else if (unordered) {
    return false;  // Of `ne`, too: PTX's ne is the ordered one.
  }
  switch (how) {
    case eq:
      return a == b;
    case ne:
      return a != b;
    case lt:
      return a < b;
    case le:
      return a <= b;
    case gt:
      return a > b;
    default:
      return a >= b;
  }
}

template <class T>
T compared(const Lane& lane, const Source& source, std::uint32_t flags) {
  const T value = get<T>(lane, source);
  if constexpr (std::is_same_v<T, float>) {
    if ((flags & flush) != 0) return flushed(value);
  }
  return value;
}
// f16 and bf16 are compared as float, which holds all of their values.
struct Half {};
struct Brain {};
template <class T>
bool compare_sources(const Lane& lane, const Op& op) {
  const std::uint32_t how = op.flags & 15;
  if constexpr (std::is_same_v<T, Half>) {
    return compare(float_of_half(get<std::uint16_t>(lane, op.a)),
                   float_of_half(get<std::uint16_t>(lane, op.b)), how);
  } else if constexpr (std::is_same_v<T, Brain>) {
    return compare(float_of_brain(get<std::uint16_t>(lane, op.a)),
                   float_of_brain(get<std::uint16_t>(lane, op.b)), how);
  } else {
    return compare(compared<T>(lane, op.a, op.flags), compared<T>(lane, op.b, op.flags), how);
  }
}

bool combined(const Lane& lane, const Op& op, bool result) {
  const std::uint32_t how = op.flags >> 4 & 3;
  if (how == combine_none) return result;
  const bool other = get_pred(lane, op.c) != op.negated;
  if (how == combine_and) return result && other;
  if (how == combine_or) return result || other;
  return result != other;
}

template <class T>
void set_predicate(Lane& lane, const Op& op) {
  const bool result = compare_sources<T>(lane, op);
  const bool first = combined(lane, op, result);
  const bool second = combined(lane, op, !result);
  put<std::uint32_t>(lane, op.to, first ? 1 : 0);
  if (op.to2 != 0) put<std::uint32_t>(lane, op.to2, second ? 1 : 0);
}
// immediate: what true is.
template <class T>
void set_value(Lane& lane, const Op& op) {
  const bool result = combined(lane, op, compare_sources<T>(lane, op));
  lane.regs[op.to] = result ? op.immediate : 0;
}

void select(Lane& lane, const Op& op) {
  lane.regs[op.to] = bits_of(lane, get_pred(lane, op.c) != op.negated ? op.a : op.b);
}
void select_by_sign(Lane& lane, const Op& op) {
  lane.regs[op.to] = bits_of(lane, get<std::int32_t>(lane, op.c) >= 0 ? op.a : op.b);
}
void select_by_real_sign(Lane& lane, const Op& op) {
  lane.regs[op.to] = bits_of(lane, get<float>(lane, op.c) >= 0 ? op.a : op.b);
}

bool take_compare(Decoding& with) {
  const std::size_t how = with.take_one(
      {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  if (how < 14) {
    with.op.flags = static_cast<std::uint32_t>(how);
    return true;
  }
  // Unsigned integers: lower, same, higher.
  const std::size_t old = with.take_one({"lo", "ls", "hi", "hs"});
  constexpr std::uint32_t as[] = {lt, le, gt, ge};
  if (old > 3) return false;
  with.op.flags = as[old];
  return true;
}

template <template <class> class Choose>
bool choose(Decoding& with, Type type) {
  const auto pick = [&]<class T>(std::type_identity<T>) { with.op.run = Choose<T>::handler; };
  if (type == Type::f16 || type == Type::bf16) {
    with.op.run = type == Type::f16 ? Choose<Half>::handler : Choose<Brain>::handler;
    return true;
  }
  return for_integer(type, pick) || for_bits(type, pick) || for_real(type, pick);
}
template <class T>
struct Predicate {
  static constexpr Handler handler = &set_predicate<T>;
};
template <class T>
struct Value {
  static constexpr Handler handler = &set_value<T>;
};

// The compared type is the last one: `set.lt.u32.s32` gives u32.
bool decode_set(Decoding& with, bool predicate) {
  if (!take_compare(with)) return false;
  const std::size_t how = with.take_one({"and", "or", "xor"});
  with.op.flags |= static_cast<std::uint32_t>(how) << 4;
  if (with.take("ftz")) with.op.flags |= flush;
  if (!predicate) {
    const Type result = with.take_type();
    if (result == Type::f32) {
      with.op.immediate = 0x3f800000;
    } else if (ptx::bytes_of(result) == 4 && !ptx::is_float(result)) {
      with.op.immediate = 0xffffffff;
    } else {
      return false;
    }
  }
  const Type type = with.take_type();
  with.need_count(how < 3 ? 4 : 3, how < 3 ? 4 : 3);
  if (predicate) {
    with.destinations(0);
  } else {
    with.op.to = with.destination(0);
  }
  with.op.a = with.source(1, type);
  with.op.b = with.source(2, type);
  if (how < 3) with.op.c = with.source(3, Type::pred);
  return predicate ? choose<Predicate>(with, type) : choose<Value>(with, type);
}

}  // namespace

bool decode_compare(Decoding& with) {
  const std::string& name = with.opcode();
  if (name == "setp" || name == "set") {
    if (!decode_set(with, name == "setp")) with.refuse("this comparison is not known");
    return true;
  }
  if (name != "selp" && name != "slct") return false;
  with.need_count(4, 4);
  const bool flushes = with.take("ftz");
  const Type type = with.take_type();
  with.op.to = with.destination(0);
  with.op.a = with.source(1, type);
  with.op.b = with.source(2, type);
  if (name == "selp") {
    if (flushes) with.refuse("the modifier .ftz does not belong here");
    with.op.c = with.source(3, Type::pred);
    with.op.run = &select;
    return true;
  }
  const Type by = with.take_type();
  with.op.c = with.source(3, by);
  if (by != Type::s32 && by != Type::f32) with.refuse("a choice by another type");
  with.op.run = by == Type::s32 ? &select_by_sign : &select_by_real_sign;
  return true;
}

}  // namespace k2k::emulator::exec
