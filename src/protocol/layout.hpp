#pragma once
// The version handshake (decision 10): a kernel carries both numbers, a runtime that differs
// refuses it. Apart from what they stand for, so that who only launches kernels needs no slots.
//
// C++17, no standard library.

#include <cstdint>

namespace k2k::protocol {

inline constexpr std::uint32_t version = 2;

// Of every size and offset that the two sides agree on; area.hpp computes it and compares.
inline constexpr std::uint64_t layout_hash = 0x7f5048ded14c1d81;

}  // namespace k2k::protocol
