#pragma once
// Vectors of which pieces are memory that only a GPU can address, registered memory.
//
// Threading: any thread.

#include <sys/uio.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "services/request.hpp"

namespace k2k::router {
class Files;
}

namespace k2k::services {

// readv(2), writev(2) and their kin.
struct VectorForm {
  bool is_one = false;
  bool write = false;
  bool has_offset = false;
  bool has_flags = false;
};
VectorForm form_of(std::uint16_t number);

// The pieces of such a call, from wherever the request says that they are. Empty: they are not
// there, or are none.
std::vector<iovec> vector_of(std::uint64_t address, std::uint64_t count);

// readv(2), writev(2) and their kin, if a piece of the vector is such memory. The count or a
// negative errno. Nothing: no such call, or no such memory.
std::optional<std::int64_t> vector_call(const Request& request, router::Files& files);

}  // namespace k2k::services
