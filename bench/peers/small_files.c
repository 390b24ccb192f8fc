/* small_files FOLDER COUNT: opens, reads and closes FOLDER/0 to FOLDER/COUNT-1, 64 KiB a read;
 * prints "BYTES NANOSECONDS": the bytes read, and the time.
 *
 * A host program as users write it. If libk2k_io.so is preloaded, its buffer is registered memory,
 * so the router serves the reads. `k2k bench small_files` runs it with and without the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { chunk_bytes = 64 << 10 };

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

int main(int count, char** arguments) {
  if (count != 3) return fprintf(stderr, "usage: small_files FOLDER COUNT\n"), 2;
  char* const text =
      mmap(NULL, chunk_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (text == MAP_FAILED) return perror("small_files: mmap"), 1;
  int (*add)(void*, size_t) = (int (*)(void*, size_t))dlsym(RTLD_DEFAULT, "k2k_io_register");
  if (add != NULL && add(text, chunk_bytes) != 0) return fprintf(stderr, "not registered\n"), 1;
  const long files = atol(arguments[2]);
  long long bytes = 0;
  const long long begin = now_ns();
  for (long number = 0; number < files; ++number) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%ld", arguments[1], number);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return perror(path), 1;
    ssize_t moved;
    do {
      moved = read(file, text, chunk_bytes);
      if (moved < 0) return perror(path), 1;
      bytes += moved;
    } while (moved == chunk_bytes);
    close(file);
  }
  const long long end = now_ns();
  printf("%lld %lld\n", bytes, end - begin);
  return 0;
}
