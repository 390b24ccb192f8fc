#pragma once
// The text of a device file: what a runtime knows of its device and of its requests, one "name
// value" a line, with the names and the values of the statistics (--stats --json).
//
//   sequence 12          counts the writes of the file
//   resident_waves 512   ...
//   call pread64 4096 0  name, count, errors; the most frequent first
//   end 12               equal to the first line's number, or the file was read during a write
//
// The text has a fixed length: it is written in place, at once, and never cut.
//
// Threading: pure functions of a copy.

#include <cstdint>
#include <string>

#include "server/account/stats.hpp"

namespace k2k {

inline constexpr std::size_t device_text_bytes = 4096;

// Exactly device_text_bytes, filled up with newlines. Calls that do not fit are left out; the line
// "calls" tells how many there are.
std::string to_device_text(const server::Stats& stats, std::uint64_t sequence);

}  // namespace k2k
