#pragma once
// How many pages a partition (partition.hpp) may hold: for configurations, which need no partition.
//
// Threading: constants.

#include <cstdint>

namespace k2k::io {

inline constexpr std::uint64_t partition_pages_default = 2048;     // 8 MiB; SPIN's are 512.
inline constexpr std::uint64_t partition_pages_max = 1024 * 1024;  // 4 GiB, in 130 MB of memory.

}  // namespace k2k::io
