#include "host/proc_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace k2k::host {

Result<ProcFile> ProcFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) return ProcFile(descriptor, path);
  const int error = errno;
  return Error{error, fmt::format("cannot open {}: {}", path, std::strerror(error))};
}

Result<std::string_view> ProcFile::read(std::span<char> buffer) const {
  const ssize_t count = ::pread(descriptor_.number(), buffer.data(), buffer.size(), 0);
  if (count > 0) return std::string_view(buffer.data(), static_cast<std::size_t>(count));
  const int error = count < 0 ? errno : ENODATA;
  return Error{error, fmt::format("cannot read {}: {}", path_, std::strerror(error))};
}

}  // namespace k2k::host
