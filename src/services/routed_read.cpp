#include "services/routed_read.hpp"

#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>

#include "router/file/readable.hpp"
#include "router/read/registered_memory.hpp"
#include "services/raw.hpp"

namespace k2k::services {

namespace {

// Of files with the same remainder of their inodes' numbers.
std::array<std::mutex, 64> positions;

// Held while a disk is waited for: in a child the parent's threads, which held them, are not.
void renew_positions() {
  for (std::mutex& position : positions) new (&position) std::mutex;
}
[[maybe_unused]] const int registered = ::pthread_atfork(nullptr, nullptr, renew_positions);

// A range that was taken back meanwhile is the kernel's to refuse.
std::int64_t read_at(router::FileReader* files, int descriptor, void* memory, off_t bytes,
                     off_t offset, Patience patience) {
  const auto count = static_cast<std::size_t>(bytes);
  if (patience == Patience::none && files != nullptr &&
      !router::RegisteredMemory::of_process().near(memory)) {
    return files->try_pread(descriptor, memory, count, offset);
  }
  if (const auto answer =
          router::RegisteredMemory::of_process().pread(descriptor, memory, count, offset)) {
    return *answer;
  }
  if (files != nullptr) return files->pread(descriptor, memory, count, offset);
  return raw(SYS_pread64, descriptor, memory, count, offset);
}

}  // namespace

std::optional<std::int64_t> routed_read(const Request& request, router::FileReader* files,
                                        Patience patience) {
  const std::uint64_t wanted = request.arguments[2];
  if (request.number != SYS_read || wanted < routed_read_bytes_min) return {};
  auto* const memory = reinterpret_cast<void*>(request.arguments[1]);
  router::RegisteredMemory& registered = router::RegisteredMemory::of_process();
  if (files == nullptr && !registered.holds(memory, wanted)) return {};
  if (registered.cuts(memory, wanted)) return {};  // EFAULT, however much the file has.
  const auto descriptor = static_cast<int>(request.arguments[0]);
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return {};
  if (!router::can_be_read(descriptor)) return {};
  std::unique_lock lock(positions[status.st_ino % positions.size()], std::defer_lock);
  if (patience == Patience::endless) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return -EAGAIN;  // Who has it may be waiting for a disk.
  }
  // A file of /proc says that it is empty.
  const off_t position = ::lseek(descriptor, 0, SEEK_CUR);
  const off_t left = position < 0 ? 0 : status.st_size - position;
  if (left < static_cast<off_t>(routed_read_bytes_min)) return {};
  const auto bytes = static_cast<off_t>(std::min(wanted, static_cast<std::uint64_t>(left)));
  const off_t end = ::lseek(descriptor, bytes, SEEK_CUR);
  if (end < bytes) return {};
  const std::int64_t count = read_at(files, descriptor, memory, bytes, end - bytes, patience);
  const off_t used = std::max<off_t>(count, 0);
  if (used < bytes) ::lseek(descriptor, used - bytes, SEEK_CUR);
  return count;
}

}  // namespace k2k::services
