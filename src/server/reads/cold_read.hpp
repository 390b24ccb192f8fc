#pragma once
// A cold read for a ring: one read through the page cache, into memory that the CPU can address.
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

// Longer reads get a thread each, because the ring's only thread would copy them one after another.
inline constexpr std::size_t ring_read_bytes_max = 256 * 1024;

// Expects a pread.
inline ColdRead cold_read_of(const services::Request& request) {
  const auto& word = request.arguments;
  return {static_cast<int>(word[0]), reinterpret_cast<std::byte*>(word[1]), word[2], word[3]};
}

// Returns true if a ring may make the call, which was tried and would wait. Not if the router would
// plan it, or if it is longer than ring_read_bytes_max. Not if pages of its buffer are missing: the
// ring's thread would wait for them, and delay all other reads. Nor on a file system whose reads a
// ring gives to kernel threads, because no cap counts their CPU time.
[[nodiscard]] bool suits_a_ring(const services::Request& request, const router::Files& files);

}  // namespace k2k::server
