#pragma once
// pwrite(2) for memory of the device. By default it is one kernel call, through the page cache:
// made of several, it could be seen half done. In exclusive mode, where the caller promises that
// nobody sees, a long write goes past the page cache:
//
//   bytes of the request   |head|        body, whole pages        |tail|
//   calls                  |pwrite|  one O_DIRECT pwrite  |  pwrite    |
//                          in the file's order, so that a count is what was written
//
//   shorter body, or no regular file              pwrite(2), as the program would have made it
//   O_APPEND, O_SYNC, O_DSYNC                     likewise: they are what they say for one call
//   beyond the limit on the length of files       likewise: the kernel signals once
//   pages of the body cached, or it is not known  likewise: a direct write would drop them
//   POSIX lock, no twin to be had, refused before, misaligned memory      likewise
//
// What the device does not take, for whatever reason, goes on through the page cache: then the
// answer is the kernel's. A transfer that is refused for what the file is (EREMOTEIO, EINVAL,
// EOPNOTSUPP, EIO) is the last of that file (open_files.hpp).
//
// Threading: any thread.

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "router/file/open_files.hpp"
#include "router/read/execution.hpp"
#include "router/read/reader_parts.hpp"

namespace k2k::router {

class Writes {
 public:
  // Bodies of at least `direct_bytes` go directly; 0: none does. Both outlive it.
  Writes(std::uint64_t direct_bytes, OpenFiles& files, Counters& counters)
      : direct_bytes_(direct_bytes), files_(files), counters_(counters) {}

  // Might a write of that length go past the page cache?
  [[nodiscard]] bool may_be_direct(std::size_t bytes) const {
    return direct_bytes_ > 0 && bytes >= direct_bytes_;
  }
  // The count, or a negative errno. Its memory is only read.
  ssize_t pwrite(int descriptor, const void* memory, std::size_t bytes, std::int64_t offset);

 private:
  // What of the file is written directly, bytes: whole pages.
  struct Body {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  // What a body is written by; nothing: the page cache has it all. The twin lives as the file does.
  struct WritePath {
    std::shared_ptr<OpenFile> file = nullptr;
    const io::DirectFile* direct = nullptr;
  };

  static Body body_of(const FileRequest& request);
  WritePath path_of(const FileRequest& request, const Body& body);
  ssize_t in_parts(const FileRequest& request, const Body& body, const WritePath& path);
  ssize_t by_cache(const FileRequest& request);

  const std::uint64_t direct_bytes_;
  OpenFiles& files_;
  Counters& counters_;
};

}  // namespace k2k::router
