// Scenes of probe_program: calls by their numbers, through syscall(2).

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "shim/tests/probe_scenes.hpp"

namespace k2k::shim::probe {

namespace {

void read_by_number(int file) {
  lseek(file, 100, SEEK_SET);
  say("read", syscall(SYS_read, file, device, 300'000ul));
  say("position", lseek(file, 0, SEEK_CUR));
  say("pread", syscall(SYS_pread64, file, device + 400'000, 2'000'000ul, 4097ul));
  char host[2000];
  const iovec pieces[] = {{device + 3'000'000, 70'000}, {host, sizeof host}, {device, 5}};
  say("readv", syscall(SYS_readv, file, pieces, 3));
  say("preadv", syscall(SYS_preadv, file, pieces, 3, 12'345ul, 0ul));
  say_bytes("host", host, sizeof host);
  say("preadv2", syscall(SYS_preadv2, file, pieces, 2, 777ul, 0ul, RWF_HIPRI));
  say("at the position", syscall(SYS_preadv2, file, pieces, 1, -1l, 0ul, 0));
  say("position", lseek(file, 0, SEEK_CUR));
  say_bytes("data", device, 3'100'000);
  say("host memory", syscall(SYS_pread64, file, host, sizeof host, 10ul));
  say("the end", syscall(SYS_pread64, file, device, 100ul, file_bytes - 3));
}

void write_by_number(int file) {
  std::memset(device, 'w', 200'000);
  lseek(file, 0, SEEK_SET);
  say("write", syscall(SYS_write, file, device, 1000ul));
  say("pwrite", syscall(SYS_pwrite64, file, device, 100'000ul, 50'000ul));
  const iovec pieces[] = {{device, 100}, {device + 100, 7000}};
  say("writev", syscall(SYS_writev, file, pieces, 2));
  say("pwritev", syscall(SYS_pwritev, file, pieces, 2, 300'000ul, 0ul));
  say("pwritev2", syscall(SYS_pwritev2, file, pieces, 2, 400'000ul, 0ul, RWF_DSYNC));
  say("position", lseek(file, 0, SEEK_CUR));
  std::vector<char> all(file_bytes);
  say("file", pread(file, all.data(), all.size(), 0));
  say_bytes("file", all.data(), all.size());
}

void be_wrong_by_number(int file) {
  const iovec piece{device, 100};
  say("no descriptor", syscall(SYS_read, -1, device, 10ul));
  say("closed one", syscall(SYS_pread64, 999, device, 10ul, 0ul));
  say("no offset", syscall(SYS_pread64, file, device, 10ul, -1l));
  say("no memory", syscall(SYS_pread64, file, nowhere, 10ul, 0ul));
  say("nothing", syscall(SYS_pread64, file, device, 0ul, 0ul));
  say("no flags", syscall(SYS_preadv2, file, &piece, 1, 0ul, 0ul, 0x4000'0000));
  say("no vector", syscall(SYS_readv, file, nowhere, 1));
  say("too many pieces", syscall(SYS_readv, file, &piece, IOV_MAX + 1));
  say("fewer than none", syscall(SYS_readv, file, &piece, -1));
  say("no call", syscall(100'000));
  say("no call", syscall(-1));
}

}  // namespace

void by_number() {
  make_file("data");
  const int file = open_file("data");
  read_by_number(file);
  write_by_number(file);
  be_wrong_by_number(file);
  // All six words arrive.
  auto* const mapped = reinterpret_cast<char*>(
      syscall(SYS_mmap, nullptr, 4096ul, PROT_READ, MAP_PRIVATE, file, 4096ul * 100));
  say_bytes("the page", mapped, 4096);
  say("close", syscall(SYS_close, file));
  say("close again", syscall(SYS_close, file));
  say_numbers("numbers");
}

void closing_by_number() {
  make_file("data");
  make_file("other");
  const auto used = [](const char* name) {
    const int file = open_file(name);
    say("read", pread(file, device, 1 << 20, 0));
    return file;
  };
  int file = used("data");
  const int copy = static_cast<int>(syscall(SYS_dup, file));
  say("close", syscall(SYS_close, file));  // Not the last descriptor of the file.
  say("close", syscall(SYS_close, copy));
  file = used("data");
  const int other = open_file("other");
  say("dup2", syscall(SYS_dup2, other, file) == file ? 0 : -1);
  say("same", syscall(SYS_dup2, file, file) == file ? 0 : -1);
  say("of none", syscall(SYS_dup2, 999, file));
  close(file);
  file = used("data");
  say("dup3", syscall(SYS_dup3, other, file, O_CLOEXEC) == file ? 0 : -1);
  file = used("data");
  say("range", syscall(SYS_close_range, file, file, 0));
  say("no range", syscall(SYS_close_range, 5, 4, 0));
  file = used("data");
  say("flags", syscall(SYS_fcntl, file, F_SETFL, O_APPEND));
  say("append", syscall(SYS_pwrite64, file, device, 100ul, 0ul));
  say("longer", lseek(file, 0, SEEK_END));
  say("close", close(file));
  say("close", close(other));
  say_numbers("numbers");
}

// Neither pread by number is a cancellation point.
void cancelled_by_number() {
  make_file("data");
  const int file = open_file("data");
  std::atomic<int> steps = 0;
  std::thread thread([&] {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
    char host[10];
    if (syscall(SYS_pread64, file, device, 5000ul, 0ul) == 5000) ++steps;
    if (syscall(SYS_pread64, file, host, sizeof host, 0ul) == sizeof host) ++steps;
    steps += 10;
    pthread_testcancel();
    steps += 100;
  });
  thread.join();
  std::printf("steps: %d\n", steps.load());
  say("read", pread(file, device, 5000, 0));
}

// A ring of no entries: the call is counted and fails.
void ring_by_number() { say("ring", syscall(SYS_io_uring_setup, 0, nullptr)); }

}  // namespace k2k::shim::probe
