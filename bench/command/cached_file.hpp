#pragma once
// A temporary file of 64 MiB of random bytes. Any of its pages can be put into the page cache.
//
// Threading: one thread; open() from any.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/huge_pages.hpp"
#include "base/result.hpp"
#include "bench/command/bench.hpp"

namespace k2k::bench {

class CachedFile {
 public:
  static constexpr std::size_t file_bytes = 64 * mib;

  // Errors: as open(2) and write(2), such as ENOSPC; TMPDIR selects another folder.
  static Result<std::unique_ptr<CachedFile>> make() {
    const std::string name = (std::filesystem::temp_directory_path() / "k2k-bench-XXXXXX").string();
    auto file = std::unique_ptr<CachedFile>(new CachedFile(name));
    file->descriptor_ = ::mkostemp(file->path_.data(), O_CLOEXEC);
    if (file->descriptor_ < 0) {
      return Error{errno, fmt_error("no temporary file", errno)};
    }
    std::mt19937_64 random(1);
    for (std::size_t at = 0; at < file_bytes; at += mib) {
      for (std::uint64_t& word : file->words_) word = random();
      if (::write(file->descriptor_, file->words_.data(), mib) != static_cast<ssize_t>(mib)) {
        return Error{errno, fmt_error("no room for 64 MiB", errno)};
      }
    }
    ::fsync(file->descriptor_);
    file->plain_ = file->open(0);
    ::posix_fadvise(file->plain_, 0, 0, POSIX_FADV_RANDOM);
    return file;
  }
  ~CachedFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::close(plain_);
    ::unlink(path_.c_str());
  }
  CachedFile(const CachedFile&) = delete;
  CachedFile& operator=(const CachedFile&) = delete;

  [[nodiscard]] int open(int flags) const {
    return ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | flags);
  }
  // Caches extents at random places, the same ones each time.
  void cache(int residency, std::size_t extent) const {
    evict(0, file_bytes);
    const std::size_t extents = file_bytes / extent;
    std::vector<std::size_t> order(extents);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 random(2);
    std::shuffle(order.begin(), order.end(), random);
    order.resize(extents * static_cast<std::size_t>(residency) / 100);
    std::sort(order.begin(), order.end());
    for (const std::size_t at : order) cache_range(at * extent, extent);
  }
  void evict(std::size_t offset, std::size_t bytes) const {
    ::posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes),
                    POSIX_FADV_DONTNEED);
  }
  // Caches these pages and no neighbours, each in a folio of its own.
  void cache_range(std::size_t offset, std::size_t bytes) const {
    std::vector<std::byte> room(bytes);
    static_cast<void>(::pread(plain_, room.data(), bytes, static_cast<off_t>(offset)));
  }
  // Writes the range anew, in folios as large as Linux makes them; sync() puts them on the disk.
  void rewrite(std::size_t offset, std::size_t bytes) const {
    for (const std::size_t end = offset + bytes; offset < end; offset += mib) {
      const std::size_t part = std::min(end - offset, mib);
      static_cast<void>(::pwrite(descriptor_, words_.data(), part, static_cast<off_t>(offset)));
    }
  }
  void sync() const { ::fdatasync(descriptor_); }

 private:
  explicit CachedFile(std::string path) : path_(std::move(path)) {}
  static std::string fmt_error(const char* what, int error) {
    return std::string(what) + ": " + strerror(error) +
           "; set TMPDIR to a folder on a disk with room";
  }

  std::string path_;
  std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(mib / 8);
  int descriptor_ = -1;
  int plain_ = -1;  // Reads only the requested pages: no read-ahead.
};

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte[], Free>;

// Contiguous, as the memory of a device is.
inline Memory memory_of(std::size_t bytes) {
  const std::size_t room = std::max(bytes, huge_page_bytes);
  auto* const memory = static_cast<std::byte*>(allocate_in_huge_pages(page_bytes, room));
  std::memset(memory, 1, room);
  return Memory(memory);
}

}  // namespace k2k::bench
