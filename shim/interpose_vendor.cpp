// The functions of libk2k_io.so in front of GPU vendors' libraries. They register device memory
// from its allocation to its free. A program without these libraries never calls them, and pays
// nothing.
//
// Without a vendor's library behind this library, the answer is that there is no device: 100 in
// CUDA's runtime and driver and in HIP.
//
// CUDA's driver interface ran on an H200 (docs/results/gpu.md). UNVERIFIED ON HARDWARE: CUDA's
// run-time interface and HIP, run against a library of the tests' own.

#include <cstddef>
#include <cstdint>

#include "base/api.hpp"
#include "k2k/io.h"
#include "shim/router_library.hpp"
#include "shim/serve.hpp"
#include "shim/vendor.hpp"

using k2k::Ranges;
using k2k::shim::in_router_library;
using k2k::shim::Next;
using k2k::shim::note_allocated;
using k2k::shim::note_freeing;

namespace {

constexpr int no_device = 100;

// The runtimes use void* for device addresses, CUDA's driver integers of that width.
const void* pointer(const void* memory) { return memory; }
const void* pointer(unsigned long long memory) {
  return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(memory));
}

// A runtime may call the driver by names that this library defines: the outer call counts.
class Depth {
 public:
  Depth() : is_outer_(depth_++ == 0) {}
  ~Depth() { --depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  [[nodiscard]] bool is_outer() const { return is_outer_; }

 private:
  static thread_local constinit int depth_;
  const bool is_outer_;
};

thread_local constinit int Depth::depth_ = 0;

template <class Memory, class... More>
int allocate(Next& next, int kind, const void* caller, Memory* memory, std::size_t bytes,
             More... more) {
  const auto real = reinterpret_cast<int (*)(Memory*, std::size_t, More...)>(next.find(caller));
  if (real == nullptr) return no_device;
  const Depth depth;
  const int code = real(memory, bytes, more...);
  if (code != 0 || memory == nullptr || bytes == 0) return code;
  if (!depth.is_outer() || in_router_library(caller)) return code;
  note_allocated(pointer(*memory), bytes, kind);
  return code;
}

// Rows of `width` bytes, at a distance that the library chooses.
template <class Memory, class... More>
int allocate_rows(Next& next, int kind, const void* caller, Memory* memory, std::size_t* pitch,
                  std::size_t width, std::size_t height, More... more) {
  const auto real =
      reinterpret_cast<int (*)(Memory*, std::size_t*, std::size_t, std::size_t, More...)>(
          next.find(caller));
  if (real == nullptr) return no_device;
  const Depth depth;
  const int code = real(memory, pitch, width, height, more...);
  if (code != 0 || memory == nullptr || pitch == nullptr || *pitch == 0 || height == 0) return code;
  if (!depth.is_outer() || in_router_library(caller)) return code;
  note_allocated(pointer(*memory), *pitch * height, kind);
  return code;
}

// Memory is removed from the table before it is freed: another thread may be given the same
// addresses before this call returns.
template <class Memory, class... More>
int free_memory(Next& next, const void* caller, Memory memory, More... more) {
  const auto real = reinterpret_cast<int (*)(Memory, More...)>(next.find(caller));
  if (real == nullptr) return no_device;
  const Depth depth;
  const bool seen = depth.is_outer() && !in_router_library(caller);
  const Ranges::Held was = seen ? note_freeing(pointer(memory)) : Ranges::Held();
  const int code = real(memory, more...);
  if (code != 0 && was.kind != 0) note_allocated(pointer(memory), was.last - was.first, was.kind);
  return code;
}

}  // namespace

#define K2K_CALLER __builtin_return_address(0)

#define K2K_ALLOCATES(name, kind, Memory)                   \
  K2K_API int name(Memory* memory, std::size_t bytes) {     \
    static constinit Next next(#name);                      \
    return allocate(next, kind, K2K_CALLER, memory, bytes); \
  }
// Allocates in the order of a stream. A read of a file may come before the memory exists, as may a
// read by another stream: the program has to prevent that.
#define K2K_ALLOCATES_LATER(name, kind, Memory)                       \
  K2K_API int name(Memory* memory, std::size_t bytes, void* stream) { \
    static constinit Next next(#name);                                \
    return allocate(next, kind, K2K_CALLER, memory, bytes, stream);   \
  }
#define K2K_ALLOCATES_FROM_POOL(name, kind, Memory)                               \
  K2K_API int name(Memory* memory, std::size_t bytes, void* pool, void* stream) { \
    static constinit Next next(#name);                                            \
    return allocate(next, kind, K2K_CALLER, memory, bytes, pool, stream);         \
  }
#define K2K_ALLOCATES_ROWS(name, kind, Memory)                                                  \
  K2K_API int name(Memory* memory, std::size_t* pitch, std::size_t width, std::size_t height) { \
    static constinit Next next(#name);                                                          \
    return allocate_rows(next, kind, K2K_CALLER, memory, pitch, width, height);                 \
  }
// The CPU can address managed memory, too.
#define K2K_MANAGES(name, Memory)                                           \
  K2K_API int name(Memory* memory, std::size_t bytes, unsigned flags) {     \
    static constinit Next next(#name);                                      \
    return allocate(next, k2k_io_mapped, K2K_CALLER, memory, bytes, flags); \
  }
#define K2K_FREES(name, Memory)                   \
  K2K_API int name(Memory memory) {               \
    static constinit Next next(#name);            \
    return free_memory(next, K2K_CALLER, memory); \
  }
// Frees in the order of a stream, perhaps at once.
#define K2K_FREES_LATER(name, Memory)                     \
  K2K_API int name(Memory memory, void* stream) {         \
    static constinit Next next(#name);                    \
    return free_memory(next, K2K_CALLER, memory, stream); \
  }

extern "C" {

K2K_ALLOCATES(cudaMalloc, k2k_io_cuda, void*)
K2K_ALLOCATES(cuMemAlloc_v2, k2k_io_cuda, unsigned long long)
K2K_ALLOCATES(hipMalloc, k2k_io_hip, void*)
// _ptsz: nvcc --default-stream per-thread
K2K_ALLOCATES_LATER(cudaMallocAsync, k2k_io_cuda, void*)
K2K_ALLOCATES_LATER(cudaMallocAsync_ptsz, k2k_io_cuda, void*)
K2K_ALLOCATES_LATER(cuMemAllocAsync, k2k_io_cuda, unsigned long long)
K2K_ALLOCATES_LATER(cuMemAllocAsync_ptsz, k2k_io_cuda, unsigned long long)
K2K_ALLOCATES_LATER(hipMallocAsync, k2k_io_hip, void*)
K2K_ALLOCATES_FROM_POOL(cudaMallocFromPoolAsync, k2k_io_cuda, void*)
K2K_ALLOCATES_FROM_POOL(cudaMallocFromPoolAsync_ptsz, k2k_io_cuda, void*)
K2K_ALLOCATES_FROM_POOL(cuMemAllocFromPoolAsync, k2k_io_cuda, unsigned long long)
K2K_ALLOCATES_FROM_POOL(cuMemAllocFromPoolAsync_ptsz, k2k_io_cuda, unsigned long long)
K2K_ALLOCATES_FROM_POOL(hipMallocFromPoolAsync, k2k_io_hip, void*)
K2K_ALLOCATES_ROWS(cudaMallocPitch, k2k_io_cuda, void*)
K2K_ALLOCATES_ROWS(hipMallocPitch, k2k_io_hip, void*)
K2K_MANAGES(cudaMallocManaged, void*)
K2K_MANAGES(cuMemAllocManaged, unsigned long long)
K2K_MANAGES(hipMallocManaged, void*)
K2K_FREES(cudaFree, void*)
K2K_FREES(cuMemFree_v2, unsigned long long)
K2K_FREES(hipFree, void*)
K2K_FREES_LATER(cudaFreeAsync, void*)
K2K_FREES_LATER(cudaFreeAsync_ptsz, void*)
K2K_FREES_LATER(cuMemFreeAsync, unsigned long long)
K2K_FREES_LATER(cuMemFreeAsync_ptsz, unsigned long long)
K2K_FREES_LATER(hipFreeAsync, void*)

K2K_API int cuMemAllocPitch_v2(unsigned long long* memory, std::size_t* pitch, std::size_t width,
                               std::size_t height, unsigned element) {
  static constinit Next next("cuMemAllocPitch_v2");
  return allocate_rows(next, k2k_io_cuda, K2K_CALLER, memory, pitch, width, height, element);
}

}  // extern "C"
