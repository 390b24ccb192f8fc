// For tests: does what programs do with files and "device memory", and prints all that a program
// can see of it. Run with and without libk2k_io.so it must print the same. It knows nothing of the
// library but k2k_io_register(), which it looks up by name.
//
//   probe_program SCENE FOLDER     FOLDER is empty and the scene's own
//
// Compiled with -O2 -D_FORTIFY_SOURCE=2, as distributions compile.

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "shim/tests/probe.hpp"

// Wrong arguments are wrong on purpose.
#pragma GCC diagnostic ignored "-Wnonnull"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"

namespace {

using k2k::shim::probe::do_register;
using k2k::shim::probe::do_unregister;
using k2k::shim::probe::say;
using k2k::shim::probe::say_bytes;

constexpr std::size_t device_bytes = 16 << 20;
constexpr std::size_t file_bytes = (3 << 20) + 1234;

char* device = nullptr;
char* volatile nowhere = reinterpret_cast<char*>(64);  // The compiler must not know.
std::string folder;

// --- What scenes are made of -------------------------------------------------------------------

std::string path_of(const char* name) { return folder + "/" + name; }

void make_file(const char* name, std::size_t bytes = file_bytes) {
  std::vector<char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 2654435761u >> 13);
  std::FILE* const file = std::fopen(path_of(name).c_str(), "w");
  if (file == nullptr || std::fwrite(data.data(), 1, bytes, file) != bytes) std::abort();
  std::fclose(file);
}

int open_file(const char* name, int flags = O_RDWR) {
  const int descriptor = open(path_of(name).c_str(), flags, 0644);
  if (descriptor < 0) std::abort();
  return descriptor;
}

// Does this process hold a POSIX lock on the file? Another process asks.
void say_locked(const char* what, const char* name) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int descriptor = open(path_of(name).c_str(), O_RDWR);
    struct flock lock{};
    lock.l_type = F_WRLCK;
    if (fcntl(descriptor, F_GETLK, &lock) != 0) _exit(2);
    _exit(lock.l_type == F_UNLCK ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  errno = 0;
  std::printf("%s: %s\n", what, WEXITSTATUS(status) == 1 ? "locked" : "not locked");
}

void take_lock(int descriptor) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  say("lock", fcntl(descriptor, F_SETLK, &lock));
}

// Open descriptors below 1000, without that of the folder itself.
void say_numbers(const char* what) {
  std::printf("%s:", what);
  DIR* const numbers = opendir("/proc/self/fd");
  std::vector<int> found;
  while (const dirent* const entry = readdir(numbers)) {
    const int number = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && number != dirfd(numbers) && number < 1000) {
      found.push_back(number);
    }
  }
  closedir(numbers);
  std::sort(found.begin(), found.end());
  for (const int number : found) std::printf(" %d", number);
  std::printf("\n");
  errno = 0;
}

// --- Scenes ------------------------------------------------------------------------------------

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
  // Closing what refers to the file by a number that was never used with the device.
  const int unused = open_file("data");
  say("close", close(unused));
  say_locked("after the unused one's close", "data");
  take_lock(file);
  // From here on the tracked number belongs to another file.
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

  // A lock that is taken once the last descriptor is gone stays, whatever is closed later.
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
  // The compiler knows the room of these and calls __read_chk and __pread_chk.
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
  // The number of a file that was read now belongs to a pipe.
  say("read", pread(file, device, 100, 0));
  say("dup2", dup2(ends[0], file) == file);
  say("write", write(ends[1], device, 50));
  say("read", read(file, device, 100));
  say("pread", pread(file, device, 100, 0));
  // Straight, past libc: what no library sees.
  const int again = open_file("data");
  say("read", read(again, device, 4096));
  syscall(3 /* close */, again);
  say("opened", open("/dev/zero", O_RDONLY) == again);
  say("read", read(again, device, 4096));
  say_bytes("data", device, 4096);
}

int interrupted = 0;

void signals() {
  make_file("data");
  struct sigaction action{};
  action.sa_handler = [](int) { ++interrupted; };
  sigaction(SIGALRM, &action, nullptr);
  int ends[2];
  say("pipe", pipe(ends));
  const itimerval soon{{0, 0}, {0, 100000}};
  setitimer(ITIMER_REAL, &soon, nullptr);
  say("read of an empty pipe", read(ends[0], device, 100));
  say("interrupted", interrupted);
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  setitimer(ITIMER_REAL, &soon, nullptr);
  // A process, for the signal must meet the reader.
  std::fflush(stdout);
  if (fork() == 0) {
    usleep(300000);
    _exit(write(ends[1], "late", 4) == 4 ? 0 : 1);
  }
  say("read that goes on", read(ends[0], device, 100));
  wait(nullptr);
  say("interrupted", interrupted);

  // Handlers that read, while the program reads.
  static int file;
  file = open_file("data");
  static volatile long wrong;
  action.sa_handler = [](int) {
    static char* const own = device + (8 << 20);
    if (pread(file, own, 4096, 4096) != 4096) wrong = wrong + 1;
    ++interrupted;
  };
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often{{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &often, nullptr);
  long short_ones = 0;
  while (interrupted < 300) {
    if (pread(file, device, 1 << 20, 0) != 1 << 20) ++short_ones;
    lseek(file, 0, SEEK_SET);
    if (read(file, device, 1 << 16) != 1 << 16) ++short_ones;
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  errno = 0;
  say("short ones", short_ones + wrong);
}

// Threads that share a description: each byte is read once, and by one of them.
void threads() {
  constexpr std::size_t piece = 1000;
  make_file("data");
  const int file = open_file("data");
  std::vector<std::vector<long>> begins(4);
  std::vector<std::thread> readers;
  // What a piece holds tells where it was: the file has its own offsets every 8 bytes.
  const int writer = open_file("numbered", O_RDWR | O_CREAT | O_TRUNC);
  std::vector<long> offsets(125 * 2000);
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<long>(i * 8);
  say("write", write(writer, offsets.data(), offsets.size() * 8));
  lseek(writer, 0, SEEK_SET);
  for (std::size_t i = 0; i < 4; ++i) {
    readers.emplace_back([&, i] {
      char* const own =
          i == 3 ? new char[piece] : device + i * 4096;  // One reads into host memory.
      while (read(writer, own, piece) == static_cast<ssize_t>(piece)) {
        long begin;
        std::memcpy(&begin, own, sizeof begin);
        begins[i].push_back(begin);
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  std::vector<long> all;
  for (const auto& some : begins) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  const bool once = std::adjacent_find(all.begin(), all.end()) == all.end();
  errno = 0;
  say("pieces", static_cast<long>(all.size()));
  say("each once", once);
  say("position", lseek(writer, 0, SEEK_CUR));
  say("other", read(file, device, 100));
}

// Two processes append records; none is torn.
void appending() {
  constexpr std::size_t record = 3000;
  constexpr int records = 400;
  for (const char who : {'a', 'b'}) {
    std::fflush(stdout);
    if (fork() != 0) continue;
    const int file = open_file("log", O_WRONLY | O_CREAT | O_APPEND);
    for (int i = 0; i < records; ++i) {
      std::memset(device, who, record);
      device[record - 1] = '\n';
      if (i % 3 == 0) {
        if (write(file, device, record) != static_cast<ssize_t>(record)) _exit(1);
      } else if (i % 3 == 1) {
        if (pwrite(file, device, record, 0) != static_cast<ssize_t>(record)) _exit(1);
      } else {
        char host[1000];
        std::memset(host, who, sizeof host);
        const iovec pieces[] = {{host, sizeof host}, {device + sizeof host, record - sizeof host}};
        if (writev(file, pieces, 2) != static_cast<ssize_t>(record)) _exit(1);
      }
    }
    _exit(0);
  }
  int status = 0;
  while (wait(&status) > 0) std::printf("writer: %d\n", WEXITSTATUS(status));
  errno = 0;
  const int file = open_file("log", O_RDONLY);
  say("size", lseek(file, 0, SEEK_END));
  long torn = 0;
  for (long at = 0; pread(file, device, record, at) == static_cast<ssize_t>(record); at += record) {
    if (device[record - 1] != '\n') ++torn;
    torn += std::count(device, device + record - 1, device[0]) != record - 1;
  }
  say("torn", torn);
}

void forking() {
  make_file("data");
  const int file = open_file("data");
  say("read", read(file, device, 1 << 20));
  take_lock(file);
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    say_numbers("numbers of the child");
    say("read", read(file, device, 1 << 20));
    say("position", lseek(file, 0, SEEK_CUR));
    say_locked("the parent's lock", "data");
    say("close", close(file));
    say_locked("the parent's lock after our close", "data");
    const int own = open_file("data");
    say("own", own);
    say("read", read(own, device, 1 << 20));
    std::fflush(stdout);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      say("read", read(own, device, 1 << 20));
      say_bytes("data", device, 1 << 20);
      std::fflush(stdout);
      _exit(0);
    }
    waitpid(grandchild, nullptr, 0);
    say("position", lseek(own, 0, SEEK_CUR));
    std::fflush(stdout);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  errno = 0;
  say_locked("after the child", "data");
  say("read", read(file, device, 1 << 19));
  say("position", lseek(file, 0, SEEK_CUR));
  std::fflush(stdout);
  child = vfork();
  if (child == 0) {
    close(file);
    close_range(3, ~0u, 0);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  errno = 0;
  say_locked("after the child of vfork", "data");
  say("read", pread(file, device, 1 << 20, 0));
  say_bytes("data", device, 1 << 20);
  std::fflush(stdout);
  child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "ls /proc/self/fd | wc -l", nullptr);
    _exit(1);
  }
  waitpid(child, nullptr, 0);
  errno = 0;
  say("close", close(file));
  say_locked("after the close", "data");
}

void writing() {
  const int file = open_file("out", O_RDWR | O_CREAT);
  for (std::size_t i = 0; i < device_bytes; ++i) device[i] = static_cast<char>(i * 31 >> 3);
  say("write", write(file, device, 100001));
  say("write", write(file, device + 5, 1 << 20));
  say("pwrite", pwrite(file, device, 7, 50));
  say("pwrite64", pwrite64(file, device, 777777, 2000003));
  say("position", lseek(file, 0, SEEK_CUR));
  say("end", lseek(file, 0, SEEK_END));
  std::memset(device, 0, device_bytes);
  say("read", pread(file, device, device_bytes, 0));
  say_bytes("data", device, 3 << 20);
  const int synchronous = open_file("out", O_RDWR | O_DSYNC);
  say("write", write(synchronous, device, 5000));
  say("flags", fcntl(file, F_SETFL, O_APPEND));
  say("write that appends", write(file, device, 5000));
  say("position", lseek(file, 0, SEEK_CUR));
  say("flags", fcntl(file, F_SETFL, 0));
  say("pwrite", pwrite(file, device, 5000, 100));
  say("truncate", ftruncate(file, 4096));
  say("read", pread(file, device, 10000, 0));
  say("advice", posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM));
  say("advice", posix_fadvise(file, 0, 0, 1234));
  say("advice", posix_fadvise(-1, 0, 0, POSIX_FADV_RANDOM));
  int ends[2];
  say("pipe", pipe(ends));
  say("advice", posix_fadvise(ends[0], 0, 0, POSIX_FADV_RANDOM));
}

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

// Only with the library: what the functions answer.
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
  std::printf("after all are gone: %d\n", do_register(device, device_bytes));
  say("read", read(file, device, 100));
}

// Reads before main(), and before the library's own constructor if that comes later.
char early[64];
long early_bytes = -1;
int early_error = 0;

void constructors() {
  std::printf("before main: %ld %d %.8s\n", early_bytes, early_error, early);
  errno = 0;
}

[[gnu::constructor(101)]] void read_early() {
  const int file = open("/proc/self/status", O_RDONLY);
  early_bytes = read(file, early, 8);
  close(file);
  char none;
  if (read(-1, &none, 1) < 0) early_error = errno;
}

const k2k::shim::probe::Scene scenes[] = {
    {"positions", positions},      {"locks", locks},         {"lock_of_a_stream", lock_of_a_stream},
    {"numbers", numbers},          {"vectors", vectors},     {"host_reads", host_reads},
    {"fortified", fortified},      {"errors", errors},       {"signals", signals},
    {"threads", threads},          {"appending", appending}, {"forking", forking},
    {"writing", writing},          {"ranges", ranges},       {"full", full},
    {"constructors", constructors}};

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  folder = words[2];
  device = k2k::shim::probe::make_device(device_bytes);
  return device == nullptr ? 2 : k2k::shim::probe::play(scenes, words[1]);
}
