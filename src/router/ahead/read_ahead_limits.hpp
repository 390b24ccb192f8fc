#pragma once
// Limits of the number of pages that are cached only because of read-ahead for devices. Separate
// for configurations, which need neither a reader nor a Partition.
//
// Threading: constants.

#include <cstdint>

namespace k2k::router {

inline constexpr std::uint32_t read_ahead_pages_default = 2048;     // 8 MiB; SPIN's are 512.
inline constexpr std::uint32_t read_ahead_pages_max = 1024 * 1024;  // 4 GiB, in 130 MB of memory.

}  // namespace k2k::router
