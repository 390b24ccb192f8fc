#include "services/routed_read.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "router/readable.hpp"

namespace k2k::services {

namespace {

// Of files with the same remainder of their inodes' numbers.
std::array<std::mutex, 64> positions;

}  // namespace

std::optional<std::int64_t> routed_read(const Request& request, router::FileReader& files) {
  const std::uint64_t wanted = request.arguments[2];
  if (request.number != SYS_read || wanted < routed_read_bytes_min) return {};
  const auto descriptor = static_cast<int>(request.arguments[0]);
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return {};
  if (!router::can_be_read(descriptor)) return {};
  const std::lock_guard lock(positions[status.st_ino % positions.size()]);
  // A file of /proc says that it is empty.
  const off_t position = ::lseek(descriptor, 0, SEEK_CUR);
  const off_t left = position < 0 ? 0 : status.st_size - position;
  if (left < static_cast<off_t>(routed_read_bytes_min)) return {};
  const auto bytes = static_cast<off_t>(std::min(wanted, static_cast<std::uint64_t>(left)));
  const off_t end = ::lseek(descriptor, bytes, SEEK_CUR);
  if (end < bytes) return {};
  const std::int64_t count = files.pread(descriptor, reinterpret_cast<void*>(request.arguments[1]),
                                         static_cast<std::size_t>(bytes), end - bytes);
  const off_t used = std::max<off_t>(count, 0);
  if (used < bytes) ::lseek(descriptor, used - bytes, SEEK_CUR);
  return count;
}

}  // namespace k2k::services
