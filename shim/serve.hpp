#pragma once
// Reads and writes with device memory.
//
// Threading: any thread, signal handlers included. These are cancellation points as libc's are;
// within, cancellation is off. Those made by
// syscall(2) are none.

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>

#include "base/ranges.hpp"

namespace k2k::shim {

// Hidden: else each look at it goes through the table of other libraries' symbols.
[[gnu::visibility("hidden")]] extern Ranges ranges;

// A read or write as the host program made it.
struct HostCall {
  int descriptor;
  const iovec* pieces;
  int count;
  bool write = false;
  bool at_position = false;  // read(2): at the file's own position, which advances.
  std::int64_t offset = 0;   // Else here.
  int flags = 0;             // RWF_ of preadv2(2)
  const void* caller = nullptr;
  bool by_number = false;  // By syscall(2), which is no cancellation point.
};

// False: the request is libc's as it was made. True: *answer is what the call returns, errno is
// set.
bool serve(const HostCall& request, ssize_t* answer);

// The shortest way of the commonest call, pread(2): `memory` is held and of k2k_io_mapped, and the
// descriptor was looked at before. False: serve() may know more.
bool serve_at(int descriptor, void* memory, std::size_t bytes, std::int64_t offset,
              ssize_t* answer);

// Host memory's calls, which are libc's: what moved `moved` bytes at `offset`, or ended at the
// file's position. Only while ranges.watched().
void host_used(int descriptor, bool at_position, std::int64_t offset, ssize_t moved);

// Does any piece begin between the lowest and the highest device address? `pieces` may be wrong.
bool near_any(const iovec* pieces, int count);

// posix_fadvise(2). False: it is libc's.
bool advise(int descriptor, off_t offset, off_t bytes, int advice, const void* caller, int* answer);

// How k2k_io_register() and its counterpart change the ranges.
int add_range(const void* memory, std::size_t bytes, int kind);
int remove_range(const void* memory);

// The same for the functions that allocate and free device memory (vendor.cpp). New memory replaces
// an entry at its addresses: that memory was freed unseen.
void note_allocated(const void* memory, std::size_t bytes, int kind);
// Before it is freed: waits for calls that use it, 1 s at most. What it was; kind 0 if nothing.
Ranges::Held note_freeing(const void* memory);

}  // namespace k2k::shim
