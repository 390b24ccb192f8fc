#pragma once
// Files of the test, on a file system with direct transfers if there is one. For tests and
// benchmarks; never installed.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

namespace k2k::io {

inline constexpr std::size_t page = 4096;

class OwnFiles {
 public:
  OwnFiles() {
    const char* const base = std::getenv("TMPDIR");
    std::string pattern = std::string(base != nullptr ? base : ".") + "/k2k_io_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~OwnFiles() { std::filesystem::remove_all(path_); }
  OwnFiles(const OwnFiles&) = delete;
  OwnFiles& operator=(const OwnFiles&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// An open descriptor; negative if opening failed.
class Opened {
 public:
  explicit Opened(int number) : number_(number) {}
  Opened(Opened&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Opened& operator=(Opened&&) = delete;
  ~Opened() { close(); }

  [[nodiscard]] int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

inline Opened open_file(const std::string& path, int flags) {
  return Opened(::open(path.c_str(), flags | O_CLOEXEC, 0600));
}

// Page-aligned memory.
class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : bytes_(bytes),
        data_(static_cast<std::byte*>(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~Pages() { ::munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::span<std::byte> span() const { return {data_, bytes_}; }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

// The content of a test's file at byte `at`.
inline std::byte content(std::uint64_t at) {
  return static_cast<std::byte>((at * 131) ^ (at >> 12) * 29);
}

inline void fill(std::span<std::byte> into, std::uint64_t offset) {
  for (std::size_t at = 0; at < into.size(); ++at) into[at] = content(offset + at);
}

inline bool holds_content(std::span<const std::byte> bytes, std::uint64_t offset) {
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (bytes[at] != content(offset + at)) return false;
  }
  return true;
}

// Writes a file of that content to the disk, and returns its path.
inline std::string make_file(const OwnFiles& files, const std::string& name, std::size_t bytes) {
  const std::string path = files.path(name);
  const Opened file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
  constexpr std::size_t part_max = 1 << 20;
  const Pages memory(part_max);
  for (std::size_t at = 0; at < bytes; at += part_max) {
    const auto part = memory.span().first(std::min(part_max, bytes - at));
    fill(part, at);
    if (::pwrite(file.number(), part.data(), part.size(), static_cast<off_t>(at)) !=
        static_cast<ssize_t>(part.size())) {
      std::abort();
    }
  }
  ::fsync(file.number());
  return path;
}

}  // namespace k2k::io
