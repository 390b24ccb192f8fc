#pragma once
// The router's reader of CUDA's memory, made with the first call that needs it.
//
//   K2K_IO_DIRECT=staging, cufile    how direct pieces come; else what is there
//
// All memory is reached from device 0's context: with unified addressing copies know whose an
// address is.
//
// UNVERIFIED ON HARDWARE: run against a driver of the tests' own.
//
// Threading: any thread.

#include "router/device_reader.hpp"

namespace k2k::shim {

// Null: it cannot be made; why is said once on standard error. Never destroyed.
router::DeviceReader* cuda_reader();
// Null: it was not made.
router::DeviceReader* cuda_reader_if_made();
void cuda_after_fork_child();

}  // namespace k2k::shim
