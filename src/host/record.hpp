#pragma once
// A holder's record as bytes: 56 bytes in host byte order, with a checksum at the end. The checksum
// detects half-written records, not false ones.
//
// Threading: pure functions.

#include <array>
#include <optional>
#include <span>

#include "host/holders.hpp"

namespace k2k::host {

inline constexpr std::size_t record_bytes = 56;

std::array<std::byte, record_bytes> encode(const Record& record);

// nullopt if these are not the bytes of a record of this version. A value out of its range, or NaN,
// becomes the nearest permitted value.
std::optional<Record> decode(std::span<const std::byte> bytes);

}  // namespace k2k::host
