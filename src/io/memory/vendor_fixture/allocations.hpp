#pragma once
// Device memory of the library beside this file: addresses that nobody can load from or store to,
// and the place where the device's copies find the bytes. For tests; never installed.
//
// Threading: any thread.

#include <cstddef>

namespace k2k::io::vendor {

// 0, or what the test wants this call to answer.
int told(const char* name);

// Where the bytes are of an address that a copy was told. Null: not of an allocation that lives.
// Addresses of the process's own memory are themselves, for tests that need no separate one.
std::byte* inside(const void* address, std::size_t bytes);

}  // namespace k2k::io::vendor
