// Scenes of probe_program: signals, threads, other processes, and writes.

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "shim/tests/probe_scenes.hpp"

namespace k2k::shim::probe {

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
  // A process instead of a thread, so that the signal interrupts the reader.
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

// Threads that share a description: one thread reads each byte, once.
void threads() {
  constexpr std::size_t piece = 1000;
  make_file("data");
  const int file = open_file("data");
  std::vector<std::vector<long>> begins(4);
  std::vector<std::thread> readers;
  // The content of a piece tells its position: the file contains its own offsets, every 8 bytes.
  const int writer = open_file("numbered", O_RDWR | O_CREAT | O_TRUNC);
  std::vector<long> offsets(125 * 2000);
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<long>(i * 8);
  say("write", write(writer, offsets.data(), offsets.size() * 8));
  lseek(writer, 0, SEEK_SET);
  for (std::size_t i = 0; i < 4; ++i) {
    readers.emplace_back([&, i] {
      char* const own =
          i == 3 ? new char[piece] : device + i * 4096;  // One thread reads into host memory.
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

namespace {
// Unlike lseek(), does not move the position, which the processes share.
off_t size_of(int file) {
  struct stat status = {};
  return fstat(file, &status) == 0 ? status.st_size : -1;
}
}  // namespace

// A file with a shared position: each writer continues where its predecessor was killed.
void killed_writers() {
  const int file = open_file("data", O_RDWR | O_CREAT);
  std::memset(device, 'x', 65536);
  // The children's counts die with them: this call shows that writes are served.
  say("write", write(file, device, 1));
  std::fflush(stdout);
  constexpr std::size_t sizes[] = {512, 4096, 65536};
  for (int at = 0; at < 150; ++at) {
    const off_t before = size_of(file);
    const pid_t child = fork();
    if (child == 0) {
      while (lseek(file, 0, SEEK_CUR) < 1l << 28 && write(file, device, sizes[at % 3]) > 0) {
      }
      _exit(0);
    }
    // Killed at another point each time, but after its first write, which may come late on a slow
    // machine.
    for (int wait = 0; wait < 2'000 && size_of(file) == before; ++wait) usleep(100);
    usleep(static_cast<unsigned>(at * 37 % 1000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  const off_t end = lseek(file, 0, SEEK_END);
  long holes = 0;
  std::vector<char> block(1 << 20);
  for (off_t at = 0; at < end;) {
    const ssize_t count = pread(file, block.data(), block.size(), at);
    if (count <= 0) break;
    holes += std::count(block.begin(), block.begin() + count, '\0');
    at += count;
  }
  errno = 0;
  say("bytes of holes", holes);
  say("some were written", end > 1);
}

}  // namespace k2k::shim::probe
