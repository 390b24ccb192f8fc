#pragma once
// The door for host programs: start a runtime, launch kernels, read its counters; tell of memory.
// C++20.

#include "runtime/demand_region.hpp"
#include "runtime/files/memory.hpp"
#include "runtime/runtime.hpp"
#include "runtime/trace.hpp"
