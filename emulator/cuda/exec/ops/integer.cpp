// Integer arithmetic. Values wrap as on the device: signed arithmetic is done on unsigned bits.
// Division by zero gives all ones, a remainder by zero the dividend: PTX leaves both open.

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "emulator/cuda/exec/ops/decoding.hpp"
#include "emulator/cuda/exec/ops/dispatch.hpp"

namespace k2k::emulator::exec {

namespace {

using ptx::Type;

template <class T>
using Bits = std::make_unsigned_t<T>;

// Twice as wide, with the same sign.
template <class T>
struct WideOf;
template <>
struct WideOf<std::uint16_t> : std::type_identity<std::uint32_t> {};
template <>
struct WideOf<std::int16_t> : std::type_identity<std::int32_t> {};
template <>
struct WideOf<std::uint32_t> : std::type_identity<std::uint64_t> {};
template <>
struct WideOf<std::int32_t> : std::type_identity<std::int64_t> {};
__extension__ using Unsigned128 = unsigned __int128;
__extension__ using Signed128 = __int128;
template <>
struct WideOf<std::uint64_t> : std::type_identity<Unsigned128> {};
template <>
struct WideOf<std::int64_t> : std::type_identity<Signed128> {};
template <class T>
using Wide = typename WideOf<T>::type;

template <class T>
T wrap(Wide<T> value) {
  return static_cast<T>(value);
}
template <class T>
Wide<T> product(T a, T b) {
  return static_cast<Wide<T>>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
}
template <class T>
T sum(T a, T b) {
  return static_cast<T>(static_cast<Bits<T>>(static_cast<Bits<T>>(a) + static_cast<Bits<T>>(b)));
}
template <class T>
T difference(T a, T b) {
  return static_cast<T>(static_cast<Bits<T>>(static_cast<Bits<T>>(a) - static_cast<Bits<T>>(b)));
}

struct Add {
  template <class T>
  static T of(T a, T b) {
    return sum(a, b);
  }
};
struct Subtract {
  template <class T>
  static T of(T a, T b) {
    return difference(a, b);
  }
};
// Of s32 alone.
struct AddSaturating {
  template <class T>
  static T of(T a, T b) {
    const Wide<T> exact = static_cast<Wide<T>>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b));
    return static_cast<T>(
        std::clamp<Wide<T>>(exact, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
};
struct SubtractSaturating {
  template <class T>
  static T of(T a, T b) {
    const Wide<T> exact = static_cast<Wide<T>>(static_cast<Wide<T>>(a) - static_cast<Wide<T>>(b));
    return static_cast<T>(
        std::clamp<Wide<T>>(exact, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
};
struct MultiplyLow {
  template <class T>
  static T of(T a, T b) {
    return wrap<T>(product(a, b));
  }
};
struct MultiplyHigh {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(product(a, b) >> (8 * sizeof(T)));
  }
};
struct Divide {
  template <class T>
  static T of(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return difference(T{0}, a);  // The smallest number by -1 overflows.
    }
    return static_cast<T>(a / b);
  }
};
struct Remainder {
  template <class T>
  static T of(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
};
template <class T, class F>
void binary(Lane& lane, const Op& op) {
  put<T>(lane, op.to, F::template of<T>(get<T>(lane, op.a), get<T>(lane, op.b)));
}
template <class T>
void multiply_wide(Lane& lane, const Op& op) {
  put<Wide<T>>(lane, op.to, product(get<T>(lane, op.a), get<T>(lane, op.b)));
}
template <class T, class F>
void multiply_add(Lane& lane, const Op& op) {
  put<T>(lane, op.to,
         sum(F::template of<T>(get<T>(lane, op.a), get<T>(lane, op.b)), get<T>(lane, op.c)));
}
template <class T>
void multiply_add_wide(Lane& lane, const Op& op) {
  using W = Wide<T>;
  put<W>(lane, op.to, sum(product(get<T>(lane, op.a), get<T>(lane, op.b)), get<W>(lane, op.c)));
}
// mad.hi.sat.s32
void multiply_add_saturating(Lane& lane, const Op& op) {
  using T = std::int32_t;
  put<T>(lane, op.to,
         AddSaturating::of(MultiplyHigh::of(get<T>(lane, op.a), get<T>(lane, op.b)),
                           get<T>(lane, op.c)));
}
template <class T>
void sum_of_difference(Lane& lane, const Op& op) {
  const T a = get<T>(lane, op.a);
  const T b = get<T>(lane, op.b);
  put<T>(lane, op.to, sum(get<T>(lane, op.c), a < b ? difference(b, a) : difference(a, b)));
}
template <class T>
void absolute(Lane& lane, const Op& op) {
  const T a = get<T>(lane, op.a);
  put<T>(lane, op.to, a < 0 ? difference(T{0}, a) : a);
}
template <class T>
void negate(Lane& lane, const Op& op) {
  put<T>(lane, op.to, difference(T{0}, get<T>(lane, op.a)));
}

// mul24, mad24: the lower 24 bits of each factor. flags: 1 the upper 32 of 48 bits.
template <class T>
T product24(const Lane& lane, const Op& op) {
  const auto narrow = [](T value) {
    return static_cast<T>(static_cast<T>(static_cast<std::uint32_t>(value) << 8) >> 8);
  };
  const Wide<T> all = product(narrow(get<T>(lane, op.a)), narrow(get<T>(lane, op.b)));
  return static_cast<T>((op.flags & 1) != 0 ? all >> 16 : all);
}
template <class T>
void multiply24(Lane& lane, const Op& op) {
  put<T>(lane, op.to, product24<T>(lane, op));
}
template <class T>
void multiply_add24(Lane& lane, const Op& op) {
  put<T>(lane, op.to, sum(product24<T>(lane, op), get<T>(lane, op.c)));
}

// With the carry. flags: 1 reads it, 2 writes it.
template <class T, bool subtracts>
void with_carry(Lane& lane, const Op& op) {
  const T a = get<T>(lane, op.a);
  const T b = get<T>(lane, op.b);
  const Wide<T> in = (op.flags & 1) != 0 && lane.carry ? 1 : 0;
  const Wide<T> all =
      subtracts ? static_cast<Wide<T>>(a) - b - in : static_cast<Wide<T>>(a) + b + in;
  if ((op.flags & 2) != 0) lane.carry = (all >> (8 * sizeof(T)) & 1) != 0;
  put<T>(lane, op.to, static_cast<T>(all));
}
// flags: 4 the upper half of the product.
template <class T>
void multiply_add_carry(Lane& lane, const Op& op) {
  using U = Bits<T>;
  const T a = get<T>(lane, op.a);
  const T b = get<T>(lane, op.b);
  const auto part =
      static_cast<U>((op.flags & 4) != 0 ? MultiplyHigh::of(a, b) : MultiplyLow::of(a, b));
  const Wide<U> in = (op.flags & 1) != 0 && lane.carry ? 1 : 0;
  const Wide<U> all = static_cast<Wide<U>>(part) + get<U>(lane, op.c) + in;
  if ((op.flags & 2) != 0) lane.carry = (all >> (8 * sizeof(T)) & 1) != 0;
  put<T>(lane, op.to, static_cast<T>(all));
}

// flags: 1 a signed, 2 b signed; 4 the upper pair (dp2a).
template <int elements>
void dot_product(Lane& lane, const Op& op) {
  constexpr int bits = 32 / elements;
  const auto a = get<std::uint32_t>(lane, op.a);
  const auto b = get<std::uint32_t>(lane, op.b);
  auto all = get<std::uint32_t>(lane, op.c);
  for (int at = 0; at < elements; ++at) {
    const std::uint32_t raw_a = a >> (bits * at);
    const std::uint32_t raw_b = b >> (8 * (at + ((op.flags & 4) != 0 ? 2 : 0)));
    std::int32_t left =
        bits == 8 ? static_cast<std::uint8_t>(raw_a) : static_cast<std::uint16_t>(raw_a);
    if ((op.flags & 1) != 0) {
      left = bits == 8 ? static_cast<std::int8_t>(raw_a) : static_cast<std::int16_t>(raw_a);
    }
    const std::int32_t right = (op.flags & 2) != 0 ? static_cast<std::int8_t>(raw_b)
                                                   : std::int32_t{static_cast<std::uint8_t>(raw_b)};
    all += static_cast<std::uint32_t>(left * right);
  }
  put<std::uint32_t>(lane, op.to, all);
}

void sources(Decoding& with, std::size_t number, Type type) {
  with.need_count(number + 1, number + 1);
  with.op.to = with.destination(0);
  Source* const all[] = {&with.op.a, &with.op.b, &with.op.c, &with.op.d};
  for (std::size_t at = 0; at < number; ++at) *all[at] = with.source(at + 1, type);
}

Type wide_type(Type type) {
  switch (type) {
    case Type::u16:
      return Type::u32;
    case Type::s16:
      return Type::s32;
    case Type::u32:
      return Type::u64;
    default:
      return Type::s64;
  }
}

template <class F>
bool plain(Decoding& with) {
  const Type type = with.take_type();
  sources(with, 2, type);
  return for_integer(type, [&]<class T>(std::type_identity<T>) { with.op.run = &binary<T, F>; });
}

template <bool subtracts>
bool add_or_subtract(Decoding& with, bool reads_carry) {
  const bool writes_carry = with.take("cc");
  const bool saturates = with.take("sat");
  const Type type = with.take_type();
  sources(with, 2, type);
  if (reads_carry || writes_carry) {
    with.op.flags = (reads_carry ? 1u : 0u) | (writes_carry ? 2u : 0u);
    const bool wide = ptx::bytes_of(type) == 8;
    with.op.run =
        wide ? &with_carry<std::uint64_t, subtracts> : &with_carry<std::uint32_t, subtracts>;
    return !saturates && ptx::bytes_of(type) >= 4;
  }
  if (saturates) {
    if (type != Type::s32) with.refuse("only s32 saturates");
    with.op.run = subtracts ? &binary<std::int32_t, SubtractSaturating>
                            : &binary<std::int32_t, AddSaturating>;
    return true;
  }
  return for_integer(type, [&]<class T>(std::type_identity<T>) {
    with.op.run = subtracts ? &binary<T, Subtract> : &binary<T, Add>;
  });
}

bool multiply(Decoding& with) {
  const std::size_t part = with.take_one({"lo", "hi", "wide"});
  if (part > 2) return false;
  const Type type = with.take_type();
  sources(with, 2, type);
  if (part == 2) {
    return for_integer(type,
                       [&]<class T>(std::type_identity<T>) {
                         if constexpr (sizeof(T) < 8) with.op.run = &multiply_wide<T>;
                       }) &&
           ptx::bytes_of(type) < 8;
  }
  return for_integer(type, [&]<class T>(std::type_identity<T>) {
    with.op.run = part == 0 ? &binary<T, MultiplyLow> : &binary<T, MultiplyHigh>;
  });
}

bool multiply_then_add(Decoding& with, bool reads_carry) {
  const std::size_t part = with.take_one({"lo", "hi", "wide"});
  if (part > 2) return false;
  const bool writes_carry = with.take("cc");
  const bool saturates = with.take("sat");
  const Type type = with.take_type();
  sources(with, 3, type);
  if (part == 2) {
    with.op.c = with.source(3, wide_type(type));
    return !reads_carry && !writes_carry && !saturates && ptx::bytes_of(type) < 8 &&
           for_integer(
               type,
               [&]<class T>(std::type_identity<T>) {
                 if constexpr (sizeof(T) < 8) with.op.run = &multiply_add_wide<T>;
               });
  }
  if (reads_carry || writes_carry) {
    with.op.flags = (reads_carry ? 1u : 0u) | (writes_carry ? 2u : 0u) | (part == 1 ? 4u : 0u);
    return !saturates && ptx::bytes_of(type) >= 4 &&
           for_integer(type, [&]<class T>(std::type_identity<T>) {
             if constexpr (sizeof(T) >= 4) with.op.run = &multiply_add_carry<T>;
           });
  }
  if (saturates) {
    with.op.run = &multiply_add_saturating;
    return part == 1 && type == Type::s32;
  }
  return for_integer(type, [&]<class T>(std::type_identity<T>) {
    with.op.run = part == 0 ? &multiply_add<T, MultiplyLow> : &multiply_add<T, MultiplyHigh>;
  });
}

bool of_24_bits(Decoding& with, bool adds) {
  const std::size_t part = with.take_one({"lo", "hi"});
  if (part > 1) return false;
  with.op.flags = part == 1 ? 1 : 0;
  const Type type = with.take_type();
  sources(with, adds ? 3 : 2, type);
  if (type == Type::u32) {
    with.op.run = adds ? &multiply_add24<std::uint32_t> : &multiply24<std::uint32_t>;
    return true;
  }
  with.op.run = adds ? &multiply_add24<std::int32_t> : &multiply24<std::int32_t>;
  return type == Type::s32;
}

bool dot(Decoding& with, bool pairs) {
  const std::size_t half = pairs ? with.take_one({"lo", "hi"}) : 0;
  const Type a = with.take_type();
  const Type b = with.has_type() ? with.take_type() : a;
  sources(with, 3, Type::b32);
  with.op.flags = (a == Type::s32 ? 1u : 0u) | (b == Type::s32 ? 2u : 0u) | (half == 1 ? 4u : 0u);
  with.op.run = pairs ? &dot_product<2> : &dot_product<4>;
  return half < 2;
}

template <class Of>
bool signed_unary(Decoding& with, Of&& handler_of) {
  const Type type = with.take_type();
  sources(with, 1, type);
  return ptx::is_signed(type) && for_integer(type, handler_of);
}

bool decode_known(Decoding& with, const std::string& name) {
  if (name == "add") return add_or_subtract<false>(with, false);
  if (name == "addc") return add_or_subtract<false>(with, true);
  if (name == "sub") return add_or_subtract<true>(with, false);
  if (name == "subc") return add_or_subtract<true>(with, true);
  if (name == "mul") return multiply(with);
  if (name == "mad") return multiply_then_add(with, false);
  if (name == "madc") return multiply_then_add(with, true);
  if (name == "mul24") return of_24_bits(with, false);
  if (name == "mad24") return of_24_bits(with, true);
  if (name == "div") return plain<Divide>(with);
  if (name == "rem") return plain<Remainder>(with);
  if (name == "min") return plain<Minimum>(with);
  if (name == "max") return plain<Maximum>(with);
  if (name == "dp4a") return dot(with, false);
  if (name == "dp2a") return dot(with, true);
  if (name == "sad") {
    const Type type = with.take_type();
    sources(with, 3, type);
    return for_integer(
        type, [&]<class T>(std::type_identity<T>) { with.op.run = &sum_of_difference<T>; });
  }
  if (name == "abs") {
    return signed_unary(with, [&]<class T>(std::type_identity<T>) {
      if constexpr (std::is_signed_v<T>) with.op.run = &absolute<T>;
    });
  }
  return signed_unary(with, [&]<class T>(std::type_identity<T>) { with.op.run = &negate<T>; });
}

}  // namespace

bool decode_integer(Decoding& with) {
  static constexpr std::string_view known[] = {"add",  "addc",  "sub",   "subc", "mul", "mad",
                                               "madc", "mul24", "mad24", "div",  "rem", "min",
                                               "max",  "dp4a",  "dp2a",  "sad",  "abs", "neg"};
  if (std::find(std::begin(known), std::end(known), with.opcode()) == std::end(known)) return false;
  // The same words with real types are others' (float.cpp, half.cpp).
  for (const std::string& modifier : with.in.modifiers) {
    const std::optional<Type> type = ptx::type_of(modifier);
    if (type && ptx::is_float(*type)) return false;
    if (modifier.starts_with("bf16") || modifier.ends_with("x2")) return false;
  }
  if (!decode_known(with, with.opcode())) with.refuse("this form of the instruction is not known");
  return true;
}

}  // namespace k2k::emulator::exec
