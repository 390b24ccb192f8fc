// Scenes with memory that is allocated and freed in the order of a stream, in rows, or by HIP, and
// with frees while others read. See cuda_scenes.cpp.

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "shim/tests/cuda_device.hpp"

namespace k2k::shim::probe {

namespace {

int stream_word = 0;
int pool_word = 0;
void* const stream = &stream_word;
void* const pool = &pool_word;

// Reads into allocated memory succeed until the memory is freed.
template <class Free>
void say_life(const char* what, int file, int allocated, void* memory, std::size_t bytes,
              Free free_it) {
  auto* const device = static_cast<char*>(memory);
  std::printf("%s: %d, %s\n", what, allocated,
              k2k_vendor.last_stream == stream ? "in order" : "in no order");
  say("read", pread(file, device, bytes, 100));
  std::vector<char> there(bytes);
  std::vector<char> right(bytes);
  cudaMemcpy(there.data(), device, bytes, 2);
  const bool same =
      pread(file, right.data(), bytes, 100) == static_cast<ssize_t>(bytes) && there == right;
  std::printf("%s\n", same ? "the file's" : "others");
  say("beyond it", pread(file, device, bytes + 1, 0));
  k2k_vendor.last_stream = nullptr;
  const int code = free_it();
  std::printf("freed: %d, %s\n", code, k2k_vendor.last_stream == stream ? "in order" : "now");
  say("freed", pread(file, device, bytes, 0));
}

// A thread that frees memory waits for the threads that read into it.
void free_while_others_read(void (*free_it)(char*)) {
  const int file = make_data();
  std::atomic<char*> shared = nullptr;
  std::atomic<bool> is_over = false;
  std::atomic<long> right = 0;
  std::atomic<long> gone = 0;
  std::atomic<long> other = 0;
  std::vector<std::thread> readers;
  for (int number = 0; number < 3; ++number) {
    readers.emplace_back([&] {
      while (!is_over) {
        char* const device = shared;
        if (device == nullptr) continue;
        const ssize_t count = pread(file, device, 1 << 20, 1000);
        if (count == 1 << 20) {
          ++right;
        } else if (count == -1 && errno == EFAULT) {
          ++gone;
        } else {
          ++other;
        }
      }
    });
  }
  for (int round = 0; round < 40 || right < 20; ++round) {
    char* const device = allocate(1 << 20);
    shared = device;
    usleep(2000);
    free_it(device);
    shared = nullptr;
  }
  is_over = true;
  for (std::thread& reader : readers) reader.join();
  std::printf("other answers: %ld, copies to memory that was freed: %d\n", other.load(),
              k2k_vendor.wrong_copies.load());
}

}  // namespace

void freeing() { free_while_others_read(give_back); }
void freeing_in_order() {
  free_while_others_read([](char* device) { cudaFreeAsync(device, stream); });
}

void ordered() {
  const int file = make_data();
  void* memory = nullptr;
  unsigned long long address = 0;
  const auto of_driver = [&] { return reinterpret_cast<void*>(address); };
  int code = cudaMallocAsync(&memory, 100'000, stream);
  say_life("runtime", file, code, memory, 100'000, [&] { return cudaFreeAsync(memory, stream); });
  code = cudaMallocFromPoolAsync(&memory, 70'000, pool, stream);
  say_life("its pool", file, code, memory, 70'000, [&] { return cudaFree(memory); });
  code = cuMemAllocAsync(&address, 100'000, stream);
  say_life("driver", file, code, of_driver(), 100'000,
           [&] { return cuMemFreeAsync(address, stream); });
  code = cuMemAllocFromPoolAsync(&address, 5'000, pool, stream);
  say_life("its pool", file, code, of_driver(), 5'000, [&] { return cuMemFree_v2(address); });
  std::printf("pool: %s\n", k2k_vendor.last_pool == pool ? "handed on" : "lost");
  memory = &memory;
  k2k_vendor.fail("cuMemAlloc_v2", 2);
  code = cudaMallocAsync(&memory, 1000, stream);
  std::printf("fails: %d, %s\n", code, memory == &memory ? "untouched" : "?");
  std::printf("free of null: %d\n", cudaFreeAsync(nullptr, stream));
  std::printf("left: %d\n", k2k_vendor.allocations.load());
}

void numbered() {
  const int file = make_data();
  char* const device = allocate(1 << 20);
  char host[100];
  const iovec pieces[] = {{device + 300'000, 5000}, {host, sizeof host}};
  say("pread", syscall(SYS_pread64, file, device, 300'000ul, 77ul));
  say("readv", syscall(SYS_readv, file, pieces, 2));
  say("write", syscall(SYS_write, file, device, 1000ul));
  say_device("data", device, 305'000);
  say_file("file");
  give_back(device);
}

void rows() {
  const int file = make_data();
  void* memory = nullptr;
  std::size_t pitch = 0;
  const int code = cudaMallocPitch(&memory, &pitch, 1000, 20);
  std::printf("pitch: %zu\n", pitch);
  k2k_vendor.last_stream = stream;
  say_life("rows", file, code, memory, pitch * 20, [&] { return cudaFree(memory); });
  std::printf("no rows: %d\n", cudaMallocPitch(&memory, &pitch, 1000, 0));
}

void hip() {
  const int file = make_data();
  void* memory = nullptr;
  int code = hipMalloc(&memory, 1 << 20);
  k2k_vendor.last_stream = stream;
  say_life("hip", file, code, memory, 1 << 20, [&] { return hipFree(memory); });
  code = hipMallocAsync(&memory, 100'000, stream);
  say_life("later", file, code, memory, 100'000, [&] { return hipFreeAsync(memory, stream); });
  code = hipMallocFromPoolAsync(&memory, 100'000, pool, stream);
  say_life("its pool", file, code, memory, 100'000, [&] { return hipFree(memory); });

  char* const cuda = allocate(10'000);
  hipMalloc(&memory, 10'000);
  say("write", pwrite(file, memory, 10'000, 0));
  const iovec both[] = {{cuda, 100}, {memory, 100}};
  say("of two vendors", preadv(file, both, 2, 0));
  say("cuda beside it", pread(file, cuda, 10'000, 0));
  hipFree(memory);
  give_back(cuda);
  std::printf("left: %d\n", k2k_vendor.allocations.load());
}

}  // namespace k2k::shim::probe
