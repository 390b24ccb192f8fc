#pragma once
// How much may be read ahead for devices: for settings, which need no reader.
//
// Threading: constants.

#include <cstdint>

#include "io/partition_limits.hpp"

namespace k2k::router {

// Of what may be in the page cache only because it was read ahead; 4 KiB each.
inline constexpr std::uint32_t read_ahead_pages_default = io::partition_pages_default;
inline constexpr std::uint32_t read_ahead_pages_max = io::partition_pages_max;

}  // namespace k2k::router
