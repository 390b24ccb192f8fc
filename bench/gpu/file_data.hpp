#pragma once
// A file of known content, in and out of the page cache: what file_bench.cpp reads and writes.
//
// The word of 8 bytes at a place follows from the place and a seed, so that any part of the file,
// or of memory that holds it, can be compared without a copy of it.
//
// Threading: one thread.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "io/file/residency.hpp"

namespace k2k::bench {

inline constexpr std::size_t page_of_file = 4096;

inline std::uint64_t content_word(std::uint64_t place, std::uint64_t seed) {
  return (place + seed * 0x51ed2701) * 0x9e3779b97f4a7c15;
}
// Expects an `offset` that is a multiple of 8.
inline void fill_content(std::span<std::byte> memory, std::uint64_t offset, std::uint64_t seed) {
  for (std::size_t at = 0; at + 8 <= memory.size(); at += 8) {
    const std::uint64_t word = content_word((offset + at) / 8, seed);
    std::memcpy(memory.data() + at, &word, sizeof word);
  }
}
// Words that differ from the content.
inline std::uint64_t wrong_words(std::span<const std::byte> memory, std::uint64_t offset,
                                 std::uint64_t seed) {
  std::uint64_t wrong = 0;
  for (std::size_t at = 0; at + 8 <= memory.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, memory.data() + at, sizeof word);
    wrong += word == content_word((offset + at) / 8, seed) ? 0 : 1;
  }
  return wrong;
}

class FileData {
 public:
  // A new file in `folder`, with the content of `seed`, on the disk. It has a name, for twins and
  // libraries that open files again, until the object ends. Errors: as open(2), write(2), fsync(2).
  static Result<std::unique_ptr<FileData>> make(const std::string& folder, std::size_t bytes,
                                                std::uint64_t seed) {
    auto file = std::unique_ptr<FileData>(new FileData(folder + "/k2k-file-bench-XXXXXX", bytes));
    file->descriptor_ = ::mkostemp(file->path_.data(), O_CLOEXEC);
    if (file->descriptor_ < 0) return file->failed("make");
    if (Status status = file->write_all(seed); !status) return status.error();
    if (Status status = file->sync(); !status) return status.error();
    return file;
  }
  ~FileData() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(path_.c_str());
  }
  FileData(const FileData&) = delete;
  FileData& operator=(const FileData&) = delete;

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

  // -1 and errno, if the file system has none of these flags.
  [[nodiscard]] int open(int flags) const { return ::open(path_.c_str(), flags | O_CLOEXEC); }

  Status write_all(std::uint64_t seed) {
    std::vector<std::byte> part(part_bytes);
    for (std::size_t at = 0; at < bytes_; at += part.size()) {
      fill_content(part, at, seed);
      if (::pwrite(descriptor_, part.data(), part.size(), static_cast<off_t>(at)) !=
          static_cast<ssize_t>(part.size())) {
        return failed("write");
      }
    }
    return {};
  }
  // Puts the file on the disk: only then can its pages be dropped.
  Status sync() const { return ::fsync(descriptor_) == 0 ? Status() : Status(failed("write")); }
  // Words of the file's first bytes that differ from the content of `seed`.
  Result<std::uint64_t> wrong(std::size_t bytes, std::uint64_t seed) const {
    std::vector<std::byte> part(part_bytes);
    std::uint64_t wrong = 0;
    for (std::size_t at = 0; at < bytes; at += part.size()) {
      if (::pread(descriptor_, part.data(), part.size(), static_cast<off_t>(at)) !=
          static_cast<ssize_t>(part.size())) {
        return failed("read");
      }
      wrong += wrong_words(part, at, seed);
    }
    return wrong;
  }

  // Drops every page that is on the disk from the page cache; pages of a tmpfs stay.
  void evict() const { ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED); }
  void cache(std::size_t bytes) const {
    std::vector<std::byte> part(part_bytes);
    for (std::size_t at = 0; at < bytes; at += part.size()) {
      static_cast<void>(::pread(descriptor_, part.data(), part.size(), static_cast<off_t>(at)));
    }
  }
  // The share of the file's first bytes that is in the page cache, 0 to 1. Errors:
  // io::ResidencyProbe's.
  [[nodiscard]] Result<double> cached_share(std::size_t bytes) const {
    Result<io::ResidencyProbe> probe = io::ResidencyProbe::open(descriptor_);
    if (!probe) return probe.error();
    std::vector<std::uint8_t> pages(bytes / page_of_file);
    const std::size_t cached = probe->probe(descriptor_, 0, pages, 1);
    return static_cast<double>(cached) / static_cast<double>(pages.size());
  }

 private:
  static constexpr std::size_t part_bytes = std::size_t{1} << 20;

  FileData(std::string path, std::size_t bytes) : path_(std::move(path)), bytes_(bytes) {}
  [[nodiscard]] Error failed(const char* what) const {
    const int error = errno;
    return Error{error, "cannot " + std::string(what) + " " + path_ + ": " + std::strerror(error) +
                            "; name a folder on a disk with room: --folder"};
  }

  std::string path_;
  std::size_t bytes_;  // A multiple of part_bytes.
  int descriptor_ = -1;
};

}  // namespace k2k::bench
