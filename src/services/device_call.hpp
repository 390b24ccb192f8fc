#pragma once
// Vectors of which pieces are memory that only a GPU can address, registered memory.
//
// Threading: any thread.

#include <cstdint>
#include <optional>

#include "services/request.hpp"

namespace k2k::router {
class Files;
}

namespace k2k::services {

// readv(2), writev(2) and their kin, if a piece of the vector is such memory. The count or a
// negative errno. Nothing: no such call, or no such memory.
std::optional<std::int64_t> vector_call(const Request& request, router::Files& files);

}  // namespace k2k::services
