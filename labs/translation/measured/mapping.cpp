#include "labs/translation/measured/mapping.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace k2k::labs::translation {

Result<Mapping> Mapping::create(std::size_t bytes, int protection, int flags, int file) {
  void* const data = ::mmap(nullptr, bytes, protection, flags, file, 0);
  if (data == MAP_FAILED) {
    const int error = errno;
    return Error{error, fmt::format("cannot map {} bytes ({}); free memory, or measure fewer pages",
                                    bytes, std::strerror(error))};
  }
  return Mapping(static_cast<char*>(data), bytes);
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Result<Mapping> anonymous(std::size_t bytes, int flags) {
  return Mapping::create(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1);
}

}  // namespace k2k::labs::translation
