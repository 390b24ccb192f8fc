#pragma once
// Which descriptors the router reads: those that are open for reading by the page cache.
//
// Threading: any thread.

#include <fcntl.h>

namespace k2k::router {

// Open for reading, and neither O_DIRECT nor O_PATH.
inline bool can_be_read(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_WRONLY && (flags & (O_DIRECT | O_PATH)) == 0;
}

}  // namespace k2k::router
