#pragma once
// What io/ uses of HIP's runtime API, by names and numbers of its public documentation, as the
// table of CUDA's driver (cuda_calls.hpp): HIP mirrors it, codes included, but for contexts. There
// a thread has a current device: to enter a context is to change it, and to leave it to change it
// back.
//
// UNVERIFIED: neither hardware nor header; run against a library of the tests' own.
//
// Threading: load() from anywhere; then constant.

#include <string>

#include "base/result.hpp"
#include "io/memory/cuda_calls.hpp"

namespace k2k::io::hip {

// Initialised, with a device. An empty name: libamdhip64.so of ROCm 7, 6 or 5. ENODEV: why not, and
// what mends it. The library stays loaded, and is the only one of the process.
Result<cuda::Calls> load(const std::string& library);

}  // namespace k2k::io::hip
