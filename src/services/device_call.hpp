#pragma once
// Requests whose buffer only a GPU can address (router/read/registered_memory.hpp), which the
// kernel would answer with EFAULT: reads and writes, and their vectors.
//
// Threading: any thread.

#include <cstdint>
#include <optional>

#include "services/request.hpp"

namespace k2k::services {

// True if a request with this number and row accepts such memory.
bool takes_device_memory(std::uint16_t number);

// pread and pwrite by the memory's reader; read, write and vectors as one call of the kernel
// through memory of the host. The count or a negative errno. Nothing: no such call, or no such
// memory.
std::optional<std::int64_t> device_call(const Request& request);

// One part of a read or write at the descriptor's own position, with RWF_ flags. Nothing: as above.
std::optional<std::int64_t> device_attempt(int descriptor, void* memory, std::uint64_t bytes,
                                           bool write, int flags);

}  // namespace k2k::services
