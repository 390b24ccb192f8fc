// Scenes of a program that is linked to CUDA (the tests' own: io/memory/vendor_fixture). Each
// prints everything that the program can see. With PROBE_HOST=1 its memory is ordinary, and
// libk2k_io.so is absent: the output is the expected output for memory that the CPU cannot address.

#include "shim/tests/cuda_scenes.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "shim/tests/cuda_device.hpp"

namespace {

using namespace k2k::shim::probe;

void reads() {
  const int file = make_data();
  char* const device = allocate(device_bytes);
  fill_device(device, device_bytes, 0);
  posix_fadvise(file, 0, 1 << 20, POSIX_FADV_DONTNEED);
  errno = 0;
  say("read", read(file, device, 100'000));
  say("again", read(file, device + 100'000, 2'000'000));
  say("position", lseek(file, 0, SEEK_CUR));
  say_device("data", device, 2'200'000);
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  errno = 0;
  say("pread", pread(file, device + 7, 3'000'000, 4'097));
  say("to the end", pread(file, device + 4'000'000, device_bytes - 4'000'000, 3'000'000));
  say("at the end", pread(file, device, 100, file_bytes));
  say("nothing", pread(file, device, 0, 0));
  say_device("data", device, device_bytes);
  char host[3000];
  const iovec pieces[] = {{device, 5000}, {host, sizeof host}, {device + 1'000'000, 900'000}};
  say("preadv", preadv(file, pieces, 3, 12'345));
  say_bytes("host", host, sizeof host);
  say_device("data", device, 2'000'000);
  say("readv", readv(file, pieces, 3));
  say("position", lseek(file, 0, SEEK_CUR));
  say("preadv2", preadv2(file, pieces, 3, 500, RWF_HIPRI));
  say("wrong flags", preadv2(file, pieces, 3, 500, 0x4000'0000));
  say("wrong offset", pread(file, device, 100, -1));
  say("wrong descriptor", pread(999, device, 100, 0));
  say_device("data", device, 2'000'000);
  const int direct = open((folder + "/data").c_str(), O_RDONLY | O_DIRECT);
  if (direct >= 0) {
    say("O_DIRECT", pread(direct, device, 8192, 4096));
    say_device("data", device, 8192);
    close(direct);
  }
  give_back(device);
}

void writes() {
  make_data();
  char* const device = allocate(device_bytes);
  fill_device(device, device_bytes, 17);
  const int file = open_data();
  say("write", write(file, device, 10'000));
  say("pwrite", pwrite(file, device + 3, 2'000'001, 1'000'000));
  say_file("file");
  char host[100] = "from the host";
  const iovec pieces[] = {{device + 50, 5000}, {host, sizeof host}, {device, 70'000}};
  say("writev", writev(file, pieces, 3));
  say("pwritev", pwritev(file, pieces, 3, 77));
  say("pwritev2", pwritev2(file, pieces, 3, 200'000, RWF_DSYNC));
  say("position", lseek(file, 0, SEEK_CUR));
  say_file("file");
  const int appending = open_data(O_WRONLY | O_APPEND);
  say("append", write(appending, device + 9, 4'321));
  say("to where it is not read", read(appending, device, 10));
  const int synced = open_data(O_RDWR | O_SYNC);
  say("synced", pwrite(synced, device, 12'345, 9));
  say("behind the end", pwrite(file, device, 1000, 6'000'000));
  say_file("file");
  give_back(device);
}

void streams() {
  char* const device = allocate(device_bytes);
  fill_device(device, 1000, 3);
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  say("to a pipe", write(ends[1], device, 1000));
  say("from it", read(ends[0], device + 5000, 2000));
  say_device("data", device + 5000, 1000);
  say("pread", pread(ends[0], device, 10, 0));
  close(ends[1]);
  say("its end", read(ends[0], device, 10));
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
  say("to a socket", write(ends[1], device, 500));
  say("from it", read(ends[0], device + 6000, 2000));
  say_device("data", device + 6000, 500);
  const int null = open("/dev/null", O_RDWR);
  say("to /dev/null", write(null, device, device_bytes));
  say("from it", read(null, device, 100));
  const int zero = open("/dev/zero", O_RDONLY);
  say("zeros", read(zero, device, 100'000));
  say_device("data", device, 200'000);
  give_back(device);
}

void forking() {
  const int file = make_data();
  char* const device = allocate(device_bytes);
  say("read", pread(file, device, 100'000, 0));
  std::fflush(stdout);
  if (fork() == 0) {
    // The device belongs to the parent. With PROBE_HOST=1 the memory is ordinary.
    const ssize_t answer = pread(file, device, 100'000, 0);
    _exit(on_host() || (answer == -1 && errno == EFAULT) ? 0 : 1);
  }
  int status = -1;
  wait(&status);
  say("child", status);
  say("read", pread(file, device, 3'000'000, 1000));
  say_device("data", device, 3'000'000);
  give_back(device);
}

// The following scenes use device memory only.

void allocations() {
  const int file = make_data();
  void* memory = &memory;
  k2k_vendor.fail("cuMemAlloc_v2", 2);
  std::printf("fails: %d, %s\n", cudaMalloc(&memory, 1000), memory == &memory ? "untouched" : "?");
  std::printf("nothing: %d\n", cudaMalloc(&memory, 0));
  std::printf("free of null: %d\n", cudaFree(nullptr));
  std::printf("free of what is not: %d\n", cudaFree(&memory));

  char* const device = allocate(100'000);
  say("read", pread(file, device, 100'000, 0));
  say("beyond it", pread(file, device, 100'001, 0));
  std::printf("free of its middle: %d\n", cudaFree(device + 4096));
  say("read", pread(file, device, 100, 0));
  k2k_vendor.fail("cuMemFree_v2", 700);
  std::printf("free fails: %d\n", cudaFree(device));
  say("it is still there", pread(file, device, 100, 0));
  std::printf("free: %d\n", cudaFree(device));
  say("freed", pread(file, device, 100, 0));
  say("freed", pwrite(file, device, 100, 0));
  std::printf("free again: %d\n", cudaFree(device));

  char* const again = allocate(50'000);
  std::printf("the same place: %s\n", again == device ? "yes" : "no");
  say("read", pread(file, again, 50'000, 0));
  say("beyond it", pread(file, again, 50'001, 0));
  std::printf("free later: %d\n", cudaFreeAsync(again, nullptr));
  say("freed", pread(file, again, 100, 0));

  unsigned long long address = 0;
  std::printf("driver: %d\n", cuMemAlloc_v2(&address, 4096));
  say("read", pread(file, reinterpret_cast<void*>(address), 4096, 0));
  say_device("data", reinterpret_cast<char*>(address), 4096);
  std::printf("driver: %d\n", cuMemFree_v2(address));
  say("freed", pread(file, reinterpret_cast<void*>(address), 4096, 0));

  void* managed = nullptr;
  std::printf("managed: %d\n", cudaMallocManaged(&managed, 200'000, 1));
  say("read", pread(file, managed, 200'000, 0));
  say_bytes("data", managed, 200'000);
  std::printf("managed, wrong: %d\n", cudaMallocManaged(&managed, 200'000, 9));

  std::printf("left: %d\n", k2k_vendor.allocations.load());
}

void copies_that_fail() {
  const int file = make_data();
  char* const device = allocate(device_bytes);
  say("read", pread(file, device, 10, 0));
  k2k_vendor.fail("cuMemcpyHtoDAsync_v2", 700);
  say("not this time", pread(file, device, 100, 0) < 0 ? -1 : 0);
  say("pread", pread(file, device, 100, 0));
  k2k_vendor.fail("cuMemcpyDtoHAsync_v2", 700);
  say("not written", pwrite(file, device, 100, 0));
  // The query after the copy, without a context and with one.
  k2k_vendor.context_for_queries = true;
  k2k_vendor.fail("cuCtxPushCurrent_v2", 999, 1);
  say("not written", pwrite(file, device, 100, 0));
  give_back(device);
}

void many() {
  const int file = make_data();
  std::vector<char*> all;
  for (int at = 0; at < 300; ++at) all.push_back(allocate(4096));
  int right = 0;
  int wrong = 0;
  for (char* const each : all) (pread(file, each, 4096, 0) == 4096 ? right : wrong) += 1;
  std::printf("%d served, %d not\n", right, wrong);
  for (char* const each : all) give_back(each);
  errno = 0;
  char* const device = allocate(4096);
  say("afterwards", pread(file, device, 4096, 0));
  give_back(device);
}

constexpr k2k::shim::probe::Scene scenes[] = {
    {"reads", reads},
    {"writes", writes},
    {"streams", streams},
    {"forking", forking},
    {"allocations", allocations},
    {"copies", copies_that_fail},
    {"freeing", freeing},
    {"freeing_in_order", freeing_in_order},
    {"ordered", ordered},
    {"numbered", numbered},
    {"rows", rows},
    {"hip", hip},
    {"many", many},
};

}  // namespace

extern "C" __attribute__((visibility("default"))) int cuda_play(const char* scene,
                                                                const char* in_folder) {
  folder = in_folder;
  return k2k::shim::probe::play(scenes, scene);
}
