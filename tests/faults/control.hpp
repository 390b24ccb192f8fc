#pragma once
// Controls the faults of the fault file system: a page of memory that it shares with the test,
// which sets it at any time. FaultFileSystem (mounted_fixture.hpp) is the test's side.
//
// Threading: any thread and process; each word by itself.

#include <atomic>
#include <cstdint>

namespace k2k::faults {

struct Control {
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  // A request that touches this byte of a file is answered with EIO.
  std::atomic<std::uint64_t> bad_byte{none};
  // Files take no byte from this offset on: ENOSPC.
  std::atomic<std::uint64_t> space_bytes{none};
  // The wrong size that stat(2) reports for every file.
  std::atomic<std::uint64_t> said_bytes{none};
  // The most bytes of an answer to a read, and to a write by a descriptor with O_DIRECT.
  std::atomic<std::uint64_t> read_bytes_max{none};
  std::atomic<std::uint64_t> direct_write_bytes_max{none};
  // Errno for opening with O_DIRECT, and for reading and writing by such a descriptor; 0: no error.
  std::atomic<std::int32_t> direct_open_error{0};
  std::atomic<std::int32_t> direct_read_error{0};
  std::atomic<std::int32_t> direct_write_error{0};
  // Files that are opened from now on bypass the page cache: each call is the server's answer.
  std::atomic<std::uint32_t> uncached{0};
  // While set, the file system holds requests of this kind.
  std::atomic<std::uint32_t> hold_direct_opens{0};
  std::atomic<std::uint32_t> hold_reads{0};
  std::atomic<std::uint32_t> hold_attributes{0};

  // Requests since the mount.
  std::atomic<std::uint64_t> reads{0};
  std::atomic<std::uint64_t> direct_opens{0};
  std::atomic<std::uint64_t> direct_reads{0};
  std::atomic<std::uint64_t> direct_writes{0};
  std::atomic<std::uint64_t> failed{0};  // Answered with one of these errors.
  std::atomic<std::uint64_t> held{0};    // Waiting now.
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "two processes share them");

}  // namespace k2k::faults
