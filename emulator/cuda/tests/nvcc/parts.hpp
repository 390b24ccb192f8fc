#pragma once
// The parts of a program whose kernels nvcc compiles for the emulated driver: instructions that
// none of our own kernels has, as NVIDIA's headers emit them. It runs on a GPU as well.
//
// Threading: one thread.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace parts {

bool matrices();
bool clusters();

// Memory that the host and kernels address; zero at first.
template <class T>
struct Managed {
  explicit Managed(std::size_t elements) : count(elements) {
    if (cudaMallocManaged(&data, count * sizeof(T)) != cudaSuccess) {
      std::fprintf(stderr, "no memory\n");
      std::abort();
    }
    cudaMemset(data, 0, count * sizeof(T));
    cudaDeviceSynchronize();
  }
  ~Managed() { cudaFree(data); }
  Managed(const Managed&) = delete;
  Managed& operator=(const Managed&) = delete;
  T& operator[](std::size_t at) { return data[at]; }

  T* data = nullptr;
  std::size_t count;
};

// The last launch ended well; says why not.
inline bool finished() {
  const cudaError_t launched = cudaGetLastError();
  const cudaError_t ended = cudaDeviceSynchronize();
  if (launched == cudaSuccess && ended == cudaSuccess) return true;
  std::printf("a launch failed: %s\n",
              cudaGetErrorString(launched != cudaSuccess ? launched : ended));
  return false;
}

}  // namespace parts
