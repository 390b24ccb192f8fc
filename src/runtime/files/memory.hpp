#pragma once
// Registers memory with another library than the vendor's: for tests.
//
// Threading: as k2k/memory.hpp.

#include <cstddef>
#include <k2k/memory.hpp>
#include <string>

#include "base/result.hpp"

namespace k2k::runtime {

// Errors: as k2k::register_memory().
Status register_memory(void* address, std::size_t bytes, MemoryKind kind,
                       const std::string& library);

}  // namespace k2k::runtime
