#pragma once
// The data of a launch of wordcount: plain data that host and kernel share.
//
//   incoming  shared memory, a chunk for each group, where its reads arrive
//   texts     a text for each group: the end of the chunk before, then the chunk. On the cpu
//   backend
//             the chunk is `incoming` itself; on a GPU, where each load of shared memory crosses
//             the bus, it is device memory, and the group copies the chunk
//   counts    device memory, a row of counters for each group: one counter per string
//   errors    shared memory, an errno for each file
//   next      device memory: the next file that no group has taken
//   states    device memory, relaunch only: where each group stands between two pieces

#include <cstddef>
#include <cstdint>

#include "apps/common/split_calls.hpp"
#include "apps/grep/matcher.hpp"

namespace k2k::wordcount {

inline constexpr std::size_t strings_max = 1024;
inline constexpr std::size_t string_bytes_max = 256;

enum class Step : std::uint32_t { take, opened, read, closed, end };

// A group of the relaunch baseline between two pieces.
struct State {
  Step step = Step::take;
  std::uint32_t file = 0;
  std::uint32_t kept = 0;  // Bytes of the text that were counted before and carried over.
  std::int32_t fd = -1;
  std::int64_t offset = 0;
};

struct Job {
  grep::Words words;
  const std::uint32_t* slots = nullptr;  // Counter of the string at an offset of words.bytes.
  std::uint32_t strings = 0;             // Counters in a row.
  std::uint32_t files = 0;
  const char* const* paths = nullptr;
  std::int32_t* errors = nullptr;
  std::uint32_t* next = nullptr;
  unsigned char* texts = nullptr;     // The first group's chunk.
  unsigned char* incoming = nullptr;  // The same on the cpu backend.
  std::size_t text_bytes = 0;         // From one group's text to the next.
  std::size_t incoming_bytes = 0;     // From one group's incoming chunk to the next.
  std::uint32_t part_bytes_min = 0;   // Of a text, for each item.
  std::uint32_t chunk_bytes = 0;      // Bytes a read.
  std::uint32_t longest_kept = 0;
  std::uint64_t* counts = nullptr;
  std::uint64_t* bytes = nullptr;  // Bytes read, one sum for each group.
  State* states = nullptr;
  apps::SplitCall* calls = nullptr;
};

}  // namespace k2k::wordcount
