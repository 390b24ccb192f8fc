#pragma once
// Asking for a cache line before it is needed. Hints: any address is allowed.
//
// Threading: anywhere.

namespace k2k {

inline void prefetch_to_read(const void* address) { __builtin_prefetch(address, 0); }

// With ownership, so that the store does not wait for the other core again. For plain x86-64
// __builtin_prefetch(address, 1) asks only to read: PREFETCHW is an extension of 2014 (Broadwell,
// and all of AMD's), but one that every older x86-64 processor takes for a no-op.
inline void prefetch_to_write(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace k2k
