#pragma once
// A holder's record as bytes: host byte order, 56 of them, a checksum over what is before it. It
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

// Nothing if these are not the bytes of a record of this version. What is out of its range, or no
// number, becomes the nearest that is permitted.
std::optional<Record> decode(std::span<const std::byte> bytes);

}  // namespace k2k::host
