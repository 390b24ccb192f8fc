#pragma once
// Consecutive pages of a file, 4 KiB each.
//
// Threading: values.

#include <cstdint>

namespace k2k::io {

inline constexpr std::uint64_t page_bytes = 4096;

struct PageRange {
  std::uint64_t first = 0;
  std::uint64_t pages = 0;

  [[nodiscard]] std::uint64_t end() const { return first + pages; }
  [[nodiscard]] bool empty() const { return pages == 0; }
  bool operator==(const PageRange&) const = default;
};

// The pages that contain these bytes, wholly or partly.
inline PageRange pages_of(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return {offset / page_bytes, 0};
  const std::uint64_t first = offset / page_bytes;
  return {first, (offset + bytes - 1) / page_bytes - first + 1};
}

}  // namespace k2k::io
