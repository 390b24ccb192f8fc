#pragma once
// Device memory of the library in this folder: its addresses fault, and inside() maps them to the
// bytes for the device's copies. For tests; never installed.
//
// Threading: any thread.

#include <cstddef>

namespace k2k::io::vendor {

// 0, or the answer that the test chose for this call.
int told(const char* name);

// The bytes of an address that a copy names. nullptr: not in a living allocation. Addresses of the
// process's own memory are unchanged, for tests that need no separate memory.
std::byte* inside(const void* address, std::size_t bytes);

}  // namespace k2k::io::vendor
