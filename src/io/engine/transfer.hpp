#pragma once
// A transfer between a part of a file and memory, and its outcome.
//
// Threading: values.

#include <cstddef>
#include <cstdint>

namespace k2k::io {

enum class Direction : std::uint8_t { read, write };

// An engine uses `memory` until the transfer's completion was polled.
struct Transfer {
  int file = -1;             // The descriptor; for direct transfers one opened with O_DIRECT.
  std::uint64_t offset = 0;  // In the file, bytes.
  std::byte* memory = nullptr;
  std::size_t bytes = 0;  // At most transfer_bytes_max.
  std::uint64_t tag = 0;  // Chosen by the submitter; returned in the completion.
  Direction direction = Direction::read;
};

// Linux moves at most this much per call: the last whole page below 2 GiB.
inline constexpr std::size_t transfer_bytes_max = 0x7ffff000;

struct Completion {
  std::uint64_t tag = 0;
  std::int64_t result = 0;  // Bytes moved, short at the end of the file; or a negative errno.
};

}  // namespace k2k::io
