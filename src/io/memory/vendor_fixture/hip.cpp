// The entries of HIP's runtime that io/ uses: CUDA's by other names, except that each thread has a
// current device instead of a context.

#include <cstddef>

#include "io/memory/vendor_fixture/allocations.hpp"
#include "io/memory/vendor_fixture/control.hpp"

using namespace k2k::io::vendor;

extern "C" {

extern Control k2k_vendor;

int cuInit(unsigned);
int cuDeviceGetCount(int*);
int cuDeviceGet(int*, int);
int cuMemHostAlloc(void**, std::size_t, unsigned);
int cuMemFreeHost(void*);
int cuMemcpyHtoDAsync_v2(unsigned long long, const void*, std::size_t, void*);
int cuMemcpyDtoHAsync_v2(void*, unsigned long long, std::size_t, void*);
int cuStreamCreate(void**, unsigned);
int cuStreamDestroy_v2(void*);
int cuStreamSynchronize(void*);
int cuStreamQuery(void*);
int cuEventCreate(void**, unsigned);
int cuEventDestroy_v2(void*);
int cuEventRecord(void*, void*);
int cuEventQuery(void*);

#define K2K_VENDOR(name, ...) __attribute__((visibility("default"))) int name(__VA_ARGS__)
#define K2K_TOLD(name) \
  if (const int code = told(name); code != 0) return code

// The program's choice. Not by __tls_get_addr: LeakSanitizer takes what lies before such a block
// for its size, and reads beyond it.
[[gnu::tls_model("initial-exec")]] static thread_local int current = 7;

K2K_VENDOR(hipInit, unsigned flags) {
  K2K_TOLD("hipInit");
  return cuInit(flags);
}
K2K_VENDOR(hipGetDeviceCount, int* count) { return cuDeviceGetCount(count); }
K2K_VENDOR(hipDeviceGet, int* device, int number) { return cuDeviceGet(device, number); }
K2K_VENDOR(hipGetDevice, int* device) {
  K2K_TOLD("hipGetDevice");
  *device = current;
  return 0;
}
K2K_VENDOR(hipSetDevice, int device) {
  K2K_TOLD("hipSetDevice");
  current = device;
  ++k2k_vendor.current_set;
  return 0;
}
K2K_VENDOR(hipHostMalloc, void** memory, std::size_t bytes, unsigned flags) {
  return cuMemHostAlloc(memory, bytes, flags);
}
K2K_VENDOR(hipHostFree, void* memory) { return cuMemFreeHost(memory); }
K2K_VENDOR(hipMemcpyHtoDAsync, void* to, void* from, std::size_t bytes, void* stream) {
  K2K_TOLD("hipMemcpyHtoDAsync");
  if (current != 0) return 101;  // Streams are of a device.
  return cuMemcpyHtoDAsync_v2(reinterpret_cast<unsigned long long>(to), from, bytes, stream);
}
K2K_VENDOR(hipMemcpyDtoHAsync, void* to, void* from, std::size_t bytes, void* stream) {
  if (current != 0) return 101;
  return cuMemcpyDtoHAsync_v2(to, reinterpret_cast<unsigned long long>(from), bytes, stream);
}
K2K_VENDOR(hipStreamCreateWithFlags, void** stream, unsigned flags) {
  return current != 0 ? 101 : cuStreamCreate(stream, flags);
}
K2K_VENDOR(hipStreamDestroy, void* stream) { return cuStreamDestroy_v2(stream); }
K2K_VENDOR(hipStreamSynchronize, void* stream) { return cuStreamSynchronize(stream); }
K2K_VENDOR(hipStreamQuery, void* stream) { return current != 0 ? 101 : cuStreamQuery(stream); }
K2K_VENDOR(hipEventCreateWithFlags, void** event, unsigned flags) {
  return current != 0 ? 101 : cuEventCreate(event, flags);
}
K2K_VENDOR(hipEventDestroy, void* event) { return cuEventDestroy_v2(event); }
K2K_VENDOR(hipEventRecord, void* event, void* stream) { return cuEventRecord(event, stream); }
K2K_VENDOR(hipEventQuery, void* event) { return cuEventQuery(event); }

__attribute__((visibility("default"))) const char* hipGetErrorName(int code) {
  return code == 2 ? "hipErrorOutOfMemory" : "hipErrorUnknown";
}
__attribute__((visibility("default"))) const char* hipGetErrorString(int code) {
  return code == 2 ? "out of memory" : "unknown error";
}

}  // extern "C"
