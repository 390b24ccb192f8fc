#include "services/positioned_read.hpp"

#include <cerrno>

#include "router/read/cached_read.hpp"
#include "services/raw.hpp"

namespace k2k::services {

std::int64_t try_pread(int descriptor, void* memory, std::uint64_t bytes, std::int64_t offset) {
  const std::int64_t count =
      router::CachedReads::of_process().pread(descriptor, memory, bytes, offset);
  if (count != -EOPNOTSUPP) return count;
  return raw(SYS_pread64, descriptor, memory, bytes, offset);
}

std::int64_t pread_without_waiting(const Request& request, router::FileReader* files) {
  const auto& word = request.arguments;
  const auto descriptor = static_cast<int>(word[0]);
  auto* const memory = reinterpret_cast<void*>(word[1]);
  const auto offset = static_cast<std::int64_t>(word[3]);
  if (files != nullptr) return files->try_pread(descriptor, memory, word[2], offset);
  return try_pread(descriptor, memory, word[2], offset);
}

void note_waited(std::uint16_t number) {
  if (number == SYS_pread64) router::CachedReads::of_process().note_waited();
}

}  // namespace k2k::services
