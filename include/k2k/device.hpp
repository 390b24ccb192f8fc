#pragma once
// The door for kernels: everything device code may use. C++17.

#include "device/k2k.hpp"
