// Arithmetic of f32 and f64. Rounded as IEEE 754 says, by the CPU in the rounding mode of the
// instruction (this file is compiled with -frounding-math and without contraction); approximate
// functions are the exact ones in double precision, rounded, so within every error that PTX states.
// A NaN as f32 result is 0x7fffffff, as on the device.

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <string_view>

#include "emulator/cuda/exec/ops/decoding.hpp"
#include "emulator/cuda/exec/ops/dispatch.hpp"
#include "emulator/cuda/exec/ops/real_formats.hpp"

namespace k2k::emulator::exec {

namespace {

using ptx::Type;

// flags of arithmetic.
constexpr std::uint32_t round_mask = 3;  // Rounding
constexpr std::uint32_t flush_flag = 4;
constexpr std::uint32_t saturate_flag = 8;
constexpr std::uint32_t nan_flag = 16;        // min.NaN, max.NaN
constexpr std::uint32_t magnitude_flag = 32;  // min.xorsign.abs
constexpr std::uint64_t nan64 = 0x7ff8000000000000;

// The CPU rounds so while this object lives.
class Rounded {
 public:
  explicit Rounded(std::uint32_t flags) : changed_((flags & round_mask) != 0) {
    constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    if (changed_) std::fesetround(modes[flags & round_mask]);
  }
  ~Rounded() {
    if (changed_) std::fesetround(FE_TONEAREST);
  }
  Rounded(const Rounded&) = delete;
  Rounded& operator=(const Rounded&) = delete;

 private:
  const bool changed_;
};

template <class T>
T operand(const Lane& lane, const Source& source, std::uint32_t flags) {
  const T value = get<T>(lane, source);
  if constexpr (std::is_same_v<T, float>) {
    if ((flags & flush_flag) != 0) return flushed(value);
  }
  return value;
}

template <class T>
void put_result(Lane& lane, const Op& op, T value) {
  if constexpr (std::is_same_v<T, float>) {
    if ((op.flags & flush_flag) != 0) value = flushed(value);
  }
  if ((op.flags & saturate_flag) != 0) {
    value = std::isnan(value) ? T{0} : std::clamp(value, T{0}, T{1});
    if (value == 0) value = 0;  // Not -0.
  }
  if (std::isnan(value)) {
    lane.regs[op.to] = std::is_same_v<T, float> ? nan32 : nan64;
    return;
  }
  put<T>(lane, op.to, value);
}

// Kept apart from its neighbours, so that no compiler moves it out of the rounding mode.
template <class T>
[[gnu::noinline]] T added(T a, T b) {
  return a + b;
}
template <class T>
[[gnu::noinline]] T multiplied(T a, T b) {
  return a * b;
}
template <class T>
[[gnu::noinline]] T divided(T a, T b) {
  return a / b;
}
template <class T>
[[gnu::noinline]] T rooted(T a) {
  return std::sqrt(a);
}
template <class T>
[[gnu::noinline]] T fused(T a, T b, T c) {
  return std::fma(a, b, c);
}

struct RealAdd {
  template <class T>
  static T of(T a, T b) {
    return added(a, b);
  }
};
struct RealSubtract {
  template <class T>
  static T of(T a, T b) {
    return added(a, -b);
  }
};
struct RealMultiply {
  template <class T>
  static T of(T a, T b) {
    return multiplied(a, b);
  }
};
struct RealDivide {
  template <class T>
  static T of(T a, T b) {
    return divided(a, b);
  }
};

template <class T, class F>
void arithmetic(Lane& lane, const Op& op) {
  const T a = operand<T>(lane, op.a, op.flags);
  const T b = operand<T>(lane, op.b, op.flags);
  T result = 0;
  {
    const Rounded mode(op.flags);
    result = F::template of<T>(a, b);
  }
  put_result<T>(lane, op, result);
}
template <class T>
void fused_arithmetic(Lane& lane, const Op& op) {
  const T a = operand<T>(lane, op.a, op.flags);
  const T b = operand<T>(lane, op.b, op.flags);
  const T c = operand<T>(lane, op.c, op.flags);
  T result = 0;
  {
    const Rounded mode(op.flags);
    result = fused(a, b, c);
  }
  put_result<T>(lane, op, result);
}
template <class T>
void reciprocal(Lane& lane, const Op& op) {
  const T a = operand<T>(lane, op.a, op.flags);
  T result = 0;
  {
    const Rounded mode(op.flags);
    result = divided(T{1}, a);
  }
  put_result<T>(lane, op, result);
}
template <class T>
void square_root(Lane& lane, const Op& op) {
  const T a = operand<T>(lane, op.a, op.flags);
  T result = 0;
  {
    const Rounded mode(op.flags);
    result = rooted(a);
  }
  put_result<T>(lane, op, result);
}

template <class T, bool smaller>
void extreme(Lane& lane, const Op& op) {
  T a = operand<T>(lane, op.a, op.flags);
  T b = operand<T>(lane, op.b, op.flags);
  const bool negative = std::signbit(a) != std::signbit(b);
  const bool by_magnitude = (op.flags & magnitude_flag) != 0;
  if (by_magnitude) {
    a = std::fabs(a);
    b = std::fabs(b);
  }
  T result = 0;
  if (std::isnan(a) || std::isnan(b)) {
    const bool none = (op.flags & nan_flag) != 0 || (std::isnan(a) && std::isnan(b));
    result = none ? std::numeric_limits<T>::quiet_NaN() : std::isnan(a) ? b : a;
  } else if (a == b) {
    result = std::signbit(a) == smaller ? a : b;  // -0 is smaller than +0.
  } else {
    result = (a < b) == smaller ? a : b;
  }
  if (by_magnitude) result = std::copysign(result, negative ? T{-1} : T{1});
  put_result<T>(lane, op, result);
}

// Signs change also of NaN: the bits of the operand.
template <class T>
void absolute_real(Lane& lane, const Op& op) {
  put_result<T>(lane, op, std::fabs(operand<T>(lane, op.a, op.flags)));
}
template <class T>
void negate_real(Lane& lane, const Op& op) {
  put_result<T>(lane, op, -operand<T>(lane, op.a, op.flags));
}
template <class T>
void copy_sign(Lane& lane, const Op& op) {
  put<T>(lane, op.to, std::copysign(get<T>(lane, op.b), get<T>(lane, op.a)));
}

// immediate: which.
enum Test : std::uint64_t { finite, infinite, number, notanumber, normal, subnormal };
template <class T>
void test_property(Lane& lane, const Op& op) {
  const T a = get<T>(lane, op.a);
  const int kind = std::fpclassify(a);
  bool is = false;
  switch (op.immediate) {
    case finite:
      is = std::isfinite(a);
      break;
    case infinite:
      is = kind == FP_INFINITE;
      break;
    case number:
      is = kind != FP_NAN;
      break;
    case notanumber:
      is = kind == FP_NAN;
      break;
    case normal:
      is = kind == FP_NORMAL;
      break;
    default:
      is = kind == FP_SUBNORMAL;
      break;
  }
  put<std::uint32_t>(lane, op.to, is ? 1 : 0);
}

template <double (*function)(double)>
void approximate(Lane& lane, const Op& op) {
  const auto a = static_cast<double>(operand<float>(lane, op.a, op.flags));
  put_result<float>(lane, op, static_cast<float>(function(a)));
}
double reciprocal_root(double a) { return 1.0 / std::sqrt(a); }
double logarithm(double a) { return std::log2(a); }
double power_of_two(double a) { return std::exp2(a); }
double sine(double a) { return std::sin(a); }
double cosine(double a) { return std::cos(a); }
double hyperbolic_tangent(double a) { return std::tanh(a); }
double inverse(double a) { return 1.0 / a; }
double root(double a) { return std::sqrt(a); }

// rcp.approx.ftz.f64, rsqrt.approx.ftz.f64: the upper word of the result.
template <double (*function)(double)>
void gross(Lane& lane, const Op& op) {
  double a = get<double>(lane, op.a);
  if (std::fpclassify(a) == FP_SUBNORMAL) a = std::copysign(0.0, a);
  double result = function(a);
  if (std::fpclassify(result) == FP_SUBNORMAL) result = std::copysign(0.0, result);
  if (std::isnan(result)) {
    lane.regs[op.to] = nan64;
    return;
  }
  lane.regs[op.to] = std::bit_cast<std::uint64_t>(result) & ~std::uint64_t{0xffffffff};
}

// --- Decoding.

// True if a rounding mode is there.
bool take_rounding(Decoding& with) {
  const std::size_t how = with.take_one({"rn", "rz", "rm", "rp"});
  if (how < 4) with.op.flags |= static_cast<std::uint32_t>(how);
  return how < 4;
}

void take_flush_and_saturate(Decoding& with) {
  if (with.take("ftz")) with.op.flags |= flush_flag;
  if (with.take("sat")) with.op.flags |= saturate_flag;
}

Type real_type(Decoding& with, std::size_t number) {
  const Type type = with.take_type();
  if ((with.op.flags & flush_flag) != 0 && type != Type::f32) with.refuse(".ftz belongs to f32");
  with.need_count(number + 1, number + 1);
  with.op.to = with.destination(0);
  Source* const all[] = {&with.op.a, &with.op.b, &with.op.c};
  for (std::size_t at = 0; at < number; ++at) *all[at] = with.source(at + 1, type);
  return type;
}

template <class F>
bool two_reals(Decoding& with) {
  take_rounding(with);
  take_flush_and_saturate(with);
  const Type type = real_type(with, 2);
  return for_real(type, [&]<class T>(std::type_identity<T>) { with.op.run = &arithmetic<T, F>; });
}

bool divide(Decoding& with) {
  if (!take_rounding(with) && with.take_one({"approx", "full"}) > 1) return false;
  take_flush_and_saturate(with);
  const Type type = real_type(with, 2);
  return for_real(
      type, [&]<class T>(std::type_identity<T>) { with.op.run = &arithmetic<T, RealDivide>; });
}

bool fuse(Decoding& with) {
  const bool rounds = take_rounding(with);
  take_flush_and_saturate(with);
  const Type type = real_type(with, 3);
  return rounds && for_real(type, [&]<class T>(std::type_identity<T>) {
           with.op.run = &fused_arithmetic<T>;
         });
}

template <bool smaller>
bool choose_extreme(Decoding& with) {
  if (with.take("NaN")) with.op.flags |= nan_flag;
  if (with.take("xorsign")) {
    if (!with.take("abs")) return false;
    with.op.flags |= magnitude_flag;
  }
  take_flush_and_saturate(with);
  const Type type = real_type(with, 2);
  return for_real(type,
                  [&]<class T>(std::type_identity<T>) { with.op.run = &extreme<T, smaller>; });
}

// rcp and sqrt: exact in f32 and f64, or approximate.
template <double (*function)(double), class Of>
bool exact_or_not(Decoding& with, Of&& handler_of) {
  const bool approximates = with.take("approx");
  const bool rounds = take_rounding(with);
  take_flush_and_saturate(with);
  const Type type = with.take_type();
  with.need_count(2, 2);
  with.op.to = with.destination(0);
  with.op.a = with.source(1, type);
  if (approximates == rounds) return false;
  if (approximates && type == Type::f64) {
    with.op.run = &gross<function>;
    return (with.op.flags & flush_flag) != 0;
  }
  if (approximates) {
    with.op.run = &approximate<function>;
    return type == Type::f32;
  }
  return for_real(type, handler_of);
}

template <double (*function)(double)>
bool approximate_only(Decoding& with) {
  const bool approximates = with.take("approx");
  take_flush_and_saturate(with);
  with.op.run = &approximate<function>;
  return real_type(with, 1) == Type::f32 && approximates;
}

bool reciprocal_of_root(Decoding& with) {
  const bool approximates = with.take("approx");
  take_flush_and_saturate(with);
  const Type type = with.take_type();
  with.need_count(2, 2);
  with.op.to = with.destination(0);
  with.op.a = with.source(1, type);
  with.op.run = type == Type::f64 ? &gross<reciprocal_root> : &approximate<reciprocal_root>;
  return approximates && (type == Type::f32 || type == Type::f64);
}

template <class Of>
bool one_real(Decoding& with, Of&& handler_of) {
  take_flush_and_saturate(with);
  return for_real(real_type(with, 1), handler_of);
}

bool decode_real(Decoding& with, std::string_view name) {
  if (name == "add") return two_reals<RealAdd>(with);
  if (name == "sub") return two_reals<RealSubtract>(with);
  if (name == "mul") return two_reals<RealMultiply>(with);
  if (name == "div") return divide(with);
  if (name == "fma" || name == "mad") return fuse(with);
  if (name == "min") return choose_extreme<true>(with);
  if (name == "max") return choose_extreme<false>(with);
  if (name == "rcp") {
    return exact_or_not<inverse>(
        with, [&]<class T>(std::type_identity<T>) { with.op.run = &reciprocal<T>; });
  }
  if (name == "sqrt") {
    return exact_or_not<root>(
        with, [&]<class T>(std::type_identity<T>) { with.op.run = &square_root<T>; });
  }
  if (name == "rsqrt") return reciprocal_of_root(with);
  if (name == "lg2") return approximate_only<logarithm>(with);
  if (name == "ex2") return approximate_only<power_of_two>(with);
  if (name == "sin") return approximate_only<sine>(with);
  if (name == "cos") return approximate_only<cosine>(with);
  if (name == "tanh") return approximate_only<hyperbolic_tangent>(with);
  if (name == "abs") {
    return one_real(with, [&]<class T>(std::type_identity<T>) { with.op.run = &absolute_real<T>; });
  }
  if (name == "neg") {
    return one_real(with, [&]<class T>(std::type_identity<T>) { with.op.run = &negate_real<T>; });
  }
  if (name == "copysign") {
    return for_real(real_type(with, 2),
                    [&]<class T>(std::type_identity<T>) { with.op.run = &copy_sign<T>; });
  }
  with.op.immediate =
      with.take_one({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  return with.op.immediate < 6 &&
         for_real(
             real_type(with, 1),
             [&]<class T>(std::type_identity<T>) { with.op.run = &test_property<T>; });
}

}  // namespace

bool decode_float(Decoding& with) {
  static constexpr std::string_view known[] = {
      "add",   "sub", "mul", "div", "fma", "mad",  "min", "max", "rcp",      "sqrt",
      "rsqrt", "lg2", "ex2", "sin", "cos", "tanh", "abs", "neg", "copysign", "testp"};
  if (std::find(std::begin(known), std::end(known), with.opcode()) == std::end(known)) return false;
  for (const std::string& modifier : with.in.modifiers) {
    if (modifier != "f32" && modifier != "f64") continue;
    if (!decode_real(with, with.opcode())) with.refuse("this form of the instruction is not known");
    return true;
  }
  return false;
}

}  // namespace k2k::emulator::exec
