#pragma once
// The part of HIP's headers that kernels of K2K need, for clang without them: the words of the
// language, and the memory functions that clang's code for the device calls.
//
// clang includes it before each source (-include, cmake/K2KHip.cmake): the device's memory
// functions have to be declared before <cstring> names the host's. A source for hipcc, which has
// HIP's headers, does not include it.

#if defined(__HIP__)

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))

// clang's host code of a kernel calls it (backend/hip/registration/).
struct K2kHipExtent {
  unsigned x, y, z;
};
extern "C" {
int hipLaunchKernel(const void* kernel, K2kHipExtent groups, K2kHipExtent items, void** parameters,
                    unsigned long local_bytes, void* stream);

// Weak: clang may call them in every source, and links each source's code alone.
__device__ __attribute__((weak)) void* memcpy(void* to, const void* from, unsigned long bytes) {
  return __builtin_memcpy(to, from, bytes);
}
__device__ __attribute__((weak)) void* memmove(void* to, const void* from, unsigned long bytes) {
  return __builtin_memmove(to, from, bytes);
}
__device__ __attribute__((weak)) void* memset(void* to, int value, unsigned long bytes) {
  return __builtin_memset(to, value, bytes);
}
__device__ __attribute__((weak)) int memcmp(const void* one, const void* other,
                                            unsigned long bytes) {
  const auto* first = static_cast<const unsigned char*>(one);
  const auto* second = static_cast<const unsigned char*>(other);
  for (; bytes != 0; --bytes, ++first, ++second) {
    if (*first != *second) return *first - *second;
  }
  return 0;
}
}

#endif
