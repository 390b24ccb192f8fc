#pragma once
// The PTX in what a program gives cuModuleLoadData: text, or a fat binary of nvcc with it.
//
// Threading: from any thread.

#include <string>

#include "emulator/cuda/driver/abi.hpp"

namespace k2k::emulator::driver {

// `success` and the text, or the answer of the driver and why.
CUresult ptx_of(const void* image, std::string& text, std::string& why);

}  // namespace k2k::emulator::driver
