#pragma once
// From a PTX type to a C++ type: calls `with` with a std::type_identity of it, so that a handler
// is chosen once, when an instruction is decoded. False for a type of another group. And the
// functions of two values that instructions on registers and atomics share.
//
// Threading: values.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "emulator/cuda/ptx/types.hpp"

namespace k2k::emulator::exec {

struct And {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Minimum {
  template <class T>
  static T of(T a, T b) {
    return std::min(a, b);
  }
};
struct Maximum {
  template <class T>
  static T of(T a, T b) {
    return std::max(a, b);
  }
};

template <class With>
bool for_integer(ptx::Type type, With&& with) {
  switch (type) {
    case ptx::Type::u16:
      with(std::type_identity<std::uint16_t>{});
      return true;
    case ptx::Type::u32:
      with(std::type_identity<std::uint32_t>{});
      return true;
    case ptx::Type::u64:
      with(std::type_identity<std::uint64_t>{});
      return true;
    case ptx::Type::s16:
      with(std::type_identity<std::int16_t>{});
      return true;
    case ptx::Type::s32:
      with(std::type_identity<std::int32_t>{});
      return true;
    case ptx::Type::s64:
      with(std::type_identity<std::int64_t>{});
      return true;
    default:
      return false;
  }
}

template <class With>
bool for_bits(ptx::Type type, With&& with) {
  switch (type) {
    case ptx::Type::b16:
      with(std::type_identity<std::uint16_t>{});
      return true;
    case ptx::Type::b32:
      with(std::type_identity<std::uint32_t>{});
      return true;
    case ptx::Type::b64:
      with(std::type_identity<std::uint64_t>{});
      return true;
    default:
      return false;
  }
}

template <class With>
bool for_real(ptx::Type type, With&& with) {
  switch (type) {
    case ptx::Type::f32:
      with(std::type_identity<float>{});
      return true;
    case ptx::Type::f64:
      with(std::type_identity<double>{});
      return true;
    default:
      return false;
  }
}

// Also of 8 bits: conversions, loads and stores.
template <class With>
bool for_any_integer(ptx::Type type, With&& with) {
  switch (type) {
    case ptx::Type::u8:
    case ptx::Type::b8:
      with(std::type_identity<std::uint8_t>{});
      return true;
    case ptx::Type::s8:
      with(std::type_identity<std::int8_t>{});
      return true;
    default:
      return for_integer(type, with) || for_bits(type, with);
  }
}

}  // namespace k2k::emulator::exec
