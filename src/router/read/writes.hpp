#pragma once
// pwrite(2) in exclusive mode: the caller promises that no other program reads or writes the bytes
// meanwhile, so a long write may be several calls of Linux, and goes past the page cache:
//
//   bytes of the request   |head|        body, whole pages        |tail|
//   calls                  |pwrite|  one O_DIRECT pwrite  |  pwrite    |
//                          in the file's order, so that a count is a written prefix
//
//   shorter body, or no regular file              pwrite(2), as the program would have made it
//   O_APPEND, O_SYNC, O_DSYNC                     likewise: these flags need one call
//   beyond the limit on the length of files       likewise: Linux signals once
//   pages of the body cached, or it is not known  likewise: a direct write would drop them
//   POSIX lock, no twin, refused before, misaligned memory                likewise
//
// Bytes that the device does not take, for whatever reason, go through the page cache: then the
// answer is Linux'. A transfer that is refused because of the file's kind (EREMOTEIO, EINVAL,
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

  // May a write of that length go past the page cache?
  [[nodiscard]] bool may_be_direct(std::size_t bytes) const {
    return direct_bytes_ > 0 && bytes >= direct_bytes_;
  }
  // Expects may_be_direct(). The count, or a negative errno; the memory is only read.
  ssize_t pwrite(const FileRequest& request);

 private:
  // The bytes that are written directly: whole pages.
  struct Body {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  // The way of a body. Null: through the page cache. The twin lives as long as the file.
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
