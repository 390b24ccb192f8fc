#pragma once
// Marks functions that also run on a device. Empty for an ordinary C++ compiler.
//
//   K2K_HD           callable from host and device
//   K2K_DEVICE       callable from the device only (on the cpu backend that is the host compiler
//                    too)
//   K2K_SHARED_CODE  one body for all its callers on a GPU, where other functions are inlined: for
//                    code that a kernel uses several times and that waits for the host anyway

#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__CUDACC_RTC__)
#define K2K_HD __host__ __device__
#define K2K_DEVICE __device__
#define K2K_SHARED_CODE __attribute__((noinline))
#else
#define K2K_HD
#define K2K_DEVICE
#define K2K_SHARED_CODE
#endif
