#pragma once
// How many pages may be in the page cache only because they were read ahead for devices: for
// configurations, which need no reader and no Partition.
//
// Threading: constants.

#include <cstdint>

namespace k2k::router {

inline constexpr std::uint32_t read_ahead_pages_default = 2048;     // 8 MiB; SPIN's are 512.
inline constexpr std::uint32_t read_ahead_pages_max = 1024 * 1024;  // 4 GiB, in 130 MB of memory.

}  // namespace k2k::router
