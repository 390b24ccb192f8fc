#pragma once
// The counts of a reader of files: for code that prints them and has no reader.
//
// Threading: data.

#include <cstdint>

namespace k2k::router {

// Requests since the reader's begin.
struct ReaderStats {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  // Residency was not probed: too short, expected to be cached or not, or no direct transfers.
  std::uint64_t unprobed = 0;
  std::uint64_t probed = 0;       // Residency was probed.
  std::uint64_t mixed = 0;        // Reads of which some pages came directly.
  std::uint64_t bytes_cache = 0;  // By pread or pwrite.
  std::uint64_t bytes_direct = 0;
  std::uint64_t fall_backs = 0;  // Direct transfers refused; their bytes came by pread or pwrite.
  // Files without direct transfers: their file system has none, or refused one. Reads and writes
  // of a file count apart.
  std::uint64_t files_refused = 0;
  // Requests of several pages into memory that does not lie as the file's offsets do, of which
  // direct transfers were wanted: reads take a copy more, writes go by pwrite.
  std::uint64_t misaligned = 0;
  std::uint64_t pages_ahead = 0;    // Absent, and read ahead.
  std::uint64_t pages_evicted = 0;  // Of pages_ahead, chosen for eviction; used pages stay.
  std::uint64_t pages_held = 0;     // Of pages_ahead, not evicted: at most partition_pages.
  std::uint64_t pages_kept = 0;     // Of pages_ahead, kept because a host program used them.
  std::uint64_t pages_again = 0;    // Of pages_ahead, pages read again after eviction.
  std::uint64_t writes_direct = 0;  // Writes that went past the page cache in part.
};

}  // namespace k2k::router
