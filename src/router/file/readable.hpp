#pragma once
// The descriptors that the router reads, and the writes that may be more than one call of Linux.
//
// Threading: any thread.

#include <fcntl.h>

namespace k2k::router {

// Open for reading, and neither O_DIRECT nor O_PATH.
inline bool can_be_read(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_WRONLY && (flags & (O_DIRECT | O_PATH)) == 0;
}

// Open for writing anywhere by the page cache: with O_APPEND, O_SYNC or O_DSYNC a write has the
// flags' meaning only as one call of that descriptor.
inline bool can_be_written_in_parts(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  const int mode = flags & O_ACCMODE;
  return flags >= 0 && (mode == O_WRONLY || mode == O_RDWR) &&
         (flags & (O_APPEND | O_DIRECT | O_DSYNC | O_PATH | O_SYNC)) == 0;
}

}  // namespace k2k::router
