#pragma once
// A file of known bytes on a real file system, and its pages in or out of the page cache.
//
// Threading: the test's.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "io/file/direct_file.hpp"
#include "router/plan/model.hpp"

namespace k2k::router {

inline constexpr std::size_t page = 4096;

// A device that is slow to begin, so that mixes pay. No test depends on how fast the disk is.
inline Model slow_device() {
  return {.call_us = 60, .cutoff_bytes = 65536, .direct_gbs = 1, .cache_gbs = 5};
}

// Memory aligned for every device.
struct AlignedDelete {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte[], AlignedDelete>;

inline Memory memory_of(std::size_t bytes) {
  void* const memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0xee, bytes);
  return Memory(static_cast<std::byte*>(memory));
}

class DataFile {
 public:
  // Random bytes, on the disk.
  explicit DataFile(std::size_t bytes, std::uint64_t seed = 1) : bytes_(bytes) {
    const char* const folder = std::getenv("TMPDIR");
    path_ = std::string(folder == nullptr ? "." : folder) + "/k2k-router-XXXXXX";
    descriptor_ = ::mkostemp(path_.data(), O_CLOEXEC);
    std::mt19937_64 random(seed);
    for (std::size_t at = 0; at < bytes; at += 8) {
      const std::uint64_t word = random();
      std::memcpy(&bytes_[at], &word, std::min<std::size_t>(8, bytes - at));
    }
    EXPECT_EQ(::write(descriptor_, bytes_.data(), bytes), static_cast<ssize_t>(bytes));
    EXPECT_EQ(::fsync(descriptor_), 0);
  }
  ~DataFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    ::unlink(path_.c_str());
  }
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  std::vector<std::byte>& bytes() { return bytes_; }

  void evict() const { EXPECT_EQ(::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED), 0); }
  // Caches single pages for which `cached(page)` is true, without read-ahead.
  template <class Cached>
  void cache(Cached cached) const {
    evict();
    const int other = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    ::posix_fadvise(other, 0, 0, POSIX_FADV_RANDOM);
    std::byte content[page];
    for (std::size_t at = 0; at < (size() + page - 1) / page; ++at) {
      if (!cached(at)) continue;
      EXPECT_GT(::pread(other, content, sizeof(content), static_cast<off_t>(at * page)), 0);
    }
    ::close(other);
  }
  void close() { ::close(std::exchange(descriptor_, -1)); }

 private:
  int descriptor_ = -1;
  std::string path_;
  std::vector<std::byte> bytes_;
};

inline bool has_direct(const DataFile& file) {
  return io::DirectFile::open(file.descriptor(), io::DirectFile::Access::read).ok();
}

}  // namespace k2k::router
