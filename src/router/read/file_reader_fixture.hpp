#pragma once
// Reads by a FileReader, compared with what the file has.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "router/file/file_fixture.hpp"
#include "router/read/file_reader.hpp"

namespace k2k::router {

// The answer is the kernel's and the bytes are the file's; nothing behind them is touched.
inline void expect_read(FileReader& reader, DataFile& file, std::size_t bytes, std::size_t offset,
                        std::size_t shift = 0) {
  const Memory memory = memory_of(bytes + shift + 64);
  std::byte* const begin = memory.get() + shift;
  const ssize_t count =
      reader.pread(file.descriptor(), begin, bytes, static_cast<std::int64_t>(offset));
  const std::size_t left = offset < file.size() ? file.size() - offset : 0;
  const std::size_t wanted = std::min(bytes, left);
  ASSERT_EQ(count, static_cast<ssize_t>(wanted)) << bytes << " at " << offset;
  ASSERT_TRUE(
      std::equal(begin, begin + wanted, file.bytes().begin() + static_cast<std::ptrdiff_t>(offset)))
      << bytes << " at " << offset;
  for (std::size_t at = wanted; at < bytes + 64; ++at) ASSERT_EQ(begin[at], std::byte{0xee});
}

}  // namespace k2k::router
