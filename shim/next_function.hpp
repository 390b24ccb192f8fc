#pragma once
// The next definition of a function behind this library, as dlsym(RTLD_NEXT) finds it, with a tenth
// of the instructions and without the loader's lock. dlopen() holds that lock while a library's
// constructor runs, and the constructor may wait for the very thread that makes its first read(). A
// program's first call may also come from a signal handler.
//
// Threading: any thread, signal handlers included, in a library that was loaded with the program.

#include <cstdint>

namespace k2k::shim {

// The loader's hash of a name (DT_GNU_HASH).
constexpr std::uint32_t gnu_hash(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// Null: no library defines it.
void* next_function(const char* name, std::uint32_t hash);

}  // namespace k2k::shim
