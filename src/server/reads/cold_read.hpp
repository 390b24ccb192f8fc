#pragma once
// A cold read as a ring makes it: one read by the page cache, into memory that the CPU addresses.
//
// Threading: from anywhere.

#include <cstddef>
#include <cstdint>

#include "router/door/files.hpp"
#include "services/request.hpp"

namespace k2k::server {

struct ColdRead {
  int descriptor = -1;
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;
};

// Longer reads keep a thread each: the one thread of the ring would copy them one after the other.
inline constexpr std::size_t ring_read_bytes_max = 256 * 1024;

// Expects a pread.
inline ColdRead cold_read_of(const services::Request& request) {
  const auto& word = request.arguments;
  return {static_cast<int>(word[0]), reinterpret_cast<std::byte*>(word[1]), word[2], word[3]};
}

// May a ring make the call, which was tried and would wait? Not if the router would plan it, or if
// it is longer than ring_read_bytes_max. Not if memory that the file fills is missing: the thread
// of the ring would wait for that memory, and all other reads with it. Nor on a file system whose
// reads a ring gives to threads of the kernel: no cap counts those.
[[nodiscard]] bool suits_a_ring(const services::Request& request, const router::Files& files);

}  // namespace k2k::server
