// For tests: a program that reads and writes "device memory" under faults, and prints everything
// that it observes. Run with and without libk2k_io.so it must print the same.
//
//   fault_probe SCENE FOLDER [NUMBER]
//
// The test has prepared FOLDER for the scene: `data`, a file of io::content().

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "io/file/files_fixture.hpp"
#include "shim/tests/probe.hpp"
#include "tests/faults/control.hpp"

namespace {

using k2k::shim::probe::do_register;
using k2k::shim::probe::say;
using k2k::shim::probe::say_bytes;

constexpr std::size_t device_bytes = 16 << 20;
constexpr std::size_t page = k2k::io::page;

char* device = nullptr;
std::string folder;
long number = 0;

std::string path_of(const char* name) { return folder + "/" + name; }

int open_file(const char* name, int flags = O_RDWR) {
  const int descriptor = open(path_of(name).c_str(), flags, 0644);
  if (descriptor < 0) std::perror(name), std::abort();
  return descriptor;
}

void evict(int descriptor) { posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED); }

void fill_device(std::size_t bytes, int salt = 0) {
  for (std::size_t at = 0; at < bytes; ++at) {
    device[at] = static_cast<char>(static_cast<int>(at * 31 >> 3) + salt);
  }
}

// Prints a call's result, with its bytes.
void say_read(const char* what, long count) {
  say(what, count);
  if (count > 0) say_bytes("data", device, static_cast<std::size_t>(count));
}

// --- Scenes ------------------------------------------------------------------------------------

// NUMBER is a byte that cannot be read.
void bad_byte() {
  const int file = open_file("data");
  const long bad_page = number / static_cast<long>(page) * static_cast<long>(page);
  for (const long before : {0l, 4096l, 300'000l, 1l << 20}) {
    if (before > bad_page) continue;
    evict(file);
    say_read("pread", pread(file, device, 2 << 20, bad_page - before));
    evict(file);
    say("seek", lseek(file, bad_page - before, SEEK_SET) == bad_page - before);
    say_read("read", read(file, device, 2 << 20));
    say("position", lseek(file, 0, SEEK_CUR));
    say_read("read on", read(file, device, 4096));
    say("position", lseek(file, 0, SEEK_CUR));
    evict(file);
    const iovec pieces[] = {{device, 5000}, {device + (1 << 20), 2 << 20}};
    say_read("preadv", preadv(file, pieces, 2, bad_page - before));
  }
  say("write over it", pwrite(file, device, 5000, number - 100));
  say("write before it", pwrite(file, device, 100, std::max(0l, number - 200)));
  say("behind it", pread(file, device, 1 << 20, bad_page + static_cast<long>(page)));
}

// The number of bytes per read is the file system's choice; their content is not.
void to_the_end() {
  const int file = open_file("data", O_RDONLY);
  for (const std::size_t most : {std::size_t{300'000}, std::size_t{2 << 20}, 64 * page}) {
    lseek(file, 0, SEEK_SET);
    std::vector<char> all;
    while (true) {
      const ssize_t count = read(file, device, most);
      if (count <= 0) break;
      all.insert(all.end(), device, device + count);
    }
    say("position", lseek(file, 0, SEEK_CUR));
    say_bytes("all", all.data(), all.size());
  }
}

void write_until_full(int file, const char* what) {
  fill_device(device_bytes);
  long count = 0;
  for (int i = 0; i < 200 && count >= 0; ++i) {
    count = write(file, device + i * 1000, 123'457);
    if (count != 123'457) say(what, count);
  }
  say("position", lseek(file, 0, SEEK_CUR));
  say("size", lseek(file, 0, SEEK_END));
}

// The file system becomes full.
void full_disk() {
  int file = open_file("out", O_RDWR | O_CREAT);
  write_until_full(file, "write");
  say("pwrite behind the end", pwrite(file, device, 8 << 20, lseek(file, 0, SEEK_END)));
  const iovec pieces[] = {{device, 70'000}, {device + 100'000, 4 << 20}};
  say("pwritev", pwritev(file, pieces, 2, lseek(file, 0, SEEK_END)));
  say("within it", pwrite(file, device, 300'000, 100'000));
  say_read("back", pread(file, device, device_bytes, 0));
  say("cut", ftruncate(file, 10'000));
  fill_device(1 << 20, 3);
  say("room again", pwrite(file, device, 200'000, 5'000));
  say_read("back", pread(file, device, device_bytes, 0));
  say("close", close(file));
}

// A limit on the length of files; the signal is ignored in one pass and counted in the other.
void limited_file() {
  constexpr rlim_t most = 1'000'003;
  const rlimit limit{most, most};
  say("limit", setrlimit(RLIMIT_FSIZE, &limit));
  static int signalled = 0;
  struct sigaction action{};
  action.sa_handler = [](int) { ++signalled; };
  sigaction(SIGXFSZ, &action, nullptr);
  int file = open_file("out", O_RDWR | O_CREAT);
  write_until_full(file, "write");
  say("pwrite over the limit", pwrite(file, device, 5000, most - 1000));
  say("pwrite beyond", pwrite(file, device, 5000, most));
  say("signalled", signalled);
  say_read("back", pread(file, device, device_bytes, 0));
}

// Leaves no free descriptor except those that the limit (NUMBER) allows.
void full_table() {
  const auto most = static_cast<rlim_t>(number);
  const rlimit limit{most, most};
  say("limit", setrlimit(RLIMIT_NOFILE, &limit));
  const int file = open_file("data");
  evict(file);
  say_read("read", pread(file, device, 1 << 20, 4096));
  const std::size_t half = static_cast<std::size_t>(number) / 2;
  std::vector<int> copies;
  for (int copy = 0; copy >= 0 && copies.size() < half;) {
    copy = dup(file);
    if (copy >= 0) copies.push_back(copy);
  }
  say("last", copies.back());
  evict(file);
  say_read("read with half of them", pread(copies.back(), device, 2 << 20, 8192));
  while (true) {
    const int copy = dup(file);
    if (copy < 0) break;
    copies.push_back(copy);
  }
  say("dup", -1);
  say("how many", static_cast<long>(copies.size()));
  say("the last one", copies.back());
  evict(file);
  say_read("read with none left", pread(copies.back(), device, 2 << 20, 4096));
  fill_device(100'000);
  say("write with none left", pwrite(copies.front(), device, 100'000, 777));
  const int given_back = copies[copies.size() / 2];
  say("close", close(given_back));
  say("is given again", dup(file) == given_back);
  evict(file);
  say_read("read", pread(given_back, device, 2 << 20, 4096));
  for (const int copy : copies) {
    if (close(copy) != 0) say("close", copy);
  }
  say("closed all, next", dup(file));
  evict(file);
  say_read("read", pread(file, device, 2 << 20, 4096));
}

// Many files are in use at once, under the limit that most shells set.
void many_files() {
  constexpr int files = 60;
  constexpr std::size_t bytes = 300'000;  // In one read: too long to be tried by the page cache.
  const rlimit limit{1024, 1024};
  say("limit", setrlimit(RLIMIT_NOFILE, &limit));
  std::vector<int> open_ones;
  for (int i = 0; i < files; ++i) {
    const std::string name = "file" + std::to_string(i);
    const int file = open_file(name.c_str(), O_RDWR | O_CREAT);
    fill_device(bytes, i);
    if (write(file, device, bytes) != bytes) say("write", i);
    fsync(file);
    open_ones.push_back(file);
  }
  for (const int file : open_ones) {
    evict(file);
    if (pread(file, device, bytes, 0) != bytes) say("read", file);
  }
  errno = 0;
  say("next number", dup(open_ones.front()));
}

// A timer's signals arrive all the time, and interrupted calls are not restarted.
void storm() {
  static volatile sig_atomic_t signalled = 0;
  struct sigaction action{};
  action.sa_handler = [](int) { signalled = signalled + 1; };
  sigaction(SIGALRM, &action, nullptr);
  const int file = open_file("data");
  const int out = open_file("out", O_RDWR | O_CREAT);
  const int host = open_file("host", O_RDWR | O_CREAT);
  const itimerval often{{0, 300}, {0, 300}};
  setitimer(ITIMER_REAL, &often, nullptr);
  long wrong = 0;
  std::vector<char> own(1 << 20);
  for (long round = 0; round < 40 || (signalled < 200 && round < 4000); ++round) {
    if (round % 3 == 0) evict(file);
    const long at = round % 40 * 51'234;
    wrong += pread(file, device, 1 << 20, at) != 1 << 20;
    wrong += pwrite(out, device, 1 << 20, at) != 1 << 20;
    lseek(file, at, SEEK_SET);
    wrong += read(file, device + (2 << 20), 300'000) != 300'000;
    wrong += lseek(file, 0, SEEK_CUR) != at + 300'000;
    const iovec pieces[] = {{device, 100'000}, {own.data(), 100'000}, {device + (4 << 20), 1000}};
    wrong += preadv(file, pieces, 3, at) != 201'000;
    wrong += pwritev(host, pieces, 3, at) != 201'000;
    if (round % 16 == 0) wrong += fsync(out) != 0;
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  errno = 0;
  say("wrong", wrong);
  say("signalled", signalled >= 200);
  say_read("written", pread(out, device, 8 << 20, 0));
  say_read("written", pread(host, device, 8 << 20, 0));
}

// A file is replaced, cut and continued under a program that reads it.
void replaced() {
  const int file = open_file("data");
  evict(file);
  say_read("read", pread(file, device, 1 << 20, 4096));
  const int fresh = open_file("fresh", O_RDWR | O_CREAT);
  fill_device(2 << 20, 7);
  say("write", write(fresh, device, 2 << 20));
  say("sync", fsync(fresh));
  say("rename", std::rename(path_of("fresh").c_str(), path_of("data").c_str()));
  evict(file);
  say_read("the old one", pread(file, device, 1 << 20, 8192));
  const int now = open_file("data");
  evict(now);
  say_read("the new one", pread(now, device, 1 << 20, 8192));
  say("close", close(file));
  say_read("the new one", pread(fresh, device, 1 << 20, 4096));
  const int other = open_file("data");  // The kernel gives it the number of the closed file.
  say("cut", ftruncate(other, 600'000));
  evict(now);
  say_read("what is left", pread(now, device, 1 << 20, 8192));
  say_read("read", read(now, device, 1 << 20));
  say("position", lseek(now, 0, SEEK_CUR));
  say("longer", ftruncate(other, 3 << 20));
  evict(now);
  say_read("zeros", read(now, device, 4 << 20));
  say("position", lseek(now, 0, SEEK_CUR));
  say("unlink", unlink(path_of("data").c_str()));
  evict(now);
  say_read("without a name", pread(now, device, 1 << 20, 500'000));
  say("close", close(now) + close(other) + close(fresh));
}

void say_locked(int descriptor) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK ? 1 : 0);
  int status = 0;
  waitpid(child, &status, 0);
  say("locked", WEXITSTATUS(status));
}

// Long writes, which may bypass the page cache if no other program uses the file: positions, locks,
// numbers and the final content.
void long_writes() {
  fill_device(device_bytes);
  const int file = open_file("out", O_RDWR | O_CREAT);
  say("write", write(file, device, 1 << 20));
  say("write on", write(file, device + (1 << 20), (2 << 20) + 777));
  say("position", lseek(file, 0, SEEK_CUR));
  say("behind the end", pwrite(file, device + 5, 1 << 20, (8 << 20) + 5));
  say("next number", dup(file) - file);
  struct flock lock{};
  lock.l_type = F_WRLCK;
  say("lock", fcntl(file, F_SETLK, &lock));
  say("write under it", pwrite(file, device, 1 << 20, 12 << 20));
  say_locked(file);
  say("close the other", close(file + 1));
  say_locked(file);
  say("append", fcntl(file, F_SETFL, O_APPEND));
  say("write at the end", pwrite(file, device, 1 << 20, 0));
  say("size", lseek(file, 0, SEEK_END));
  say("no more", fcntl(file, F_SETFL, 0));
  const pid_t child = fork();
  if (child == 0) _exit(pwrite(file, device + 4096, 1 << 20, 16 << 20) == 1 << 20 ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  say("child", status);
  const iovec pieces[] = {{device, 1 << 20}, {device + (2 << 20), 1 << 20}};
  say("pwritev", pwritev(file, pieces, 2, 20 << 20));
  say("cut", ftruncate(file, (21 << 20) + 99));
  say("write on", pwrite(file, device + 99, 1 << 20, (21 << 20) + 99));
  std::vector<char> host(23 << 20);
  say("read", pread(file, host.data(), host.size(), 0));
  say_bytes("data", host.data(), host.size());
  say("close", close(file));

  // No descriptor has it open for writing any more; otherwise it could not be executed.
  const int program = open_file("program", O_RDWR | O_CREAT | O_TRUNC);
  const int from = open("/bin/true", O_RDONLY);
  say("program", read(from, device, 1 << 20) > 0);
  say("write", write(program, device, 1 << 20));
  say("mode", fchmod(program, 0700));
  say("close", close(program) + close(from));
  std::fflush(stdout);
  const pid_t runs = fork();
  if (runs == 0) {
    execl(path_of("program").c_str(), "program", nullptr);
    _exit(errno);
  }
  waitpid(runs, &status, 0);
  errno = 0;
  say("it runs", status);
}

// FOLDER's file system stops answering questions about its files (the page of its faults is in
// K2K_FAULT_CONTROL): calls for a file of the current folder's go on.
void hanging() {
  const int page_of_faults = open(std::getenv("K2K_FAULT_CONTROL"), O_RDWR);
  auto* const control = static_cast<k2k::faults::Control*>(
      mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, page_of_faults, 0));
  const int there = open_file("data");
  say_read("there", pread(there, device, 1 << 20, 4096));
  int here = open("here", O_RDWR | O_CREAT | O_TRUNC, 0644);
  fill_device(1 << 20);
  say("write", write(here, device, 1 << 20));
  say_read("here", pread(here, device, 1 << 20, 4096));

  control->hold_attributes = 1;
  std::thread asks([there] {
    struct stat facts{};
    fstat(there, &facts);
  });
  while (control->held == 0) usleep(1000);
  say("close", close(here));
  here = open("here", O_RDWR);
  say_read("here", pread(here, device, 1 << 20, 4096));
  say("copy", dup2(here, here + 5) == here + 5);
  say("close", close(here));
  say_read("the copy", pread(here + 5, device, 1 << 20, 4096));
  const pid_t child = fork();
  if (child == 0) _exit(pread(here + 5, device, 1 << 20, 0) == 1 << 20 ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  say("child", status);
  say("close_range",
      close_range(static_cast<unsigned>(here) + 5, static_cast<unsigned>(here) + 6, 0));
  say("still held", control->held > 0);
  control->hold_attributes = 0;
  asks.join();
  say_read("there", pread(there, device, 1 << 20, 8192));
}

// --- Torn writes -------------------------------------------------------------------------------

constexpr std::size_t record = 64 * 1024 + 512;  // No whole number of pages.
constexpr int writers = 3;

bool is_one_record(const char* bytes) {
  return bytes[0] >= 'a' && bytes[0] < 'a' + writers &&
         std::count(bytes, bytes + record, bytes[0]) == static_cast<long>(record);
}

// Writers put whole records at the same place, each by one call from device memory. ext4 and XFS
// exclude an O_DIRECT reader during a write(2), so it sees one writer's record or another's: NUMBER
// of rounds. Prints how many mixed records it saw, and how many remained between rounds.
void torn() {
  const int file = open_file("region", O_RDWR | O_CREAT);
  std::memset(device, 'a', record);
  if (pwrite(file, device, record, 0) != static_cast<ssize_t>(record)) std::abort();
  fsync(file);
  const int direct = open_file("region", O_RDONLY | O_DIRECT);
  constexpr std::size_t room = (record + page - 1) / page * page;
  auto* const seen = static_cast<char*>(std::aligned_alloc(page, room));
  std::set<char> whose;
  long mixes = 0;
  long left_mixed = 0;
  for (long round = 0; round < number; ++round) {
    for (int writer = 0; writer < writers; ++writer) {
      if (fork() != 0) continue;
      std::memset(device, 'a' + writer, record);
      bool good = true;
      for (int i = 0; i < 60; ++i) {
        const iovec whole[] = {{device, record / 2}, {device + record / 2, record - record / 2}};
        const ssize_t count =
            i % 2 == 0 ? pwrite(file, device, record, 0) : pwritev(file, whole, 2, 0);
        good &= count == static_cast<ssize_t>(record);
      }
      _exit(good ? 0 : 1);
    }
    for (int i = 0; i < 60; ++i) {
      if (pread(direct, seen, room, 0) != static_cast<ssize_t>(record)) std::abort();
      mixes += is_one_record(seen) ? 0 : 1;
      whose.insert(seen[0]);
    }
    int status = 0;
    while (wait(&status) > 0) {
      if (status != 0) std::abort();
    }
    if (pread(file, seen, record, 0) != static_cast<ssize_t>(record)) std::abort();
    left_mixed += is_one_record(seen) ? 0 : 1;
  }
  errno = 0;
  say("mixes seen", mixes);
  say("mixes left", left_mixed);
  std::fprintf(stderr, "records of %zu writers were seen\n", whose.size());
}

const k2k::shim::probe::Scene scenes[] = {{"bad_byte", bad_byte},
                                          {"to_the_end", to_the_end},
                                          {"full_disk", full_disk},
                                          {"limited_file", limited_file},
                                          {"full_table", full_table},
                                          {"many_files", many_files},
                                          {"storm", storm},
                                          {"replaced", replaced},
                                          {"hanging", hanging},
                                          {"torn", torn},
                                          {"long_writes", long_writes}};

}  // namespace

int main(int count, char** words) {
  if (count != 3 && count != 4) return 2;
  folder = words[2];
  number = count == 4 ? std::atol(words[3]) : 0;
  device = k2k::shim::probe::make_device(device_bytes);
  return device == nullptr ? 2 : k2k::shim::probe::play(scenes, words[1]);
}
