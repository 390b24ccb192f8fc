#pragma once
// The door for host programs: start a runtime, launch kernels, read its counters; tell of memory.
// C++20.

#if __cplusplus < 202002L
#error "<k2k/runtime.hpp> needs C++20: compile with -std=c++20"
#else
#include "runtime/demand_region.hpp"
#include "runtime/files/memory.hpp"
#include "runtime/runtime.hpp"
#include "runtime/trace.hpp"
#endif
