#pragma once
// The functions of HIP's runtime API that io/ uses, by the names and numbers of its public
// documentation, in the table for CUDA's driver (cuda_calls.hpp). HIP mirrors the driver, including
// its codes, except for contexts. A thread has a current device: entering a context changes the
// device, and leaving it changes the device back.
//
// UNVERIFIED: neither hardware nor header; run against a library of the tests.
//
// Threading: load() from anywhere; then constant.

#include <string>

#include "base/result.hpp"
#include "io/memory/cuda_calls.hpp"

namespace k2k::io::hip {

// Initialised, with a device. An empty name: libamdhip64.so of ROCm 7, 6 or 5. Errors: ENODEV, with
// the reason and the remedy. The library stays loaded, and is the only one of the process.
Result<cuda::Calls> load(const std::string& library);

}  // namespace k2k::io::hip
