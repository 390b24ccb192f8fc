#include "emulator/cuda/exec/ops/real_formats.hpp"

namespace k2k::emulator::exec {

namespace {

// Rounds to a format with `bits` bits of mantissa behind the point, smallest exponent `lowest`.
// Each step is exact but for the one rounding.
std::uint16_t small_of(double value, Rounding how, int bits, int lowest, std::uint32_t infinity) {
  const std::uint32_t sign = std::signbit(value) ? 0x8000u : 0u;
  if (std::isnan(value)) return nan16;
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | infinity);
  const double size = std::fabs(value);
  if (size == 0) return static_cast<std::uint16_t>(sign);
  int exponent = std::ilogb(size);
  if (exponent < lowest) exponent = lowest;
  const double scaled = std::ldexp(size, bits - exponent);  // In units of the last place.
  const double whole = std::floor(scaled);
  const double rest = scaled - whole;
  const bool odd = std::fmod(whole, 2.0) != 0;
  const bool away = (how == Rounding::up && sign == 0) || (how == Rounding::down && sign != 0);
  bool up = away && rest > 0;
  if (how == Rounding::nearest) up = rest > 0.5 || (rest == 0.5 && odd);
  // The mantissa carries into the exponent by itself.
  const auto units = static_cast<std::uint64_t>(whole) + (up ? 1 : 0);
  const std::uint64_t base = static_cast<std::uint64_t>(exponent - lowest) << bits;
  const std::uint64_t all = base + units;  // A normal number brings the first unit of its exponent.
  if (all >= infinity) {
    const bool to_infinity = how == Rounding::nearest || away;
    return static_cast<std::uint16_t>(sign | (to_infinity ? infinity : infinity - 1));
  }
  return static_cast<std::uint16_t>(sign | all);
}

}  // namespace

std::uint16_t half_of(double value, Rounding how) { return small_of(value, how, 10, -14, 0x7c00); }
std::uint16_t brain_of(double value, Rounding how) { return small_of(value, how, 7, -126, 0x7f80); }

float float_of_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 0x3ff;
  float size = 0;
  if (exponent == 31) {
    size = mantissa != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : std::numeric_limits<float>::infinity();
  } else if (exponent == 0) {
    size = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    size = std::ldexp(static_cast<float>(mantissa | 0x400), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -size : size;
}

}  // namespace k2k::emulator::exec
