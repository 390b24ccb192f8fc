#pragma once
// A file in a folder of the test; the test caches and evicts its pages. For tests and benchmarks;
// never installed.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/contract.hpp"
#include "io/file/page_range.hpp"

namespace k2k::io {

class OwnFile {
 public:
  explicit OwnFile(std::uint64_t bytes = 0) {
    const char* const temporary = std::getenv("TMPDIR");
    std::string pattern = std::string(temporary != nullptr ? temporary : ".") + "/k2k_io_XXXXXX";
    K2K_EXPECT(::mkdtemp(pattern.data()) != nullptr);
    folder_ = std::filesystem::absolute(pattern).string();
    std::filesystem::permissions(folder_, std::filesystem::perms(0755));
    descriptor_ = ::open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    K2K_EXPECT(descriptor_ >= 0);
    if (bytes != 0) write(bytes);
  }
  ~OwnFile() {
    ::close(descriptor_);
    std::filesystem::remove_all(folder_);
  }
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string path() const { return folder_ + "/file"; }

  // Writes from the beginning; afterwards no page is dirty.
  void write(std::uint64_t bytes) const {
    const std::vector<char> data(bytes, 'k');
    K2K_EXPECT(::pwrite(descriptor_, data.data(), bytes, 0) == static_cast<ssize_t>(bytes));
    K2K_EXPECT(::fsync(descriptor_) == 0);
  }
  // Linux may keep pages; on tmpfs none leaves the cache.
  void evict(PageRange pages = {}) const {
    ::posix_fadvise(descriptor_, static_cast<off_t>(pages.first * page_bytes),
                    static_cast<off_t>(pages.pages * page_bytes), POSIX_FADV_DONTNEED);
  }
  // Caches each page in a folio of its own without read-ahead, so that single pages can be evicted
  // again.
  void cache(PageRange pages) const {
    ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_RANDOM);
    char content[page_bytes];
    for (std::uint64_t at = pages.first; at < pages.end(); ++at) {
      K2K_EXPECT(
          ::pread(descriptor_, content, sizeof(content), static_cast<off_t>(at * page_bytes)) > 0);
    }
  }
  // With Linux' read-ahead: large folios if the file system supports them.
  void cache_all_at_once() const {
    ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_NORMAL);
    std::vector<char> data(1 << 17);
    for (off_t at = 0;; at += static_cast<off_t>(data.size())) {
      if (::pread(descriptor_, data.data(), data.size(), at) <= 0) return;
    }
  }

 private:
  std::string folder_;
  int descriptor_ = -1;
};

}  // namespace k2k::io
