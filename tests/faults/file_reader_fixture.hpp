#pragma once
// A FileReader on the fault file system, compared with Linux' answers.
//
// Threading: the test's.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "router/file/file_fixture.hpp"
#include "router/read/file_reader.hpp"
#include "tests/faults/mounted_fixture.hpp"

namespace k2k::faults {

using io::page;
using router::DataFile;
using router::FileReader;
using router::Memory;
using router::memory_of;
using router::ReaderStats;

inline constexpr std::size_t file_bytes = (3 << 20) + 5000;
#if defined(K2K_TSAN) || defined(K2K_ASAN)
inline constexpr bool is_brief = true;
#else
inline constexpr bool is_brief = false;
#endif

struct Answer {
  ssize_t count = 0;
  std::vector<std::byte> bytes{};

  bool operator==(const Answer&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Answer& answer) {
  return out << answer.count;
}

struct Piece {
  std::size_t bytes;
  std::size_t offset;
};

// For a device on which mixes pay. The reader reads nothing ahead of streams.
inline std::unique_ptr<FileReader> make_reader(std::uint32_t channels = 4) {
  auto made = FileReader::create(
      {.model = {.call_us = 60, .cutoff_bytes = 65536, .direct_gbs = 1, .cache_gbs = 5},
       .channels_max = channels,
       .read_ahead_bytes = 0,
       .grain_pages = 1});
  EXPECT_TRUE(made.ok());
  return std::move(made).value();
}

// Checks that memory behind the request is untouched.
template <class Read>
Answer answer_of(const Piece& piece, Read read) {
  const Memory memory = memory_of(piece.bytes + page);
  Answer answer{.count = read(memory.get())};
  const auto moved = static_cast<std::size_t>(std::max<ssize_t>(answer.count, 0));
  answer.bytes.assign(memory.get(), memory.get() + moved);
  const std::byte* const behind = memory.get() + piece.bytes;
  EXPECT_EQ(std::count(behind, behind + page, std::byte{0xee}), ssize_t{page});
  return answer;
}

inline Answer plain(int descriptor, const Piece& piece) {
  return answer_of(piece, [&](std::byte* memory) -> ssize_t {
    const ssize_t count =
        ::pread(descriptor, memory, piece.bytes, static_cast<off_t>(piece.offset));
    return count < 0 ? -errno : count;
  });
}

inline Answer routed(FileReader& reader, int descriptor, const Piece& piece) {
  return answer_of(piece, [&](std::byte* memory) {
    return reader.pread(descriptor, memory, piece.bytes, static_cast<std::int64_t>(piece.offset));
  });
}

inline void evict(int descriptor) {
  EXPECT_EQ(::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED), 0);
}

// Linux' answer and the router's, each from an empty page cache.
inline void expect_same(FileReader& reader, int descriptor, const Piece& piece) {
  evict(descriptor);
  const Answer kernels = plain(descriptor, piece);
  evict(descriptor);
  EXPECT_EQ(routed(reader, descriptor, piece), kernels) << piece.bytes << " at " << piece.offset;
}

class FileReaderOnFaults : public WithFaults {
 protected:
  // A new file, seen through the fault file system.
  io::Opened open(const std::string& name, std::size_t bytes = file_bytes) {
    system().make_file(name, bytes);
    io::Opened file = io::open_file(system().mount_point() + "/" + name, O_RDWR);
    EXPECT_GE(file.number(), 0);
    evict(file.number());
    return file;
  }
  // Caches every `every`-th page, or none (0).
  void cache(const io::Opened& file, std::size_t every) const {
    evict(file.number());
    ::posix_fadvise(file.number(), 0, 0, POSIX_FADV_RANDOM);
    char byte = 0;
    for (std::size_t at = 0; every != 0 && at < file_bytes; at += every * page) {
      static_cast<void>(::pread(file.number(), &byte, 1, static_cast<off_t>(at)));
    }
    ::posix_fadvise(file.number(), 0, 0, POSIX_FADV_NORMAL);
  }
  void wait_for_held(std::uint64_t count) const {
    while (control().held < count) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

}  // namespace k2k::faults
