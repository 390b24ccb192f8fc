// Scenes of probe_program: the data and the errors of every function that reads and writes.

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstring>
#include <thread>

#include "shim/tests/probe_scenes.hpp"

namespace k2k::shim::probe {

void vectors() {
  make_file("data");
  const int file = open_file("data");
  static char host[3][5000];
  const iovec mixed[] = {
      {host[0], 5000}, {device, 70000}, {nullptr, 0}, {host[1], 3}, {device + (1 << 20), 1 << 20},
      {host[2], 5000}};
  const int count = std::size(mixed);
  const auto show = [&] {
    say_bytes("host", host, sizeof host);
    say_bytes("device", device, 2 << 20);
    say("position", lseek(file, 0, SEEK_CUR));
  };
  say("readv", readv(file, mixed, count));
  show();
  say("preadv", preadv(file, mixed, count, 4321));
  show();
  say("preadv64", preadv64(file, mixed, count, 4322));
  show();
  say("preadv2", preadv2(file, mixed, count, 99, 0));
  show();
  say("preadv2 at the position", preadv2(file, mixed, count, -1, 0));
  show();
  say("preadv2 without waiting", preadv2(file, mixed, count, 0, RWF_NOWAIT) > 0);
  say("preadv2 with unknown flags", preadv2(file, mixed, count, 0, 0x40000000));
  say("preadv negative", preadv(file, mixed, count, -5));
  say("to the end", lseek(file, -80000, SEEK_END));
  say("readv", readv(file, mixed, count));
  show();
  say("readv", readv(file, mixed, count));
  say("ends in the first piece", preadv(file, mixed, count, file_bytes - 10));
  say("no pieces", readv(file, mixed, 0));
  say("too many pieces", readv(file, mixed, 2000));
  say("fewer than none", readv(file, mixed, -1));
  say("no vector", readv(file, nullptr, 3));
  const iovec wrong[] = {{device, 100}, {device + 100, static_cast<std::size_t>(-1)}};
  say("a negative length", readv(file, wrong, 2));
  const iovec fault[] = {{device, 100}, {nowhere, 100}};
  say("a piece that is nowhere", preadv(file, fault, 2, 0));
  const iovec first_fault[] = {{nowhere, 100}, {device, 100}};
  say("the first is nowhere", preadv(file, first_fault, 2, 0));

  const int out = open_file("out", O_RDWR | O_CREAT);
  say("writev", writev(out, mixed, count));
  say("pwritev", pwritev(out, mixed, count, 2000000));
  say("pwritev64", pwritev64(out, mixed, count, 4000000));
  say("pwritev2", pwritev2(out, mixed, count, 6000000, 0));
  say("pwritev2 synchronous", pwritev2(out, mixed, 2, 8000000, RWF_DSYNC));
  say("pwritev2 appending", pwritev2(out, mixed, 2, 0, RWF_APPEND));
  say("position", lseek(out, 0, SEEK_CUR));
  say("end", lseek(out, 0, SEEK_END));
  say("back", pread(out, device, device_bytes, 0));
  say_bytes("data", device, 8200000);
}

// Files that were read ahead for the device and that the program reads, too. Host memory's calls:
// of the file 19,600 bytes in the parent, of others 30.
void host_reads() {
  make_file("data");
  const int file = open_file("data");
  const int copy = dup(file);
  say("to the disk", fsync(file));
  say("and from memory", posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED));
  long total = 0;
  for (off_t at = 0; at < 1 << 20; at += 16384) total += pread(file, device, 16384, at);
  say("from the device", total);
  static char host[8192];
  const iovec two[] = {{host, 1000}, {host + 4000, 2000}};
  say("read", read(file, host, 1000));
  say("pread", pread(copy, host, 2000, 1 << 19));
  say("readv", readv(copy, two, 2));
  say("preadv", preadv(file, two, 2, 4096));
  say("preadv2", preadv2(copy, two, 2, -1, 0));
  say("position", lseek(file, 0, SEEK_CUR));
  say_bytes("data", host, sizeof host);
  say("write", write(file, host, 500));
  say("pwrite", pwrite(copy, host, 100, 77));
  say("writev", writev(file, two, 2));
  say("pwritev", pwritev(file, two, 2, 50000));
  const iovec mixed[] = {{host, 1000}, {device, 5000}};
  say("mixed", preadv(file, mixed, 2, 8192));
  int ends[2];
  say("pipe", pipe(ends));
  say("write to a pipe", write(ends[1], host, 30));
  say("read of a pipe", read(ends[0], host, 30));
  say("read of none", read(-1, host, 30));
  say("read at the end", pread(file, host, 30, file_bytes));
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const bool right = pread(file, host, 500, 0) == 500 && pread(file, device, 50000, 0) == 50000 &&
                       pread(file, host, 500, 0) == 500;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  say("child", WEXITSTATUS(status));
  say("close", close(copy));
  say("close", close(file));
  const int again = open_file("data");
  say("read", read(again, host, 1000));
  say_bytes("data", host, sizeof host);
  say("write to a pipe", write(ends[1], host, 30));
}

void fortified() {
  make_file("data");
  const int file = open_file("data");
  // The compiler knows the buffer's size and calls __read_chk and __pread_chk.
  static char room[8192];
  volatile std::size_t bytes = sizeof room;
  do_register(room, sizeof room);
  say("read", read(file, room, bytes));
  say_bytes("data", room, sizeof room);
  say("pread", pread(file, room, bytes, 12345));
  say_bytes("data", room, sizeof room);
  say("pread64", pread64(file, room, bytes, 54321));
  say_bytes("data", room, sizeof room);
  say("position", lseek(file, 0, SEEK_CUR));
  std::fflush(stdout);
  for (const bool device_memory : {true, false}) {
    if (!device_memory) do_unregister(room);
    const pid_t child = fork();
    if (child == 0) {
      close(STDERR_FILENO);
      bytes = sizeof room + 1;
      _exit(read(file, room, bytes) >= 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    say("one byte too many", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  }
}

void errors() {
  {
    // A vector shorter than its count, at the end of its mapping.
    make_file("vector");
    const int file = open_file("vector");
    char* const pages = static_cast<char*>(
        mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(pages + 4096, 4096);
    auto* const last = reinterpret_cast<iovec*>(pages + 4096) - 1;
    *last = {device, 100};
    say("1025 pieces of which one is there", readv(file, last, 1025));
    say("by preadv", preadv(file, last, 1025, 0));
    say("by writev", writev(file, last, 1025));
    close(file);
    munmap(pages, 4096);
  }
  make_file("data");
  const int file = open_file("data");
  say("read", read(file, device, 0));
  say("read of none", read(-1, device, 100));
  say("read of a closed one", read(500, device, 100));
  say("pread of a closed one", pread(500, device, 100, 0));
  say("write to a closed one", write(500, device, 100));
  say("negative offset", pread(file, device, 100, -1));
  say("negative offset", pwrite(file, device, 100, -1));
  say("nowhere", read(file, nowhere, 100));
  say("longer than memory", read(file, device, static_cast<std::size_t>(-1)) >= 0);
  const int writer = open_file("data", O_WRONLY);
  const int reader = open_file("data", O_RDONLY);
  say("read for writing only", read(writer, device, 100));
  say("pread for writing only", pread(writer, device, 1 << 20, 0));
  say("write", pwrite(writer, device, 5000, 10));
  say("read for writing only", read(writer, device, 100));
  say("read", read(reader, device, 100));
  say("write for reading only", write(reader, device, 100));
  say("pwrite for reading only", pwrite(reader, device, 100, 0));
  const int path_only = open_file("data", O_PATH);
  say("read of a path", read(path_only, device, 100));
  const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  say("read of a folder", read(directory, device, 100));
  say("pread of a folder", pread(directory, device, 100, 0));
  int ends[2];
  say("pipe", pipe(ends));
  say("write to a pipe", write(ends[1], device, 100));
  say("pread of a pipe", pread(ends[0], device, 100, 0));
  say("pwrite to a pipe", pwrite(ends[1], device, 100, 0));
  say("read of a pipe", read(ends[0], device, 100));
  say("read of its other end", read(ends[1], device, 100));
  const int zero = open("/dev/zero", O_RDWR);
  say("read of zeros", read(zero, device, 100));
  say("write to them", write(zero, device, 100));
  const int made_up = open("/proc/self/cmdline", O_RDONLY);
  say("read of a file that is made up", read(made_up, device, 5));
  say("and again", read(made_up, device, 5));
  say("position", lseek(made_up, 0, SEEK_CUR));
  int pair[2];
  say("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  say("write to a socket", write(pair[0], device, 1000));
  say("read of a socket", read(pair[1], device, 5000));
  const int append = open_file("data", O_WRONLY | O_APPEND);
  say("pwrite appends", pwrite(append, device, 100, 0));
  say("size", lseek(file, 0, SEEK_END));
  // The descriptor number of a file that was read now belongs to a pipe.
  say("read", pread(file, device, 100, 0));
  say("dup2", dup2(ends[0], file) == file);
  say("write", write(ends[1], device, 50));
  say("read", read(file, device, 100));
  say("pread", pread(file, device, 100, 0));
  // A system call without libc, which no library sees.
  const int again = open_file("data");
  say("read", read(again, device, 4096));
  syscall(3 /* close */, again);
  say("opened", open("/dev/zero", O_RDONLY) == again);
  say("read", read(again, device, 4096));
  say_bytes("data", device, 4096);
}

}  // namespace k2k::shim::probe
