#pragma once
// The kernel of one work-item that makes a call. It is separate from the host's files, because a
// kernel includes functions named read, close, getpid.
//
// Threading: as Runtime::launch().

#include <cstdint>

#include "cli/verify/call_data.hpp"
#include "k2k/runtime.hpp"

namespace k2k::cli::verify {

// Where a kernel has the bytes of a call. On a strict device the host cannot address the first
// three, and on a GPU neither.
enum class Place : std::uint8_t { stack, local, device, shared };

// Memory for the bytes of a call, for the places that are no kernel's own.
struct KernelMemory {
  char* device = nullptr;
  char* shared = nullptr;
};

// Makes the call with its bytes at `place`, and brings the bytes back. `call` is in memory that
// host and device share. Errors: as Runtime::launch().
namespace on_cpu {
Result<LaunchReport> launch_call(Runtime& runtime, CallData* call, Place place,
                                 const KernelMemory& memory);
int wrapped_rows();  // The kernel has the wrappers of the first rows, as many as this.
}  // namespace on_cpu
namespace on_gpu {  // Weak: nullptr in a program without code for GPUs.
[[gnu::weak]] Result<LaunchReport> launch_call(Runtime& runtime, CallData* call, Place place,
                                               const KernelMemory& memory);
[[gnu::weak]] int wrapped_rows();
}  // namespace on_gpu

}  // namespace k2k::cli::verify
