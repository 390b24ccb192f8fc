/* For tests, after libk2k_io.so in LD_PRELOAD: mappings of files whose paths begin as
 * K2K_TEST_DEVICE_MEMORY are device memory, like mappings of a device's own file. A program that
 * can take its buffers from a file (fio's iomem=mmap:FILE) therefore uses device memory without
 * changes.
 *
 * Threading: any thread.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/api.hpp"
#include "k2k/io.h"

static int is_device_memory(int descriptor) {
  const char* const begin = getenv("K2K_TEST_DEVICE_MEMORY");
  char link[64];
  char path[4096];
  if (descriptor < 0 || begin == NULL) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path);
  const size_t wanted = strlen(begin);
  return length >= (ssize_t)wanted && strncmp(path, begin, wanted) == 0;
}

K2K_API void* mmap(void* address, size_t bytes, int protection, int flags, int descriptor,
                   off_t offset) {
  void* (*const real)(void*, size_t, int, int, int, off_t) =
      (void* (*)(void*, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
  void* const memory = real(address, bytes, protection, flags, descriptor, offset);
  if (memory == MAP_FAILED || !is_device_memory(descriptor)) return memory;
  int (*const add)(void*, size_t) = (int (*)(void*, size_t))dlsym(RTLD_DEFAULT, "k2k_io_register");
  if (add == NULL || add(memory, bytes) != 0) {
    fprintf(stderr, "registered_mmap: %zu bytes are not device memory\n", bytes);
    abort();
  }
  return memory;
}

K2K_API __typeof__(mmap) mmap64 __attribute__((alias("mmap")));

K2K_API int munmap(void* memory, size_t bytes) {
  int (*const real)(void*, size_t) = (int (*)(void*, size_t))dlsym(RTLD_NEXT, "munmap");
  int (*const take)(void*) = (int (*)(void*))dlsym(RTLD_DEFAULT, "k2k_io_unregister");
  if (take != NULL) take(memory);
  return real(memory, bytes);
}
