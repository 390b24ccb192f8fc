#pragma once
// The readers for memory of CUDA and of HIP, made at the first call with such memory.
//
// Threading: any thread.

#include "k2k/io.h"
#include "router/door/readers.hpp"
#include "router/read/registered_memory.hpp"

namespace k2k::shim {

// Sets the options of the readers, and the set of memory to which they are added. To be called
// before gpu_reader(); both arguments are never destroyed.
void set_up_gpu_readers(const router::FilesOptions& options, router::RegisteredMemory& memory);
// The reader for this k2k_io_kind. Null: the kind is unknown, or the machine cannot serve it; one
// line on standard error gives the reason once.
router::FileReader* gpu_reader(int kind);
// In the child of a fork.
void gpu_readers_after_fork_child();

}  // namespace k2k::shim
