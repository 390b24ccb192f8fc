#pragma once
// The formats of real numbers that C++ has no type for, f16 and bf16, as bits; NaN and subnormal
// numbers as PTX treats them.
//
// Threading: values.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace k2k::emulator::exec {

enum class Rounding : std::uint8_t { nearest, zero, down, up };

// Rounded once, from a value that a double holds.
std::uint16_t half_of(double value, Rounding how);
std::uint16_t brain_of(double value, Rounding how);
float float_of_half(std::uint16_t bits);
inline float float_of_brain(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline constexpr std::uint32_t nan32 = 0x7fffffff;  // The NaN of every f32 result.
inline constexpr std::uint16_t nan16 = 0x7fff;      // Of f16 and bf16.

inline float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

}  // namespace k2k::emulator::exec
