#pragma once
// The readers for memory of CUDA and of HIP, made at the first call with such memory. K2K_IO_DIRECT
// says how direct pieces come: "staging", or the vendor's library, "cufile" for CUDA's and
// "hipfile" for HIP's; unset, what is there.
//
// Threading: any thread.

#include <array>

#include "k2k/io.h"
#include "router/read/device_reader.hpp"

namespace k2k::shim {

// Of this k2k_io_kind. Null: there is none here, or no such kind; it was said once, on standard
// error.
router::DeviceReader* gpu_reader(int kind);
// Those that were made; the others are null.
std::array<router::DeviceReader*, 2> gpu_readers_made();
// First thing in the child of a fork: the devices are the parent's.
void gpu_readers_after_fork_child();

}  // namespace k2k::shim
