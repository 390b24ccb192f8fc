/* A foreign program, run with libk2k_io.so: registers memory and reads a file into it.
 * `./dev check --only install` runs it; the argument names the file. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <k2k/io.h>
#include <stdio.h>
#include <unistd.h>

static char memory[1 << 16];

int main(int count, char** words) {
  int (*const add)(void*, size_t) = (int (*)(void*, size_t))dlsym(RTLD_DEFAULT, "k2k_io_register");
  if (add == NULL) return fprintf(stderr, "run it with LD_PRELOAD=libk2k_io.so\n"), 1;
  if (count != 2 || add(memory, sizeof memory) != 0) return 1;
  const int file = open(words[1], O_RDONLY);
  const ssize_t bytes = pread(file, memory, sizeof memory, 0);
  return bytes > 0 && memory[0] == '/' && close(file) == 0 ? 0 : 1;
}
