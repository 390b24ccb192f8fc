// For tests: the places of a program's first calls.
//
//   loaded by cuda_loader                 dlopen() waits for a thread that makes the first calls,
//                                         as with plug-ins that start a thread
//   behind libk2k_io.so in LD_PRELOAD     its read() comes before libc's, and answers "bbbb…"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/api.hpp"
#include "shim/tests/cuda_scenes.hpp"

namespace {

void call() {
  char some[4] = "";
  const iovec piece{some, 3};
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const long bytes = preadv(file, &piece, 1, 1);
  const int copy = dup3(file, 900, O_CLOEXEC);
  std::printf("%ld %s %d %d\n", bytes, some, copy, close(copy));
  close(file);
}

[[gnu::constructor]] void wait_for_a_thread() {
  if (std::getenv("K2K_SCENES") != nullptr) std::thread(call).join();
}

}  // namespace

extern "C" {

K2K_API ssize_t read(int, void* memory, size_t bytes) {
  std::memset(memory, 'b', bytes);
  return static_cast<ssize_t>(bytes);
}

K2K_API int cuda_play(const char*, const char*) { return 0; }

}  // extern "C"
