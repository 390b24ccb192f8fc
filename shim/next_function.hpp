#pragma once
// The next definition of a function behind this library: what dlsym(RTLD_NEXT) finds, in a tenth of
// its instructions, and without the loader's lock. That is held while a library's constructor runs
// in dlopen(), which may wait for the very thread that makes its first read(); and a program's
// first call may come from a signal handler.
//
// Threading: any thread, signal handlers included, in a library that was loaded with the program.

#include <cstdint>

namespace k2k::shim {

// As the loader hashes names (DT_GNU_HASH).
constexpr std::uint32_t gnu_hash(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// Null: there is none.
void* next_function(const char* name, std::uint32_t hash);

}  // namespace k2k::shim
