#pragma once
// The version handshake (decision 10): a kernel carries both numbers, and a runtime with other
// numbers refuses it. A separate file, so that code that only launches kernels need not include
// slots.
//
// C++17, no standard library.

#include <cstdint>

namespace k2k::protocol {

inline constexpr std::uint32_t version = 2;

// A hash of every size and offset that both sides must agree on; area.hpp computes and compares it.
inline constexpr std::uint64_t layout_hash = 0x7f5048ded14c1d81;

}  // namespace k2k::protocol
