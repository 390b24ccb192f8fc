#pragma once
// Registers memory of a GPU that the program allocated. Afterwards K2K serves reads of files into
// it, and writes of files from it, by kernels, k2k_files and Python. Memory that the CPU can
// address need not be registered.
//
// Runtime::allocate() registers its memory itself if only the GPU can address it.
//
// The settings `files.*` come from K2K_* variables and the configuration file, when the first range
// of a kind is registered.
//
// Verified on an NVIDIA H200 (docs/results/gpu.md); unverified with HIP.
//
// Threading: any thread. Not while a kernel runs that waits for its requests, because the first
// range of a kind pins host memory.

#if __cplusplus < 202002L
#error "<k2k/memory.hpp> needs C++20: compile with -std=c++20"
#else

#include <cstddef>
#include <cstdint>

#include "base/api.hpp"
#include "base/result.hpp"

namespace k2k {

// The values of k2k_io_kind in k2k/io.h.
enum class MemoryKind : std::uint8_t { cuda = 2, hip = 3 };

// Memory of cudaMalloc(), hipMalloc() and related functions, on the first device. Errors:
//   EINVAL  null, no bytes, an end beyond the address space, an unknown kind, or a wrong setting
//   EEXIST  it overlaps registered memory
//   ENOSPC  256 ranges are registered
//   ENODEV  no driver, or no device    ENOMEM, EIO  from the driver
K2K_API Status register_memory(void* address, std::size_t bytes, MemoryKind kind);

// Call it before the memory is freed; `address` is its beginning. Waits for the calls that use the
// memory. ENOENT: no registered memory begins there.
K2K_API Status unregister_memory(void* address);

}  // namespace k2k

#endif
