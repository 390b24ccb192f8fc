// Arithmetic of f16 and bf16, one or two in a register. Sums and products of two such numbers are
// exact in a double, so each result is rounded once. fma.bf16 is rounded to odd in between, because
// its exponents are too far apart for that.

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>

#include "emulator/cuda/exec/ops/decoding.hpp"
#include "emulator/cuda/exec/ops/real_formats.hpp"

namespace k2k::emulator::exec {

namespace {

using ptx::Type;

// flags of f16 and bf16.
constexpr std::uint32_t brain_flag = 1;
constexpr std::uint32_t pair_flag = 2;
constexpr std::uint32_t saturate_half = 4;
constexpr std::uint32_t relu_flag = 8;
constexpr std::uint32_t nan_half = 16;
constexpr std::uint32_t flush_half = 32;

// a * b + c, rounded to 53 bits such that a second rounding gives what one would have given: the
// last bit tells whether something was left.
double fused_to_odd(double a, double b, double c) {
  const double product = a * b;  // Exact: 22 bits at most.
  const double all = product + c;
  if (!std::isfinite(all)) return all;
  const double part = all - product;
  const double rest = (product - (all - part)) + (c - part);  // Knuth's two-sum.
  auto bits = std::bit_cast<std::uint64_t>(all);
  if (rest == 0 || (bits & 1) != 0) return all;
  // Towards the rest: the neighbour in its direction has the odd last bit.
  const bool grows = (rest > 0) == (all > 0);
  bits += grows ? 1 : std::uint64_t(-1);
  return std::bit_cast<double>(bits);
}

double value_of(std::uint16_t bits, std::uint32_t flags) {
  float value = (flags & brain_flag) != 0 ? float_of_brain(bits) : float_of_half(bits);
  const bool subnormal = (flags & brain_flag) == 0 && (bits & 0x7c00) == 0;
  if ((flags & flush_half) != 0 && subnormal) value = std::copysign(0.0f, value);
  return static_cast<double>(value);
}
std::uint16_t bits_of_result(double value, std::uint32_t flags) {
  if ((flags & relu_flag) != 0 && value < 0) value = 0;
  if ((flags & saturate_half) != 0) value = std::isnan(value) ? 0 : std::clamp(value, 0.0, 1.0);
  if (std::isnan(value)) return nan16;
  const std::uint16_t bits = (flags & brain_flag) != 0 ? brain_of(value, Rounding::nearest)
                                                       : half_of(value, Rounding::nearest);
  const bool subnormal = (flags & brain_flag) == 0 && (bits & 0x7c00) == 0;
  return (flags & flush_half) != 0 && subnormal ? static_cast<std::uint16_t>(bits & 0x8000) : bits;
}

double least(double a, double b, std::uint32_t flags) {
  if (std::isnan(a) || std::isnan(b)) {
    if ((flags & nan_half) != 0) return std::numeric_limits<double>::quiet_NaN();
    return std::isnan(a) ? b : a;
  }
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

double half_add(double a, double b, double, std::uint32_t) { return a + b; }
double half_subtract(double a, double b, double, std::uint32_t) { return a - b; }
double half_multiply(double a, double b, double, std::uint32_t) { return a * b; }
double half_fuse(double a, double b, double c, std::uint32_t) { return fused_to_odd(a, b, c); }
double half_minimum(double a, double b, double, std::uint32_t flags) { return least(a, b, flags); }
double half_maximum(double a, double b, double, std::uint32_t flags) {
  return -least(-a, -b, flags);
}
double half_negate(double a, double, double, std::uint32_t) { return -a; }
double half_absolute(double a, double, double, std::uint32_t) { return std::fabs(a); }
double half_power(double a, double, double, std::uint32_t) { return std::exp2(a); }
double half_tangent(double a, double, double, std::uint32_t) { return std::tanh(a); }

template <double (*function)(double, double, double, std::uint32_t)>
void half_arithmetic(Lane& lane, const Op& op) {
  const std::uint64_t a = bits_of(lane, op.a);
  const std::uint64_t b = bits_of(lane, op.b);
  const std::uint64_t c = bits_of(lane, op.c);
  std::uint64_t all = 0;
  for (int shift = 0; shift <= ((op.flags & pair_flag) != 0 ? 16 : 0); shift += 16) {
    const double result =
        function(value_of(static_cast<std::uint16_t>(a >> shift), op.flags),
                 value_of(static_cast<std::uint16_t>(b >> shift), op.flags),
                 value_of(static_cast<std::uint16_t>(c >> shift), op.flags), op.flags);
    all |= static_cast<std::uint64_t>(bits_of_result(result, op.flags)) << shift;
  }
  lane.regs[op.to] = all;
}

struct HalfRow {
  std::string_view name;
  std::size_t sources;
  Handler handler;
};
constexpr HalfRow half_rows[] = {
    {"add", 2, &half_arithmetic<half_add>},      {"sub", 2, &half_arithmetic<half_subtract>},
    {"mul", 2, &half_arithmetic<half_multiply>}, {"fma", 3, &half_arithmetic<half_fuse>},
    {"min", 2, &half_arithmetic<half_minimum>},  {"max", 2, &half_arithmetic<half_maximum>},
    {"neg", 1, &half_arithmetic<half_negate>},   {"abs", 1, &half_arithmetic<half_absolute>},
    {"ex2", 1, &half_arithmetic<half_power>},    {"tanh", 1, &half_arithmetic<half_tangent>},
};

}  // namespace

bool decode_half(Decoding& with) {
  const auto* const row =
      std::find_if(std::begin(half_rows), std::end(half_rows),
                   [&](const HalfRow& one) { return one.name == with.opcode(); });
  if (row == std::end(half_rows)) return false;
  const auto& words = with.in.modifiers;
  const auto has = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  if (!has("f16") && !has("f16x2") && !has("bf16") && !has("bf16x2")) return false;
  with.take("rn");
  const bool approximates = with.take("approx");
  if (approximates && row->name != "ex2" && row->name != "tanh") with.refuse("not approximate");
  Op& op = with.op;
  if (with.take("sat")) op.flags |= saturate_half;
  if (with.take("relu")) op.flags |= relu_flag;
  if (with.take("ftz")) op.flags |= flush_half;
  if (with.take("NaN")) op.flags |= nan_half;
  const Type type = with.take_type();
  if (type == Type::bf16 || type == Type::bf16x2) op.flags |= brain_flag;
  if (type == Type::f16x2 || type == Type::bf16x2) op.flags |= pair_flag;
  with.need_count(row->sources + 1, row->sources + 1);
  op.to = with.destination(0);
  Source* const all[] = {&op.a, &op.b, &op.c};
  for (std::size_t at = 0; at < row->sources; ++at) *all[at] = with.source(at + 1, Type::b32);
  op.run = row->handler;
  return true;
}

}  // namespace k2k::emulator::exec
