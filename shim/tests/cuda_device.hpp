#pragma once
// Shared by scenes with memory of CUDA and HIP: that memory, a file, and how both are printed.

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "io/memory/vendor_fixture/control.hpp"
#include "shim/tests/probe.hpp"

extern "C" {
int cudaMalloc(void**, std::size_t);
int cudaMallocManaged(void**, std::size_t, unsigned);
int cudaFree(void*);
int cudaFreeAsync(void*, void*);
int cudaMemcpy(void*, const void*, std::size_t, int);
int cuMemAlloc_v2(unsigned long long*, std::size_t);
int cuMemFree_v2(unsigned long long);
int cudaMallocAsync(void**, std::size_t, void*);
int cudaMallocFromPoolAsync(void**, std::size_t, void*, void*);
int cudaMallocPitch(void**, std::size_t*, std::size_t, std::size_t);
int cuMemAllocAsync(unsigned long long*, std::size_t, void*);
int cuMemAllocFromPoolAsync(unsigned long long*, std::size_t, void*, void*);
int cuMemFreeAsync(unsigned long long, void*);
int hipMallocAsync(void**, std::size_t, void*);
int hipMallocFromPoolAsync(void**, std::size_t, void*, void*);
int hipFreeAsync(void*, void*);
int hipMalloc(void**, std::size_t);
int hipFree(void*);
extern k2k::io::vendor::Control k2k_vendor;
}

namespace k2k::shim::probe {

inline constexpr std::size_t device_bytes = 8 << 20;
inline constexpr std::size_t file_bytes = (3 << 20) + 1234;

inline std::string folder;

inline bool on_host() { return std::getenv("PROBE_HOST") != nullptr; }

inline char* allocate(std::size_t bytes) {
  void* memory = nullptr;
  const int code =
      on_host() ? (memory = std::aligned_alloc(4096, bytes), 0) : cudaMalloc(&memory, bytes);
  if (code != 0) std::printf("cudaMalloc: %d\n", code);
  return static_cast<char*>(memory);
}
inline void give_back(char* memory) {
  if (on_host()) return std::free(memory);
  std::printf("%s", cudaFree(memory) == 0 ? "" : "cudaFree failed\n");
}
inline void say_device(const char* what, const char* memory, std::size_t bytes) {
  std::vector<char> host(bytes);
  if (on_host()) {
    std::memcpy(host.data(), memory, bytes);
  } else if (const int code = cudaMemcpy(host.data(), memory, bytes, 2); code != 0) {
    std::printf("cudaMemcpy: %d\n", code);
  }
  say_bytes(what, host.data(), bytes);
}
inline void fill_device(char* memory, std::size_t bytes, unsigned seed) {
  std::vector<char> host(bytes);
  for (std::size_t at = 0; at < bytes; ++at) {
    host[at] = static_cast<char>((at + seed) * 2654435761u >> 13);
  }
  if (on_host()) {
    std::memcpy(memory, host.data(), bytes);
  } else {
    cudaMemcpy(memory, host.data(), bytes, 1);
  }
}

inline int open_data(int flags = O_RDWR) {
  const std::string path = folder + "/data";
  const int file = open(path.c_str(), flags | O_CREAT, 0644);
  if (file < 0) std::abort();
  return file;
}
inline int make_data() {
  const int file = open_data();
  std::vector<char> data(file_bytes);
  for (std::size_t at = 0; at < data.size(); ++at) data[at] = static_cast<char>(at * 40503u >> 7);
  if (write(file, data.data(), data.size()) != static_cast<ssize_t>(data.size())) std::abort();
  fsync(file);
  lseek(file, 0, SEEK_SET);
  return file;
}
inline void say_file(const char* what) {
  const int file = open_data();
  std::vector<char> data(16 << 20);
  const ssize_t bytes = pread(file, data.data(), data.size(), 0);
  say_bytes(what, data.data(), static_cast<std::size_t>(bytes));
  close(file);
  errno = 0;
}

// The scenes of cuda_ordered.cpp.
void ordered();
void numbered();
void rows();
void hip();
void freeing();
void freeing_in_order();

}  // namespace k2k::shim::probe
