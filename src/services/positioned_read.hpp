#pragma once
// pread(2) of regular files: first without waiting, then on a thread that may block.
//
// What the page cache has is answered at once. For the rest, and where only a part is there, the
// answer is -EAGAIN, and the second try reads all of it anew: so the answer is that of one pread.
// What a miss does besides: the kernel begins to read ahead. A file system that cannot tell whether
// it would wait is read at once, as is what is no file; a disk behind it keeps the thread. So does
// the disk under a descriptor that is O_DIRECT itself.
//
// Threading: reentrant.

#include <cstdint>

#include "router/read/file_reader.hpp"
#include "services/request.hpp"

namespace k2k::services {

// The count or a negative errno; -EAGAIN: ask again with waiting. Without `files` by the kernel
// alone.
std::int64_t pread_without_waiting(const Request& request, router::FileReader* files);

// The same of one place, by the kernel alone.
std::int64_t try_pread(int descriptor, void* memory, std::uint64_t bytes, std::int64_t offset);

// A call of this number, or one made just before it, took longer than memory does: what was
// expected to be cached is asked for anew (router/read/cached_read.hpp).
void note_waited(std::uint16_t number);

}  // namespace k2k::services
