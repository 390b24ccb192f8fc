#pragma once
// The types of NVIDIA's driver interface as a program passes them, declared by ourselves: the
// emulator is built without a toolkit. Numbers are those of CUDA 13.0's cuda.h.
//
// Threading: values.

#include <cstddef>
#include <cstdint>

extern "C" {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = std::uint64_t;
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
using CUcontext = CUctx_st*;
using CUmodule = CUmod_st*;     // And CUlibrary.
using CUfunction = CUfunc_st*;  // And CUkernel.
using CUstream = CUstream_st*;
using CUevent = CUevent_st*;
struct CUuuid {
  unsigned char bytes[16];
};
struct CUlaunchAttribute {
  int id;
  int unused;
  union {
    std::uint32_t words[16];
    std::uint64_t align;
  } value;
};
struct CUlaunchConfig {
  unsigned blocks[3];
  unsigned threads[3];
  unsigned shared_bytes;
  CUstream stream;
  CUlaunchAttribute* attributes;
  unsigned attribute_count;
};
using CUhostFn = void (*)(void*);
using CUstreamCallback = void (*)(CUstream, CUresult, void*);
}

namespace k2k::emulator::driver {

enum Answer : CUresult {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  no_binary_for_gpu = 209,
  unsupported_limit = 215,
  invalid_ptx = 218,
  unsupported_ptx_version = 222,
  file_not_found = 301,
  operating_system = 304,
  invalid_handle = 400,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_out_of_resources = 701,
  launch_timeout = 702,
  context_is_destroyed = 709,
  assertion = 710,
  memory_already_registered = 712,
  memory_not_registered = 713,
  hardware_stack_error = 714,
  illegal_instruction = 715,
  misaligned_address = 716,
  launch_failed = 719,
  cooperative_launch_too_large = 720,
  not_supported = 801,
  invalid_cluster_size = 912,
  unknown = 999,
};

}  // namespace k2k::emulator::driver

#define K2K_ENTRY_POINT extern "C" __attribute__((visibility("default")))
