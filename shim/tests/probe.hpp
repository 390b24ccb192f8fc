#pragma once
// The common part of programs that play scenes for tests. They print everything that a program can
// see of its calls. Of libk2k_io.so they use two functions only, which they look up by name.
//
// Threading: any thread; standard output's lock.

#include <dlfcn.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>

namespace k2k::shim::probe {

// Prints the last call's answer. Expects errno 0 before the call: a successful call keeps it.
inline void say(const char* what, long answer) {
  std::printf("%s: %ld%s%s\n", what, answer, errno != 0 ? " " : "",
              errno != 0 ? strerrorname_np(errno) : "");
  errno = 0;
}

inline void say_bytes(const char* what, const void* memory, std::size_t bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (std::size_t i = 0; i < bytes; ++i) {
    hash = (hash ^ static_cast<const unsigned char*>(memory)[i]) * 1099511628211u;
  }
  std::printf("%s: %zu bytes, %016lx\n", what, bytes, hash);
}

inline int do_register(void* memory, std::size_t bytes) {
  auto* const call =
      reinterpret_cast<int (*)(void*, std::size_t)>(dlsym(RTLD_DEFAULT, "k2k_io_register"));
  return call == nullptr ? 0 : call(memory, bytes);
}

inline int do_register_kind(void* memory, std::size_t bytes, int kind) {
  auto* const call = reinterpret_cast<int (*)(void*, std::size_t, int)>(
      dlsym(RTLD_DEFAULT, "k2k_io_register_kind"));
  return call == nullptr ? 0 : call(memory, bytes, kind);
}

inline int do_unregister(void* memory) {
  auto* const call = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_DEFAULT, "k2k_io_unregister"));
  return call == nullptr ? 0 : call(memory);
}

// Registered memory; nullptr if there is none.
inline char* make_device(std::size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED || do_register(memory, bytes) != 0 ? nullptr
                                                                 : static_cast<char*>(memory);
}

struct Scene {
  const char* name;
  void (*play)();
};

// Returns the program's status: 2 if the scene is unknown or the output cannot be written.
inline int play(std::span<const Scene> scenes, const char* name) {
  errno = 0;
  for (const Scene& scene : scenes) {
    if (std::strcmp(scene.name, name) != 0) continue;
    scene.play();
    return std::fflush(stdout) == 0 ? 0 : 2;
  }
  return 2;
}

}  // namespace k2k::shim::probe
