// For tests: uses files and "device memory" as programs do, and prints everything that a program
// can see of it. Run with and without libk2k_io.so it must print the same. Of the library it uses
// only k2k_io_register(), which it looks up by name.
//
//   probe_program SCENE FOLDER     FOLDER is empty and the scene's own
//
// Compiled with -O2 -D_FORTIFY_SOURCE=2, as distributions compile.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <vector>

#include "shim/tests/probe_scenes.hpp"

namespace {

using namespace k2k::shim::probe;

void ranges() {
  make_file("data");
  const int file = open_file("data");
  std::vector<char> room(1 << 20);
  char* volatile const room_begin = room.data();
  char* const host = room_begin;
  say("not registered", read(file, host, 1 << 20));
  say_bytes("data", host, 1 << 20);
  say("register", do_register(host + 64, (1 << 19) - 64));
  say("half of it is", pread(file, host, 1 << 20, 5));
  say_bytes("data", host, 1 << 20);
  say("begins before it", pread(file, host, 1000, 7));
  say("ends in it", pread(file, host + (1 << 19) - 100, 100, 7));
  say("ends behind it", pread(file, host + (1 << 19) - 100, 101, 7));
  say("unregister", do_unregister(host + 64));
  say("no more", pread(file, host, 1000, 5));
}

// Prints the answers of the library's functions; plays only with the library.
void full() {
  static char many[300][2];
  do_unregister(device);
  int answer = 0;
  int registered = 0;
  while (registered < 300 && (answer = do_register(many[registered], 1)) == 0) ++registered;
  std::printf("%d registered, then %d\n", registered, answer);
  std::printf("twice: %d\n", do_register(many[3], 1));
  std::printf("of none: %d\n", do_unregister(many[3] + 1));
  std::printf("gone: %d\n", do_unregister(many[3]));
  std::printf("again: %d\n", do_register(many[3], 1));
  std::printf("null: %d, empty: %d, around: %d\n", do_register(nullptr, 5), do_register(device, 0),
              do_register(device, static_cast<std::size_t>(-1)));
  make_file("data");
  const int file = open_file("data");
  for (int i = 0; i < registered; ++i) {
    if (pread(file, many[i], 1, i) != 1) std::printf("read %d failed\n", i);
  }
  say_bytes("data", many, sizeof many);
  for (int i = 0; i < registered; ++i) do_unregister(many[i]);
  std::printf("no kind: %d %d\n", do_register_kind(device, 100, 0),
              do_register_kind(device, 100, 4));
  std::printf("after all are gone: %d\n", do_register(device, device_bytes));
  say("read", read(file, device, 100));
}

// Reads before main(), and before the library's own constructor if that comes later.
char early[64];
long early_bytes = -1;
int early_error = 0;

// Before every library's constructor.
char first[3][8];
long first_bytes[4];
int first_error = 0;

void constructors() {
  std::printf("before main: %ld %d %.8s\n", early_bytes, early_error, early);
  std::printf("before all: %ld %ld %ld %ld %d %.8s %.8s %.8s\n", first_bytes[0], first_bytes[1],
              first_bytes[2], first_bytes[3], first_error, first[0], first[1], first[2]);
  errno = 0;
}

[[gnu::constructor(101)]] void read_early() {
  const int file = open("/proc/self/status", O_RDONLY);
  early_bytes = read(file, early, 8);
  close(file);
  char none;
  if (read(-1, &none, 1) < 0) early_error = errno;
}

void read_first(int, char**, char**) {
  const int file = open("/proc/self/exe", O_RDONLY);
  first_bytes[0] = pread(file, first[0], 4, 0);
  first_bytes[1] = syscall(SYS_read, file, first[1], 4ul);
  const iovec piece{first[2], 3};
  first_bytes[2] = preadv2(file, &piece, 1, 1, 0);
  void* const mapped = reinterpret_cast<void*>(
      syscall(SYS_mmap, nullptr, 4096ul, PROT_READ, MAP_PRIVATE, file, 4096ul));
  first_bytes[3] = mapped == MAP_FAILED ? 1 : syscall(SYS_munmap, mapped, 4096ul);
  close(file);
  if (syscall(SYS_read, -1, nullptr, 1ul) == -1) first_error = errno;
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_all)(int, char**,
                                                                       char**) = read_first;

const Scene scenes[] = {{"positions", positions},
                        {"chdir_first", chdir_first},
                        {"locks", locks},
                        {"lock_of_a_stream", lock_of_a_stream},
                        {"numbers", numbers},
                        {"vectors", vectors},
                        {"host_reads", host_reads},
                        {"fortified", fortified},
                        {"errors", errors},
                        {"signals", signals},
                        {"threads", threads},
                        {"appending", appending},
                        {"killed_writers", killed_writers},
                        {"forking", forking},
                        {"writing", writing},
                        {"ranges", ranges},
                        {"full", full},
                        {"constructors", constructors},
                        {"by_number", by_number},
                        {"closing_by_number", closing_by_number},
                        {"cancelled_by_number", cancelled_by_number},
                        {"ring_by_number", ring_by_number}};

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  folder = words[2];
  device = make_device(device_bytes);
  return device == nullptr ? 2 : play(scenes, words[1]);
}
