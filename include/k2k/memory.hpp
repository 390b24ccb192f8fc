#pragma once
// Memory of a GPU that a program tells K2K of: from then on reads of files into it, and writes of
// files from it, are served, whoever makes them: kernels, k2k_files, Python. Memory that the CPU
// reaches needs no word.
//
// Memory of Runtime::allocate() is registered by itself where it is a GPU's alone.
//
// UNVERIFIED ON HARDWARE.
//
// Threading: any thread. Not while a kernel runs that waits for its requests: the first range of a
// kind pins memory of the host.

#if __cplusplus < 202002L
#error "<k2k/memory.hpp> needs C++20: compile with -std=c++20"
#else

#include <cstddef>
#include <cstdint>

#include "base/api.hpp"
#include "base/result.hpp"

namespace k2k {

// As k2k_io_kind of k2k/io.h.
enum class MemoryKind : std::uint8_t { cuda = 2, hip = 3 };

// Of cudaMalloc(), hipMalloc() and their kin, of the first device. Errors:
//   EINVAL  null, no bytes, an end beyond the address space, or no kind of the above
//   EEXIST  it overlaps memory that is registered
//   ENOSPC  256 ranges are registered
//   ENODEV  no driver, or no device    ENOMEM, EIO  as the driver says
K2K_API Status register_memory(void* address, std::size_t bytes, MemoryKind kind);

// Before it is freed; `address` is its beginning. Waits for the calls that use it. ENOENT: no
// registered memory begins there.
K2K_API Status unregister_memory(void* address);

}  // namespace k2k

#endif
