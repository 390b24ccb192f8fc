// Scenes of probe_program: positions, POSIX locks and the numbers of descriptors.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdio>

#include "shim/tests/probe_scenes.hpp"

namespace k2k::shim::probe {

void positions() {
  make_file("data");
  const int file = open_file("data");
  say("read", read(file, device, 100000));
  say_bytes("data", device, 100000);
  say("position", lseek(file, 0, SEEK_CUR));
  say("pread", pread(file, device, 5000, 777));
  say_bytes("data", device, 5000);
  say("position", lseek(file, 0, SEEK_CUR));
  char host[1000];
  say("host read", read(file, host, sizeof host));
  say_bytes("data", host, sizeof host);
  say("position", lseek(file, 0, SEEK_CUR));
  const int copy = dup(file);
  say("read of the copy", read(copy, device, 4096));
  say("position", lseek(file, 0, SEEK_CUR));
  say("seek", lseek(file, -1000, SEEK_END));
  say("read to the end", read(file, device, 4096));
  say("position", lseek(file, 0, SEEK_CUR));
  say("read at the end", read(file, device, 4096));
  say("seek beyond", lseek(file, 10000, SEEK_END));
  say("read beyond", read(file, device, 4096));
  say("position", lseek(file, 0, SEEK_CUR));
  say("write beyond", write(file, device, 100));
  say("position", lseek(file, 0, SEEK_CUR));
  say("all", pread(file, device, device_bytes, 0));
  say_bytes("data", device, file_bytes + 10100);
  say("far away", lseek(file, 0x7ffffffffff0000, SEEK_SET));
  say("read there", read(file, device, 0x100000));
  say("pread at the end of numbers", pread(file, device, 4096, LONG_MAX - 100));
  say("pwrite at the end of numbers", pwrite(file, device, 4096, LONG_MAX - 100));
  const pid_t child = fork();
  if (child == 0) {
    lseek(file, 0, SEEK_SET);
    _exit(read(file, device, 12345) == 12345 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  say("child", WEXITSTATUS(status));
  say("position after the child's read", lseek(file, 0, SEEK_CUR));
}

void chdir_first() {
  if (chdir(folder.c_str()) != 0) std::abort();
  make_file("data");
  say("read", pread(open_file("data"), device, 5000, 0));
}

void locks() {
  make_file("data");
  make_file("other");
  int file = open_file("data");
  const int second = open_file("data");
  const int copy = fcntl(file, F_DUPFD, 40);
  take_lock(file);
  say("read", read(file, device, 1 << 20));
  say_locked("after a read", "data");
  say("read", pread(second, device, 1 << 20, 0));
  say_locked("after a read by another descriptor", "data");
  const int other = open_file("other");
  say("read", read(other, device, 1 << 20));
  say("close", close(other));
  say_locked("after another file's close", "data");
  say("close", close(copy));
  say_locked("after a copy's close", "data");
  take_lock(file);
  say_locked("again", "data");
  say("close", close(second));
  say_locked("after another descriptor's close", "data");
  take_lock(file);
  say("read", pread(file, device, 1 << 20, 0));
  say_locked("before the last close", "data");
  say("close", close(file));
  say_locked("after the last close", "data");

  file = open_file("data");
  take_lock(file);
  say_locked("a new one", "data");
  say("read", pread(file, device, 1 << 20, 0));
  say_locked("a new one, after a read", "data");
  // Closes a descriptor of the file that was never used with device memory.
  const int unused = open_file("data");
  say("close", close(unused));
  say_locked("after the unused one's close", "data");
  take_lock(file);
  // dup2() gives the tracked number to another file.
  const int elsewhere = open_file("other");
  const int last = fcntl(file, F_DUPFD, 50);
  say("dup2", dup2(elsewhere, file) == file);
  say_locked("after dup2 over it", "data");
  take_lock(last);
  say("read", pread(last, device, 1 << 20, 0));
  say("read", pread(file, device, 1 << 20, 0));
  say_locked("after reads of both", "data");
  say("close_range", close_range(static_cast<unsigned>(last), static_cast<unsigned>(last), 0));
  say_locked("after close_range", "data");

  // A lock taken after the last descriptor of the file was closed stays, whatever is closed later.
  const int fresh = open_file("data");
  take_lock(fresh);
  say("close", close(file));
  say("close", close(elsewhere));
  say_locked("after the closes of others", "data");
}

void lock_of_a_stream() {
  make_file("data");
  std::FILE* const stream = std::fopen(path_of("data").c_str(), "r+");
  say("read", pread(fileno(stream), device, 1 << 20, 0));
  take_lock(fileno(stream));
  say("fclose", std::fclose(stream));
  say_locked("after fclose", "data");
  const int file = open_file("data");
  take_lock(file);
  make_file("other");
  const int other = open_file("other");
  say("read", pread(other, device, 1 << 20, 0));
  say("close", close(other));
  say_locked("later", "data");
  say_numbers("numbers");
}

void numbers() {
  make_file("data");
  const int file = open_file("data");
  say("opened", file);
  say_numbers("numbers");
  say("read", read(file, device, 1 << 20));
  say_numbers("numbers after a read");
  say("opened", open_file("data", O_RDONLY));
  int ends[2];
  say("pipe", pipe(ends));
  std::printf("pipe: %d %d\n", ends[0], ends[1]);
  say("dup", dup(file));
  say("close", close(file));
  say("opened", open_file("data"));
  say("read", read(file, device, 4096));
  say("dup2", dup2(file, 30));
  say("dup2 onto itself", dup2(30, 30));
  say("dup2 of none", dup2(77, 30));
  say("dup3", dup3(file, 31, O_CLOEXEC));
  say("dup3 onto itself", dup3(31, 31, 0));
  say_numbers("numbers");
  say("read", read(31, device, 4096));
  say("F_DUPFD", fcntl(31, F_DUPFD, 20));
  say("close", close(31));
  say("close again", close(31));
  say("close none", close(-1));
  say("close none", close(999));
  say("close what we do not see", close(1000));
  say("close what we do not see", close(1001));
  say_numbers("numbers");
  say("close_range", close_range(8, 6, 0));
  say("close_range", close_range(5, 6, 0));
  say_numbers("numbers after close_range");
  say("close on exec", close_range(3, ~0u, CLOSE_RANGE_CLOEXEC));
  say_numbers("numbers");
  say("read", pread(file, device, 4096, 4096));
  say_bytes("data", device, 4096);
  take_lock(file);
  say("close_range", close_range(static_cast<unsigned>(file) + 1, ~0u, 0));
  say_numbers("numbers after close_range");
  say_locked("the one below it", "data");
  take_lock(file);
  say("read", pread(file, device, 1 << 20, 4096));
  say_bytes("data", device, 1 << 20);
  say_locked("the one below it, later", "data");
  closefrom(3);
  errno = 0;
  say_numbers("numbers after closefrom");
  say_locked("after closefrom", "data");
  say("opened", open_file("data"));
  say("read", read(3, device, 1 << 20));
  say_bytes("data", device, 1 << 20);
}

}  // namespace k2k::shim::probe
