#pragma once
// The types and state spaces of PTX. Threading: values.

#include <cstdint>
#include <optional>
#include <string_view>

namespace k2k::emulator::ptx {

enum class Type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  f32,
  f64,
};

// By the name without a dot: "u32". Nothing for other words.
std::optional<Type> type_of(std::string_view word);
std::string_view name_of(Type type);
// Bytes in memory; a predicate has none (0).
std::uint32_t bytes_of(Type type);

constexpr bool is_signed(Type type) { return type >= Type::s8 && type <= Type::s64; }
constexpr bool is_float(Type type) { return type >= Type::f16; }

// cluster: the shared memory of all blocks of a cluster, `.shared::cluster`.
enum class Space : std::uint8_t { generic, global, shared, local, constant, param, cluster };

}  // namespace k2k::emulator::ptx
