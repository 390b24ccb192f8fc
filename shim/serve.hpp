#pragma once
// Reads and writes with device memory.
//
// Threading: any thread, signal handlers included. These are cancellation points as libc's are,
// except calls made by syscall(2). Cancellation is off during a served call.

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>

#include "base/ranges.hpp"

namespace k2k::shim {

// Hidden: else each access goes through the global offset table.
[[gnu::visibility("hidden")]] extern Ranges ranges;

// A read or write as the host program made it.
struct HostCall {
  int descriptor;
  const iovec* pieces;
  int count;
  bool write = false;
  bool at_position = false;  // read(2): the file's own position, which advances.
  std::int64_t offset = 0;   // The position otherwise.
  int flags = 0;             // RWF_ of preadv2(2)
  const void* caller = nullptr;
  bool by_number = false;  // By syscall(2), which is no cancellation point.
};

// Returns false if libc has to make the request as the program made it. Returns true with the
// call's result in *answer, and errno set.
bool serve(const HostCall& request, ssize_t* answer);

// The shortest way of the commonest call, pread(2). `memory` lies in a range of k2k_io_mapped, and
// the descriptor was examined before. Returns false where only serve() can decide.
bool serve_at(int descriptor, void* memory, std::size_t bytes, std::int64_t offset,
              ssize_t* answer);

// To be called after libc moved `moved` bytes of host memory at `offset`, or up to the file's
// position. Only while ranges.watched().
void host_used(int descriptor, bool at_position, std::int64_t offset, ssize_t moved);

// Does any piece begin between the lowest and the highest device address? `pieces` may be wrong.
bool near_any(const iovec* pieces, int count);

// posix_fadvise(2). Returns false if libc has to make the call.
bool advise(int descriptor, off_t offset, off_t bytes, int advice, const void* caller, int* answer);

// Add and remove a range, for k2k_io_register() and its counterpart.
int add_range(const void* memory, std::size_t bytes, int kind);
int remove_range(const void* memory);

// The same for the functions that allocate and free device memory (vendor.cpp). New memory replaces
// an entry at its addresses, because this library did not see the free of the old memory.
void note_allocated(const void* memory, std::size_t bytes, int kind);
// To be called before a free: waits at most 1 s for calls that use the memory. Returns the removed
// range; kind 0 if there was none.
Ranges::Held note_freeing(const void* memory);

}  // namespace k2k::shim
