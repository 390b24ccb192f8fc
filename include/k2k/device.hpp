#pragma once
// The header for kernels: everything that device code may use. C++17.

#include "device/k2k.hpp"
