#pragma once
// Requests that accept memory which only a GPU can address, registered memory: reads and writes,
// and their vectors.
//
// Threading: any thread.

#include <cstdint>
#include <optional>

#include "services/request.hpp"

namespace k2k::router {
class Files;
}

namespace k2k::services {

// True if a request with this number and row accepts such memory.
bool takes_device_memory(std::uint16_t number);

// readv(2), writev(2) and their kin, if a piece of the vector is such memory. The count or a
// negative errno. Nothing: no such call, or no such memory.
std::optional<std::int64_t> vector_call(const Request& request, router::Files& files);

}  // namespace k2k::services
