#pragma once
// A tree of files, and its state in the page cache.
//
// Threading: one thread.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/descriptor.hpp"

namespace k2k::bench {

class FileTree {
 public:
  explicit FileTree(const char* top) : top_(top) {
    std::error_code ignored;
    const auto skip = std::filesystem::directory_options::skip_permission_denied;
    for (std::filesystem::recursive_directory_iterator at(top_, skip, ignored), end; at != end;
         at.increment(ignored)) {
      if (ignored) break;
      if (at->symlink_status(ignored).type() != std::filesystem::file_type::regular) continue;
      files_.push_back(at->path().string());
      bytes_ += at->file_size(ignored);
    }
  }

  [[nodiscard]] const char* top() const { return top_; }
  [[nodiscard]] std::size_t files() const { return files_.size(); }
  [[nodiscard]] std::uintmax_t bytes() const { return bytes_; }

  // Dirty pages cannot be dropped, so they are written first.
  void drop_pages() const {
    for (const std::string& name : files_) {
      const Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
      if (file.number() < 0) continue;
      ::fdatasync(file.number());
      ::posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
    }
  }

  void read_pages() const {
    std::vector<char> piece(1 << 20);
    for (const std::string& name : files_) {
      const Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
      while (file.number() >= 0 && ::read(file.number(), piece.data(), piece.size()) > 0) {
      }
    }
  }

  // The cached share of the tree, 0 to 1. Linux reports all pages of a file as cached if the caller
  // neither owns the file nor may write it.
  [[nodiscard]] double resident_share() const {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::size_t all = 0;
    std::size_t resident = 0;
    std::vector<unsigned char> pages;
    for (const std::string& name : files_) {
      const Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
      struct stat status{};
      if (file.number() < 0 || ::fstat(file.number(), &status) != 0 || status.st_size == 0)
        continue;
      const auto bytes = static_cast<std::size_t>(status.st_size);
      void* const address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.number(), 0);
      if (address == MAP_FAILED) continue;
      pages.assign((bytes + page - 1) / page, 0);
      if (::mincore(address, bytes, pages.data()) == 0) {
        all += pages.size();
        for (const unsigned char each : pages) resident += each & 1;
      }
      ::munmap(address, bytes);
    }
    return all == 0 ? 0 : static_cast<double>(resident) / static_cast<double>(all);
  }

 private:
  const char* top_;
  std::vector<std::string> files_;
  std::uintmax_t bytes_ = 0;
};

}  // namespace k2k::bench
