// Real instructions against C in the rounding mode of each, over edges (zeros, subnormal numbers,
// infinities, NaN) and random bits; approximate functions within the errors that PTX states.

#include <cfenv>
#include <cmath>

#include "emulator/cuda/exec/ops/real_formats.hpp"
#include "emulator/cuda/tests/instruction_fixture.hpp"

namespace k2k::emulator {

namespace {

using U = std::uint64_t;

template <class Result, class Of>
[[gnu::noinline]] Result rounded(int mode, Of&& of) {
  std::fesetround(mode);
  volatile Result result = of();
  std::fesetround(FE_TONEAREST);
  return result;
}
template <class T>
T value_of(U x) {
  if constexpr (sizeof(T) == 4) {
    return f32(x);
  } else {
    return f64(x);
  }
}
float without_subnormal(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

// The four modes of an operation, by the word before its type.
template <class T>
void add_modes(std::vector<Operation>& all, const std::string& name, const std::string& operands,
               T (*of)(T, T, T)) {
  const std::string type = sizeof(T) == 4 ? "f32" : "f64";
  const std::pair<const char*, int> modes[] = {
      {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
  for (const auto& [word, mode] : modes) {
    all.push_back({name + "." + word + "." + type + " %d, " + operands + ";",
                   type,
                   type,
                   [of, mode = mode](U a, U b, U c) {
                     return bits(rounded<T>(mode, [&] {
                       volatile T x = value_of<T>(a);
                       volatile T y = value_of<T>(b);
                       volatile T z = value_of<T>(c);
                       return of(x, y, z);
                     }));
                   },
                   {}});
  }
}

template <class T>
void add_type(std::vector<Operation>& all) {
  add_modes<T>(all, "add", "%a, %b", [](T x, T y, T) { return x + y; });
  add_modes<T>(all, "sub", "%a, %b", [](T x, T y, T) { return x - y; });
  add_modes<T>(all, "mul", "%a, %b", [](T x, T y, T) { return x * y; });
  add_modes<T>(all, "div", "%a, %b", [](T x, T y, T) { return x / y; });
  add_modes<T>(all, "fma", "%a, %b, %c", [](T x, T y, T z) { return std::fma(x, y, z); });
  add_modes<T>(all, "sqrt", "%a", [](T x, T, T) { return std::sqrt(x); });
  add_modes<T>(all, "rcp", "%a", [](T x, T, T) { return T{1} / x; });
}

template <class T>
T least(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}

const std::vector<Operation> real_operations = {
    {"min.f32 %d, %a, %b;",
     "f32",
     "f32",
     [](U a, U b, U) { return bits(least(f32(a), f32(b))); },
     {}},
    {"max.f64 %d, %a, %b;",
     "f64",
     "f64",
     [](U a, U b, U) { return bits(-least(-f64(a), -f64(b))); },
     {}},
    {"max.NaN.f32 %d, %a, %b;",
     "f32",
     "f32",
     [](U a, U b, U) {
       const bool none = std::isnan(f32(a)) || std::isnan(f32(b));
       return none ? U{0x7fffffff} : bits(-least(-f32(a), -f32(b)));
     },
     {}},
    {"abs.f32 %d, %a;", "f32", "f32", [](U a, U, U) { return bits(std::fabs(f32(a))); }, {}},
    {"neg.f64 %d, %a;", "f64", "f64", [](U a, U, U) { return bits(-f64(a)); }, {}},
    {"copysign.f32 %d, %a, %b;",
     "f32",
     "f32",
     [](U a, U b, U) { return (b & 0x7fffffff) | (a & 0x80000000); },
     {}},
    {"add.ftz.f32 %d, %a, %b;",
     "f32",
     "f32",
     [](U a, U b, U) {
       return bits(without_subnormal(without_subnormal(f32(a)) + without_subnormal(f32(b))));
     },
     {}},
    {"mul.sat.f32 %d, %a, %b;",
     "f32",
     "f32",
     [](U a, U b, U) {
       const float product = f32(a) * f32(b);
       return std::isnan(product) || product <= 0 ? U{0} : bits(product > 1 ? 1.0f : product);
     },
     {}},
    {"setp.lt.f32 %p2, %a, %b;",
     "f32",
     "pred",
     [](U a, U b, U) { return f32(a) < f32(b) ? U{1} : U{0}; },
     {}},
    {"setp.ne.f64 %p2, %a, %b;",
     "f64",
     "pred",
     [](U a, U b, U) { return f64(a) < f64(b) || f64(a) > f64(b) ? U{1} : U{0}; },
     {}},
    {"setp.neu.f64 %p2, %a, %b;",
     "f64",
     "pred",
     [](U a, U b, U) { return f64(a) != f64(b) ? U{1} : U{0}; },
     {}},
    {"setp.geu.f32 %p2, %a, %b;",
     "f32",
     "pred",
     [](U a, U b, U) { return !(f32(a) < f32(b)) ? U{1} : U{0}; },
     {}},
    {"setp.num.f32 %p2, %a, %b;",
     "f32",
     "pred",
     [](U a, U b, U) { return std::isunordered(f32(a), f32(b)) ? U{0} : U{1}; },
     {}},
    {"testp.subnormal.f64 %p2, %a;",
     "f64",
     "pred",
     [](U a, U, U) { return std::fpclassify(f64(a)) == FP_SUBNORMAL ? U{1} : U{0}; },
     {}},
    {"testp.finite.f32 %p2, %a;",
     "f32",
     "pred",
     [](U a, U, U) { return std::isfinite(f32(a)) ? U{1} : U{0}; },
     {}},
};

TEST(Emulator, rounds_reals_as_c_does_in_each_mode) {
  std::vector<Operation> all = real_operations;
  add_type<float>(all);
  add_type<double>(all);
  std::uint32_t seed = 100;
  for (const Operation& operation : all) {
    expect_operation(operation, seed++);
    if (HasFatalFailure()) return;
  }
}

// The largest relative error of a function over a range, in units of 2^-23.
double error_of(const std::string& code, double first, double last, double (*exact)(double),
                bool absolute) {
  constexpr int count = 4096;
  std::vector<std::uint32_t> values(count);
  std::vector<std::uint32_t> results(count);
  for (int at = 0; at < count; ++at) {
    values[static_cast<std::size_t>(at)] =
        std::bit_cast<std::uint32_t>(static_cast<float>(first + (last - first) * at / (count - 1)));
  }
  Kernels kernels(
      ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
      ".reg .b64 %x<5>; .reg .b32 %i<4>; .reg .f32 %a, %d;\n"
      "ld.param.u64 %x1, [in]; ld.param.u64 %x2, [out]; mov.u32 %i1, %tid.x;\n"
      "mov.u32 %i2, %ctaid.x; mad.lo.u32 %i1, %i2, 1024, %i1; mul.wide.u32 %x3, %i1, 4;\n"
      "add.u64 %x1, %x1, %x3; add.u64 %x2, %x2, %x3; ld.global.f32 %a, [%x1];\n" +
      code + "\nst.global.f32 [%x2], %d; ret; }\n");
  kernels.share(values);
  kernels.share(results);
  const Outcome outcome =
      kernels.run("k", {count / 1024, 1024}, {address_of(values), address_of(results)});
  EXPECT_EQ(outcome.fault, exec::Fault::none) << outcome.report;
  double most = 0;
  for (std::size_t at = 0; at < values.size(); ++at) {
    const double wanted = exact(static_cast<double>(f32(values[at])));
    const double error = std::fabs(static_cast<double>(f32(results[at])) - wanted);
    most = std::max(most, absolute ? error : error / std::fabs(wanted));
  }
  return most;
}

TEST(Emulator, approximates_within_the_errors_that_ptx_states) {
  EXPECT_LE(
      error_of("rcp.approx.f32 %d, %a;", 1, 2, [](double x) { return 1 / x; }, false), 0x1p-23);
  EXPECT_LE(error_of(
                "rsqrt.approx.f32 %d, %a;", 1, 4, [](double x) { return 1 / std::sqrt(x); }, false),
            0x1p-22);
  EXPECT_LE(error_of(
                "sqrt.approx.f32 %d, %a;", 1, 4, [](double x) { return std::sqrt(x); }, false),
            0x1p-23);
  EXPECT_LE(error_of(
                "sin.approx.f32 %d, %a;", -3, 3, [](double x) { return std::sin(x); }, true),
            0x1p-20);
  EXPECT_LE(error_of(
                "cos.approx.f32 %d, %a;", -3, 3, [](double x) { return std::cos(x); }, true),
            0x1p-20);
  EXPECT_LE(error_of(
                "ex2.approx.f32 %d, %a;", -4, 4, [](double x) { return std::exp2(x); }, false),
            0x1p-22);
  EXPECT_LE(error_of(
                "lg2.approx.f32 %d, %a;", 1.5, 9, [](double x) { return std::log2(x); }, false),
            0x1p-22);
  EXPECT_LE(error_of(
                "tanh.approx.f32 %d, %a;", 0.1, 4, [](double x) { return std::tanh(x); }, false),
            0x1p-10);
}

// --- Conversions.

template <class To>
U saturated(double value) {
  if (std::isnan(value)) return 0;
  const long double least_one = std::numeric_limits<To>::min();
  const long double most = std::numeric_limits<To>::max();
  const long double clamped = std::min(std::max(static_cast<long double>(value), least_one), most);
  return static_cast<U>(static_cast<To>(clamped));
}

const std::vector<Operation> conversions = {
    {"cvt.u32.u16 %d, %a;", "b16", "b32", [](U a, U, U) { return a; }, {}},
    {"cvt.s32.s16 %d, %a;",
     "b16",
     "b32",
     [](U a, U, U) { return static_cast<U>(static_cast<std::int16_t>(a)); },
     {}},
    {"cvt.s64.s32 %d, %a;",
     "b32",
     "b64",
     [](U a, U, U) { return static_cast<U>(std::int64_t{static_cast<std::int32_t>(a)}); },
     {}},
    {"cvt.u64.u32 %d, %a;", "b32", "b64", [](U a, U, U) { return a; }, {}},
    {"cvt.s32.s8 %d, %a;",
     "b32",
     "b32",
     [](U a, U, U) { return static_cast<U>(std::int64_t{static_cast<std::int8_t>(a)}); },
     {}},
    {"cvt.u16.u64 %d, %a;", "b64", "b16", [](U a, U, U) { return a; }, {}},
    {"cvt.sat.u8.s32 %d, %a;",
     "b32",
     "b32",
     [](U a, U, U) {
       const auto x = static_cast<std::int32_t>(a);
       return static_cast<U>(x < 0 ? 0 : x > 255 ? 255 : x);
     },
     {}},
    {"cvt.sat.s16.u32 %d, %a;",
     "b32",
     "b32",
     [](U a, U, U) { return a > 32767 ? U{32767} : a; },
     {}},
    {"cvt.rn.f32.s32 %d, %a;",
     "b32",
     "f32",
     [](U a, U, U) { return bits(static_cast<float>(static_cast<std::int32_t>(a))); },
     {0x01000001, 0x01000003, 0x7fffffbf, 0x7fffffc0}},
    {"cvt.rz.f32.u64 %d, %a;",
     "b64",
     "f32",
     [](U a, U, U) {
       return bits(rounded<float>(FE_TOWARDZERO, [&] {
         volatile U x = a;
         return static_cast<float>(x);
       }));
     },
     {0x0100000100000001}},
    {"cvt.rp.f64.u64 %d, %a;",
     "b64",
     "f64",
     [](U a, U, U) {
       return bits(rounded<double>(FE_UPWARD, [&] {
         volatile U x = a;
         return static_cast<double>(x);
       }));
     },
     {0x0020000000000001, 0xfffffffffffffbff}},
    {"cvt.rn.f64.s64 %d, %a;",
     "b64",
     "f64",
     [](U a, U, U) { return bits(static_cast<double>(static_cast<std::int64_t>(a))); },
     {}},
    {"cvt.rzi.s32.f32 %d, %a;",
     "f32",
     "b32",
     [](U a, U, U) { return saturated<std::int32_t>(std::trunc(static_cast<double>(f32(a)))); },
     {}},
    {"cvt.rni.s32.f32 %d, %a;",
     "f32",
     "b32",
     [](U a, U, U) { return saturated<std::int32_t>(std::nearbyint(static_cast<double>(f32(a)))); },
     {0x3f000000, 0x3fc00000, 0x40200000, 0xbf000000, 0xbfc00000}},
    {"cvt.rmi.u32.f64 %d, %a;",
     "f64",
     "b32",
     [](U a, U, U) { return saturated<std::uint32_t>(std::floor(f64(a))); },
     {}},
    {"cvt.rpi.s64.f64 %d, %a;",
     "f64",
     "b64",
     [](U a, U, U) { return saturated<std::int64_t>(std::ceil(f64(a))); },
     {}},
    {"cvt.rzi.u64.f32 %d, %a;",
     "f32",
     "b64",
     [](U a, U, U) { return saturated<std::uint64_t>(std::trunc(static_cast<double>(f32(a)))); },
     {}},
    {"cvt.rni.f32.f32 %d, %a;",
     "f32",
     "f32",
     [](U a, U, U) { return bits(std::nearbyint(f32(a))); },
     {0x3f000000, 0x40200000}},
    {"cvt.f64.f32 %d, %a;",
     "f32",
     "f64",
     [](U a, U, U) { return bits(static_cast<double>(f32(a))); },
     {}},
    {"cvt.rn.f32.f64 %d, %a;",
     "f64",
     "f32",
     [](U a, U, U) { return bits(static_cast<float>(f64(a))); },
     {0x3ff0000010000000, 0x3ff0000030000000, 0x36a0000000000001, 0x47efffffefffffff}},
    {"cvt.rp.f32.f64 %d, %a;",
     "f64",
     "f32",
     [](U a, U, U) {
       return bits(rounded<float>(FE_UPWARD, [&] {
         volatile double x = f64(a);
         return static_cast<float>(x);
       }));
     },
     {0x3ff0000010000000}},
    {"cvt.sat.f32.f32 %d, %a;",
     "f32",
     "f32",
     [](U a, U, U) {
       const float x = f32(a);
       return std::isnan(x) || x <= 0 ? U{0} : bits(x > 1 ? 1.0f : x);
     },
     {}},
};

TEST(Emulator, converts_as_c_does) {
  std::uint32_t seed = 300;
  for (const Operation& operation : conversions) {
    expect_operation(operation, seed++);
    if (HasFatalFailure()) return;
  }
}

// Every f16 is a float, and comes back; what lies between two goes to the nearer, or the even one.
TEST(Emulator, rounds_halves_to_the_nearest) {
  for (std::uint32_t half = 0; half < 0x7c00; ++half) {
    const auto here = static_cast<double>(exec::float_of_half(static_cast<std::uint16_t>(half)));
    ASSERT_EQ(exec::half_of(here, exec::Rounding::nearest), half);
    const auto next =
        half == 0x7bff
            ? 65536.0
            : static_cast<double>(exec::float_of_half(static_cast<std::uint16_t>(half + 1)));
    const double middle = here + (next - here) / 2;
    ASSERT_EQ(exec::half_of(middle, exec::Rounding::nearest), half + (half & 1)) << half;
    ASSERT_EQ(exec::half_of(std::nextafter(middle, 1e9), exec::Rounding::nearest), half + 1);
    ASSERT_EQ(exec::half_of(std::nextafter(middle, -1e9), exec::Rounding::nearest), half);
    ASSERT_EQ(exec::half_of(middle, exec::Rounding::zero), half);
    ASSERT_EQ(exec::half_of(-middle, exec::Rounding::down), 0x8000 | (half + 1));
  }
  EXPECT_EQ(exec::half_of(1e-300, exec::Rounding::up), 1);
}

// bf16 is the upper half of a float: rounding by carry gives the same.
TEST(Emulator, rounds_bf16_as_the_carry_of_a_float_does) {
  std::mt19937 random(7);
  for (int at = 0; at < 100'000; ++at) {
    const auto word = static_cast<std::uint32_t>(random());
    const float value = std::bit_cast<float>(word);
    if (std::isnan(value)) continue;
    const std::uint32_t nearest = (word + 0x7fff + (word >> 16 & 1)) >> 16;
    ASSERT_EQ(exec::brain_of(static_cast<double>(value), exec::Rounding::nearest), nearest);
    ASSERT_EQ(exec::brain_of(static_cast<double>(value), exec::Rounding::zero), word >> 16);
  }
}

TEST(Emulator, computes_with_pairs_of_halves) {
  // 1.5 and -2 times 2 and 0.5, plus 1 and 65504: 4 and 65504 (rounded).
  expect_operation({"mov.b32 %a, 0xc0003e00; mov.b32 %b, 0x38004000; mov.b32 %c, 0x7bff3c00;"
                    "fma.rn.f16x2 %d, %a, %b, %c;",
                    "b32",
                    "b32",
                    [](U, U, U) { return U{0x7bff4400}; },
                    {}},
                   1);
  expect_operation({"cvt.rn.f16x2.f32 %d, 0f3F800000, 0fC0000000;",
                    "b32",
                    "b32",
                    [](U, U, U) { return U{0x3c00c000}; },
                    {}},
                   1);
  expect_operation({"cvt.rn.bf16x2.f32 %d, 0f3F800000, 0fC0000000;",
                    "b32",
                    "b32",
                    [](U, U, U) { return U{0x3f80c000}; },
                    {}},
                   1);
}

}  // namespace

}  // namespace k2k::emulator
