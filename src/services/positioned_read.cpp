#include "services/positioned_read.hpp"

#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>

#include "services/raw.hpp"

namespace k2k::services {

namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t transfer_bytes_max = 0x7ffff000;  // What one call moves at most.

std::int64_t attempt(int descriptor, void* memory, std::uint64_t bytes, std::int64_t offset) {
  const iovec part{memory, bytes};
  return raw(SYS_preadv2, static_cast<long>(descriptor), &part, 1l, offset, 0l, long{RWF_NOWAIT});
}

}  // namespace

std::int64_t try_pread(int descriptor, void* memory, std::uint64_t bytes, std::int64_t offset) {
  const auto plain = [&] { return raw(SYS_pread64, descriptor, memory, bytes, offset); };
  if (offset < 0) return plain();  // To preadv2 that may be a place: the file's own.
  const std::int64_t count = attempt(descriptor, memory, bytes, offset);
  if (count == static_cast<std::int64_t>(std::min(bytes, transfer_bytes_max))) return count;
  if (count < 0) return count == -EOPNOTSUPP || count == -ENOSYS ? plain() : count;
  // Where the page cache ends, a page does; where the file does, mostly none.
  const std::uint64_t end = static_cast<std::uint64_t>(offset) + static_cast<std::uint64_t>(count);
  if (count == 0 || end % page_bytes != 0) return count;
  struct stat facts{};
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) return count;
  return end >= static_cast<std::uint64_t>(facts.st_size) ? count : -EAGAIN;
}

std::int64_t pread_without_waiting(const Request& request, router::FileReader* files) {
  const auto& word = request.arguments;
  const auto descriptor = static_cast<int>(word[0]);
  auto* const memory = reinterpret_cast<void*>(word[1]);
  const auto offset = static_cast<std::int64_t>(word[3]);
  if (files != nullptr) return files->try_pread(descriptor, memory, word[2], offset);
  return try_pread(descriptor, memory, word[2], offset);
}

}  // namespace k2k::services
