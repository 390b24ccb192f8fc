// cvt: between integers, f16, bf16, f32 and f64. Integers from reals saturate, NaN becomes 0 (of
// f64 into 64 bits, too: what PTX leaves open). Also pairs: cvt.rn.f16x2.f32; and cvt.rna.tf32.f32.

#include <cfenv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "emulator/cuda/exec/ops/decoding.hpp"
#include "emulator/cuda/exec/ops/dispatch.hpp"
#include "emulator/cuda/exec/ops/real_formats.hpp"

namespace k2k::emulator::exec {

namespace {

using ptx::Type;

// flags of cvt.
constexpr std::uint32_t convert_rounding = 3;
constexpr std::uint32_t convert_flush = 4;
constexpr std::uint32_t convert_saturate = 8;
constexpr std::uint32_t convert_to_whole = 16;  // rni, rzi, rmi, rpi
constexpr std::uint32_t convert_relu = 32;

struct HalfBits {};
struct BrainBits {};

int mode_of(std::uint32_t flags) {
  constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  return modes[flags & convert_rounding];
}
Rounding rounding_of(std::uint32_t flags) {
  return static_cast<Rounding>(flags & convert_rounding);
}

double to_whole(double value, std::uint32_t flags) {
  switch (rounding_of(flags)) {
    case Rounding::nearest:
      return std::nearbyint(value);  // The mode is to nearest.
    case Rounding::zero:
      return std::trunc(value);
    case Rounding::down:
      return std::floor(value);
    default:
      return std::ceil(value);
  }
}

template <class From>
double real_operand(const Lane& lane, const Source& source, std::uint32_t flags) {
  if constexpr (std::is_same_v<From, HalfBits>) {
    return static_cast<double>(float_of_half(get<std::uint16_t>(lane, source)));
  } else if constexpr (std::is_same_v<From, BrainBits>) {
    return static_cast<double>(float_of_brain(get<std::uint16_t>(lane, source)));
  } else if constexpr (std::is_same_v<From, float>) {
    const float value = get<float>(lane, source);
    return static_cast<double>((flags & convert_flush) != 0 ? flushed(value) : value);
  } else {
    return get<double>(lane, source);
  }
}

[[gnu::noinline]] float narrowed(double value) { return static_cast<float>(value); }
template <class To, class From>
[[gnu::noinline]] To real_of(From value) {
  return static_cast<To>(value);
}

float float_rounded(double value, std::uint32_t flags) {
  std::fesetround(mode_of(flags));
  const float result = narrowed(value);
  std::fesetround(FE_TONEAREST);
  return result;
}

template <class To>
void put_real(Lane& lane, std::uint32_t to, std::uint32_t flags, double value) {
  if ((flags & convert_to_whole) != 0) value = to_whole(value, flags);
  if ((flags & convert_saturate) != 0) {
    value = std::isnan(value) || value <= 0 ? 0.0 : value >= 1 ? 1.0 : value;
  }
  if ((flags & convert_relu) != 0 && value <= 0) value = 0;
  if constexpr (std::is_same_v<To, HalfBits>) {
    lane.regs[to] = half_of(value, rounding_of(flags));
  } else if constexpr (std::is_same_v<To, BrainBits>) {
    lane.regs[to] = brain_of(value, rounding_of(flags));
  } else if constexpr (std::is_same_v<To, float>) {
    float result = float_rounded(value, flags);
    if ((flags & convert_flush) != 0) result = flushed(result);
    lane.regs[to] = std::isnan(result) ? nan32 : std::bit_cast<std::uint32_t>(result);
  } else {
    lane.regs[to] = std::isnan(value) ? 0x7ff8000000000000 : std::bit_cast<std::uint64_t>(value);
  }
}

template <class To, class From>
void convert_real(Lane& lane, const Op& op) {
  put_real<To>(lane, op.to, op.flags, real_operand<From>(lane, op.a, op.flags));
}

template <class To, class From>
void integer_to_real(Lane& lane, const Op& op) {
  const From from = get<From>(lane, op.a);
  if constexpr (std::is_same_v<To, float> || std::is_same_v<To, double>) {
    // Rounded once, from the integer itself.
    std::fesetround(mode_of(op.flags));
    const To value = real_of<To>(from);
    std::fesetround(FE_TONEAREST);
    put_real<To>(lane, op.to, op.flags & convert_saturate, static_cast<double>(value));
  } else {
    // 64 bits do not fit into a double, but what is lost there is far beyond these formats: the
    // last bit remembers it.
    std::fesetround(FE_TOWARDZERO);
    double value = real_of<double>(from);
    std::fesetround(FE_TONEAREST);
    if constexpr (sizeof(From) == 8) {
      if (std::fabs(value) > 0x1p53 && static_cast<From>(value) != from) {
        value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) | 1);
      }
    }
    put_real<To>(lane, op.to, op.flags, value);
  }
}

template <class To, class From>
void real_to_integer(Lane& lane, const Op& op) {
  const double value = to_whole(real_operand<From>(lane, op.a, op.flags), op.flags);
  constexpr To least = std::numeric_limits<To>::min();
  constexpr To most = std::numeric_limits<To>::max();
  // 2^n is exact as a double, the largest integer below it may not be.
  const double end = std::ldexp(1.0, std::numeric_limits<To>::digits);
  To result = 0;
  if (std::isnan(value)) {
    result = 0;
  } else if (value >= end) {
    result = most;
  } else if (value <= static_cast<double>(least)) {
    result = least;
  } else {
    result = static_cast<To>(value);
  }
  put<To>(lane, op.to, result);
}

template <class To, class From>
void convert_integer(Lane& lane, const Op& op) {
  const From from = get<From>(lane, op.a);
  To result = static_cast<To>(from);
  if ((op.flags & convert_saturate) != 0) {
    if constexpr (std::is_signed_v<From>) {
      const auto wide = static_cast<std::int64_t>(from);
      if constexpr (std::is_unsigned_v<To>) {
        if (wide < 0) {
          result = 0;
        } else if (static_cast<std::uint64_t>(wide) > std::numeric_limits<To>::max()) {
          result = std::numeric_limits<To>::max();
        }
      } else {
        if (wide < std::numeric_limits<To>::min()) result = std::numeric_limits<To>::min();
        if (wide > std::numeric_limits<To>::max()) result = std::numeric_limits<To>::max();
      }
    } else if (static_cast<std::uint64_t>(from) >
               static_cast<std::uint64_t>(std::numeric_limits<To>::max())) {
      result = std::numeric_limits<To>::max();
    }
  }
  put<To>(lane, op.to, result);
}

// cvt.rn.f16x2.f32 d, a, b: a into the upper half.
template <bool brain>
void convert_pair(Lane& lane, const Op& op) {
  const auto narrow = [&](const Source& source) -> std::uint64_t {
    auto value = static_cast<double>(get<float>(lane, source));
    if ((op.flags & convert_relu) != 0 && value <= 0) value = 0;
    return brain ? brain_of(value, rounding_of(op.flags)) : half_of(value, rounding_of(op.flags));
  };
  lane.regs[op.to] = narrow(op.a) << 16 | narrow(op.b);
}

// f32 with the lower 13 bits of its mantissa zero. flags: rounding, relu. rna: half away from zero.
constexpr std::uint32_t convert_away = 64;

void convert_tf32(Lane& lane, const Op& op) {
  constexpr std::uint32_t rest_bits = 0x1fff;
  constexpr std::uint32_t half = 0x1000;
  float value = get<float>(lane, op.a);
  if ((op.flags & convert_relu) != 0 && value <= 0) value = 0;
  auto bits = std::bit_cast<std::uint32_t>(value);
  const bool is_odd = (bits & (rest_bits + 1)) != 0;
  // The mantissa carries into the exponent by itself.
  if ((op.flags & convert_away) != 0) {
    bits += half;
  } else if (rounding_of(op.flags) == Rounding::nearest) {
    bits += half - (is_odd ? 0 : 1);
  }
  put<std::uint32_t>(lane, op.to,
                     std::isnan(value)   ? nan32
                     : std::isinf(value) ? std::bit_cast<std::uint32_t>(value) & ~rest_bits
                                         : bits & ~rest_bits);
}

// --- Decoding.

bool decode_tf32(Decoding& with) {
  if (with.take("rna")) with.op.flags |= convert_away;
  const bool is_away = (with.op.flags & convert_away) != 0;
  const bool from_f32 = with.take_type() == Type::f32;
  with.need_count(2, 2);
  with.op.to = with.destination(0);
  with.op.a = with.source(1, Type::f32);
  with.op.run = &convert_tf32;
  const std::uint32_t others = with.op.flags & ~(convert_relu | convert_away);
  const bool is_rounded = others <= static_cast<std::uint32_t>(Rounding::zero);
  return from_f32 && is_rounded && !(is_away && (with.op.flags & convert_relu) != 0);
}

template <class Of>
bool for_every_real(Type type, Of&& handler_of) {
  if (type == Type::f16) return handler_of(std::type_identity<HalfBits>{}), true;
  if (type == Type::bf16) return handler_of(std::type_identity<BrainBits>{}), true;
  return for_real(type, handler_of);
}

void take_rounding_of(Decoding& with) {
  const std::size_t how = with.take_one({"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"});
  if (how < 8) with.op.flags |= static_cast<std::uint32_t>(how & 3);
  if (how >= 4 && how < 8) with.op.flags |= convert_to_whole;
  if (with.take("ftz")) with.op.flags |= convert_flush;
  if (with.take("sat")) with.op.flags |= convert_saturate;
  if (with.take("relu")) with.op.flags |= convert_relu;
}

bool decode_pair(Decoding& with, Type to) {
  const Type from = with.take_type();
  with.need_count(3, 3);
  with.op.to = with.destination(0);
  with.op.a = with.source(1, from);
  with.op.b = with.source(2, from);
  with.op.run = to == Type::f16x2 ? &convert_pair<false> : &convert_pair<true>;
  return from == Type::f32 && (with.op.flags & convert_saturate) == 0;
}

template <class To>
void from_any(Decoding& with, Type from, bool& known) {
  const auto of_integer = [&]<class From>(std::type_identity<From>) {
    if constexpr (std::is_integral_v<To>) {
      with.op.run = &convert_integer<To, From>;
    } else {
      with.op.run = &integer_to_real<To, From>;
    }
  };
  const auto of_real = [&]<class From>(std::type_identity<From>) {
    if constexpr (std::is_integral_v<To>) {
      with.op.run = &real_to_integer<To, From>;
    } else {
      with.op.run = &convert_real<To, From>;
    }
  };
  known = for_any_integer(from, of_integer) || for_every_real(from, of_real);
}

}  // namespace

bool decode_convert(Decoding& with) {
  if (with.opcode() != "cvt") return false;
  take_rounding_of(with);
  bool known = false;
  if (with.take("tf32")) {
    if (!decode_tf32(with)) with.refuse("this conversion is not known");
    return true;
  }
  const Type to = with.take_type();
  if (to == Type::f16x2 || to == Type::bf16x2) {
    known = decode_pair(with, to);
  } else {
    const Type from = with.take_type();
    with.need_count(2, 2);
    with.op.to = with.destination(0);
    with.op.a = with.source(1, from);
    const auto of = [&]<class To>(std::type_identity<To>) { from_any<To>(with, from, known); };
    if (!for_any_integer(to, of)) for_every_real(to, of);
  }
  if (!known) with.refuse("this conversion is not known");
  return true;
}

}  // namespace k2k::emulator::exec
