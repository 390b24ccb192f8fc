#pragma once
// The header for kernels that another library compiles or launches: CuPy's RawKernel, cuda.core,
// PyTorch's inline CUDA. Each begins with k2k::begin(context). C++17.

#include "device/foreign.hpp"
