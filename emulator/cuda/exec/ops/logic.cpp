// Bits: logic, shifts, fields, permutations. A shift by more than the width gives 0 or the sign.

#include <algorithm>
#include <bit>
#include <string_view>

#include "emulator/cuda/exec/ops/decoding.hpp"
#include "emulator/cuda/exec/ops/dispatch.hpp"

namespace k2k::emulator::exec {

namespace {

using ptx::Type;

template <class T, class F>
void bitwise(Lane& lane, const Op& op) {
  put<T>(lane, op.to, F::template of<T>(get<T>(lane, op.a), get<T>(lane, op.b)));
}
template <class F>
void of_predicates(Lane& lane, const Op& op) {
  put<std::uint32_t>(
      lane, op.to,
      F::template of<std::uint32_t>(get_pred(lane, op.a) ? 1 : 0, get_pred(lane, op.b) ? 1 : 0));
}
template <class T>
void complement(Lane& lane, const Op& op) {
  put<T>(lane, op.to, static_cast<T>(~get<T>(lane, op.a)));
}
void not_predicate(Lane& lane, const Op& op) {
  put<std::uint32_t>(lane, op.to, get_pred(lane, op.a) ? 0 : 1);
}
template <class T>
void is_zero(Lane& lane, const Op& op) {
  put<T>(lane, op.to, get<T>(lane, op.a) == 0 ? 1 : 0);
}
template <class T>
void shift_left(Lane& lane, const Op& op) {
  const auto by = get<std::uint32_t>(lane, op.b);
  const T a = get<T>(lane, op.a);
  put<T>(lane, op.to, by >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << by));
}
template <class T>
void shift_right(Lane& lane, const Op& op) {
  constexpr std::uint32_t width = 8 * sizeof(T);
  const auto by = get<std::uint32_t>(lane, op.b);
  const T a = get<T>(lane, op.a);
  if constexpr (std::is_signed_v<T>) {
    put<T>(lane, op.to, static_cast<T>(a >> std::min(by, width - 1)));
  } else {
    put<T>(lane, op.to, by >= width ? T{0} : static_cast<T>(a >> by));
  }
}

// flags: the truth table.
void logic3(Lane& lane, const Op& op) {
  const auto a = get<std::uint32_t>(lane, op.a);
  const auto b = get<std::uint32_t>(lane, op.b);
  const auto c = get<std::uint32_t>(lane, op.c);
  std::uint32_t all = 0;
  for (std::uint32_t row = 0; row < 8; ++row) {
    if ((op.flags >> row & 1) == 0) continue;
    all |= ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
  }
  put<std::uint32_t>(lane, op.to, all);
}

// The funnel of b:a. flags: 1 to the right, 2 the amount wraps.
void funnel(Lane& lane, const Op& op) {
  const std::uint64_t both = static_cast<std::uint64_t>(get<std::uint32_t>(lane, op.b)) << 32 |
                             get<std::uint32_t>(lane, op.a);
  const auto raw = get<std::uint32_t>(lane, op.c);
  const std::uint32_t by = (op.flags & 2) != 0 ? raw & 31 : std::min(raw, 32u);
  put<std::uint32_t>(
      lane, op.to,
      static_cast<std::uint32_t>((op.flags & 1) != 0 ? both >> by : (both << by) >> 32));
}

// The bytes of b:a by number. flags: the mode, 0 the general one.
void permute(Lane& lane, const Op& op) {
  const std::uint64_t both = static_cast<std::uint64_t>(get<std::uint32_t>(lane, op.b)) << 32 |
                             get<std::uint32_t>(lane, op.a);
  const auto choice = get<std::uint32_t>(lane, op.c);
  const std::uint32_t low = choice & 3;
  const auto selector = [&](std::uint32_t at) -> std::uint32_t {
    switch (op.flags) {
      case 1:  // f4e
        return low + at;
      case 2:  // b4e
        return (8 + low - at) & 7;
      case 3:  // rc8
        return low;
      case 4:  // ecl
        return std::max(at, low);
      case 5:  // ecr
        return std::min(at, low);
      case 6:  // rc16
        return ((low & 1) << 1) + (at & 1);
      default:
        return choice >> (4 * at) & 15;
    }
  };
  std::uint32_t all = 0;
  for (std::uint32_t at = 0; at < 4; ++at) {
    const std::uint32_t wanted = selector(at);
    auto byte = static_cast<std::uint8_t>(both >> (8 * (wanted & 7)));
    if ((wanted & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;  // The sign of the byte.
    all |= static_cast<std::uint32_t>(byte) << (8 * at);
  }
  put<std::uint32_t>(lane, op.to, all);
}

template <class T>
void count_bits(Lane& lane, const Op& op) {
  put<std::uint32_t>(lane, op.to, static_cast<std::uint32_t>(std::popcount(get<T>(lane, op.a))));
}
template <class T>
void leading_zeros(Lane& lane, const Op& op) {
  put<std::uint32_t>(lane, op.to, static_cast<std::uint32_t>(std::countl_zero(get<T>(lane, op.a))));
}
// The highest bit that is not the sign. flags: 1 as the amount that shifts it to the top.
template <class T>
void find_bit(Lane& lane, const Op& op) {
  using U = std::make_unsigned_t<T>;
  const T a = get<T>(lane, op.a);
  const auto bits = static_cast<U>(std::is_signed_v<T> && a < 0 ? ~a : a);
  const auto zeros = static_cast<std::uint32_t>(std::countl_zero(bits));
  constexpr std::uint32_t width = 8 * sizeof(T);
  const std::uint32_t at = (op.flags & 1) != 0 ? zeros : width - 1 - zeros;
  put<std::uint32_t>(lane, op.to, bits == 0 ? ~0u : at);
}
template <class T>
void reverse(Lane& lane, const Op& op) {
  T a = get<T>(lane, op.a);
  T all = 0;
  for (std::size_t at = 0; at < 8 * sizeof(T); ++at, a >>= 1) {
    all = static_cast<T>(all << 1 | (a & 1));
  }
  put<T>(lane, op.to, all);
}
template <class T>
void extract(Lane& lane, const Op& op) {
  using U = std::make_unsigned_t<T>;
  constexpr std::uint32_t width = 8 * sizeof(T);
  const auto a = get<U>(lane, op.a);
  const std::uint32_t from = get<std::uint32_t>(lane, op.b) & 0xff;
  const std::uint32_t count = get<std::uint32_t>(lane, op.c) & 0xff;
  // What lies beyond the word is the sign, of an unsigned one 0.
  const bool negative =
      std::is_signed_v<T> && count != 0 && (a >> std::min(from + count - 1, width - 1) & 1) != 0;
  U all = negative ? static_cast<U>(~U{0}) : U{0};
  for (std::uint32_t at = 0; at < std::min(count, width); ++at) {
    if (from + at >= width) break;
    const U bit = U{1} << at;
    all = (a >> (from + at) & 1) != 0 ? all | bit : all & ~bit;
  }
  put<T>(lane, op.to, static_cast<T>(all));
}
template <class T>
void insert(Lane& lane, const Op& op) {
  const T a = get<T>(lane, op.a);
  T all = get<T>(lane, op.b);
  const std::uint32_t from = get<std::uint32_t>(lane, op.c) & 0xff;
  const std::uint32_t count = get<std::uint32_t>(lane, op.d) & 0xff;
  for (std::uint32_t at = 0; at < count && from + at < 8 * sizeof(T); ++at) {
    const T bit = T{1} << (from + at);
    all = (a >> at & 1) != 0 ? all | bit : all & ~bit;
  }
  put<T>(lane, op.to, all);
}
// flags: 1 wraps, else clamps.
void bit_mask(Lane& lane, const Op& op) {
  const auto wraps = (op.flags & 1) != 0;
  auto from = get<std::uint32_t>(lane, op.a);
  auto count = get<std::uint32_t>(lane, op.b);
  from = wraps ? from & 31 : std::min(from, 32u);
  count = wraps ? count & 31 : std::min(count, 32u);
  const std::uint64_t ones = (std::uint64_t{1} << count) - 1;
  put<std::uint32_t>(lane, op.to, static_cast<std::uint32_t>(ones << from));
}

template <class F>
bool two(Decoding& with) {
  const Type type = with.take_type();
  with.need_count(3, 3);
  with.op.to = with.destination(0);
  with.op.a = with.source(1, type);
  with.op.b = with.source(2, type);
  if (type == Type::pred) {
    if (with.op.negated) with.refuse("a negated operand");
    with.op.run = &of_predicates<F>;
    return true;
  }
  return for_bits(type, [&]<class T>(std::type_identity<T>) { with.op.run = &bitwise<T, F>; });
}

template <class Of>
bool one(Decoding& with, Type type, Of&& handler_of) {
  with.need_count(2, 2);
  with.op.to = with.destination(0);
  with.op.a = with.source(1, type);
  return for_bits(type, handler_of);
}

bool shift(Decoding& with, bool left) {
  const Type type = with.take_type();
  with.need_count(3, 3);
  with.op.to = with.destination(0);
  with.op.a = with.source(1, type);
  with.op.b = with.source(2, Type::u32);
  if (left) {
    return for_bits(type, [&]<class T>(std::type_identity<T>) { with.op.run = &shift_left<T>; });
  }
  const auto right = [&]<class T>(std::type_identity<T>) { with.op.run = &shift_right<T>; };
  return for_bits(type, right) || for_integer(type, right);
}

void three(Decoding& with) {
  with.op.to = with.destination(0);
  with.op.a = with.source(1, Type::b32);
  with.op.b = with.source(2, Type::b32);
  with.op.c = with.source(3, Type::b32);
}

bool funnel_shift(Decoding& with) {
  const std::size_t side = with.take_one({"l", "r"});
  const std::size_t mode = with.take_one({"clamp", "wrap"});
  with.need_count(4, 4);
  three(with);
  with.op.flags = static_cast<std::uint32_t>(side | mode << 1);
  with.op.run = &funnel;
  return side < 2 && mode < 2 && with.take_type() == Type::b32;
}

bool fields(Decoding& with, bool inserts) {
  const Type type = with.take_type();
  with.need_count(inserts ? 5 : 4, inserts ? 5 : 4);
  with.op.to = with.destination(0);
  with.op.a = with.source(1, type);
  with.op.b = with.source(2, inserts ? type : Type::u32);
  with.op.c = with.source(3, Type::u32);
  if (inserts) {
    with.op.d = with.source(4, Type::u32);
    return for_bits(type,
                    [&]<class T>(std::type_identity<T>) {
                      if constexpr (sizeof(T) >= 4) with.op.run = &insert<T>;
                    }) &&
           type != Type::b16;
  }
  return for_integer(type,
                     [&]<class T>(std::type_identity<T>) {
                       if constexpr (sizeof(T) >= 4) with.op.run = &extract<T>;
                     }) &&
         ptx::bytes_of(type) >= 4;
}

bool decode_bits(Decoding& with, std::string_view name) {
  if (name == "and") return two<And>(with);
  if (name == "or") return two<Or>(with);
  if (name == "xor") return two<Xor>(with);
  if (name == "shl") return shift(with, true);
  if (name == "shr") return shift(with, false);
  if (name == "shf") return funnel_shift(with);
  if (name == "bfe") return fields(with, false);
  if (name == "bfi") return fields(with, true);
  if (name == "lop3") {
    with.need_count(5, 5);
    three(with);
    const Source table = with.source(4, Type::b32);
    with.op.flags = static_cast<std::uint32_t>(table.value & 0xff);
    with.op.run = &logic3;
    return table.kind == Source::Kind::constant && with.take_type() == Type::b32;
  }
  if (name == "prmt") {
    with.need_count(4, 4);
    three(with);
    const std::size_t mode = with.take_one({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
    with.op.flags = mode < 6 ? static_cast<std::uint32_t>(mode) + 1 : 0;
    with.op.run = &permute;
    return with.take_type() == Type::b32;
  }
  if (name == "bmsk") {
    const std::size_t mode = with.take_one({"clamp", "wrap"});
    with.need_count(3, 3);
    with.op.to = with.destination(0);
    with.op.a = with.source(1, Type::b32);
    with.op.b = with.source(2, Type::b32);
    with.op.flags = mode == 1 ? 1 : 0;
    with.op.run = &bit_mask;
    return mode < 2 && with.take_type() == Type::b32;
  }
  if (name == "bfind") {
    with.op.flags = with.take("shiftamt") ? 1 : 0;
    const Type type = with.take_type();
    with.need_count(2, 2);
    with.op.to = with.destination(0);
    with.op.a = with.source(1, type);
    return for_integer(type,
                       [&]<class T>(std::type_identity<T>) {
                         if constexpr (sizeof(T) >= 4) with.op.run = &find_bit<T>;
                       }) &&
           ptx::bytes_of(type) >= 4;
  }
  const Type type = with.take_type();
  if (name == "not" && type == Type::pred) {
    with.need_count(2, 2);
    with.op.to = with.destination(0);
    with.op.a = with.source(1, type);
    with.op.run = &not_predicate;
    return !with.op.negated;
  }
  const bool wide = ptx::bytes_of(type) >= 4;
  if (name == "not") {
    return one(with, type, [&]<class T>(std::type_identity<T>) { with.op.run = &complement<T>; });
  }
  if (name == "cnot") {
    return one(with, type, [&]<class T>(std::type_identity<T>) { with.op.run = &is_zero<T>; });
  }
  if (name == "popc") {
    return wide &&
           one(with, type, [&]<class T>(std::type_identity<T>) { with.op.run = &count_bits<T>; });
  }
  if (name == "clz") {
    return wide && one(with, type,
                       [&]<class T>(std::type_identity<T>) { with.op.run = &leading_zeros<T>; });
  }
  return wide &&
         one(with, type, [&]<class T>(std::type_identity<T>) { with.op.run = &reverse<T>; });
}

}  // namespace

bool decode_logic(Decoding& with) {
  static constexpr std::string_view known[] = {"and", "or",  "xor",  "not",  "cnot", "shl",
                                               "shr", "shf", "lop3", "prmt", "popc", "clz",
                                               "bfe", "bfi", "bmsk", "brev", "bfind"};
  if (std::find(std::begin(known), std::end(known), with.opcode()) == std::end(known)) return false;
  if (!decode_bits(with, with.opcode())) with.refuse("this form of the instruction is not known");
  return true;
}

}  // namespace k2k::emulator::exec
