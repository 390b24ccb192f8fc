#pragma once
// The readers for memory of CUDA and of HIP, made at the first call with such memory.
//
// Threading: any thread.

#include "k2k/io.h"
#include "router/door/readers.hpp"
#include "router/read/registered_memory.hpp"

namespace k2k::shim {

// The options of the readers, and the set of memory that is told of them. To be called before
// gpu_reader(); both arguments are never destroyed.
void set_up_gpu_readers(const router::FilesOptions& options, router::RegisteredMemory& memory);
// Of this k2k_io_kind. Null: there is none here, or no such kind; it was said once, on standard
// error.
router::FileReader* gpu_reader(int kind);
// In the child of a fork.
void gpu_readers_after_fork_child();

}  // namespace k2k::shim
