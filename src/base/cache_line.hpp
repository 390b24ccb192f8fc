#pragma once
// Prefetches a cache line before it is used. Hints: any address is permitted.
//
// Threading: anywhere.

namespace k2k {

inline void prefetch_to_read(const void* address) { __builtin_prefetch(address, 0); }

// Prefetches with ownership, so that the store does not wait for the other core again. On plain
// x86-64, __builtin_prefetch(address, 1) prefetches only for reading: PREFETCHW is an extension of
// 2014 (Broadwell, and all AMD processors), but every older x86-64 processor executes it as a
// no-op.
inline void prefetch_to_write(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace k2k
