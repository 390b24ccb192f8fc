#include "emulator/cuda/ptx/types.hpp"

#include <array>
#include <cstddef>

namespace k2k::emulator::ptx {

namespace {

struct TypeRow {
  std::string_view name;
  std::uint32_t bytes;
};

// In the order of Type.
constexpr std::array<TypeRow, 21> type_rows{{
    {"", 0},    {"pred", 0}, {"b8", 1},    {"b16", 2},  {"b32", 4},    {"b64", 8}, {"b128", 16},
    {"u8", 1},  {"u16", 2},  {"u32", 4},   {"u64", 8},  {"s8", 1},     {"s16", 2}, {"s32", 4},
    {"s64", 8}, {"f16", 2},  {"f16x2", 4}, {"bf16", 2}, {"bf16x2", 4}, {"f32", 4}, {"f64", 8},
}};

}  // namespace

std::optional<Type> type_of(std::string_view word) {
  for (std::size_t at = 1; at < type_rows.size(); ++at) {
    if (type_rows[at].name == word) return static_cast<Type>(at);
  }
  return std::nullopt;
}

std::string_view name_of(Type type) { return type_rows[static_cast<std::size_t>(type)].name; }
std::uint32_t bytes_of(Type type) { return type_rows[static_cast<std::size_t>(type)].bytes; }

}  // namespace k2k::emulator::ptx
