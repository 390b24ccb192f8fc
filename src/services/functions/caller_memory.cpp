#include "services/functions/caller_memory.hpp"

#include <sys/mman.h>

#include <cerrno>

namespace k2k::services {

namespace {

constexpr std::uint64_t page_bytes = 4096;

}  // namespace

bool CallerMemory::in_arena(std::uint64_t address, std::uint64_t bytes) const {
  const protocol::AreaView& area = backend_->area();
  const auto begin = reinterpret_cast<std::uint64_t>(area.arena);
  const std::uint64_t all = std::uint64_t{area.arena_blocks} * protocol::arena_block_bytes;
  return address >= begin && bytes <= all && address - begin <= all - bytes;
}

bool CallerMemory::is_mapped(std::uint64_t address, std::uint64_t bytes,
                             backend::PageAccess access) const {
  const std::uint64_t first = address & ~(page_bytes - 1);
  const std::uint64_t last = (address + bytes + page_bytes - 1) & ~(page_bytes - 1);
  const int advice =
      access == backend::PageAccess::write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
  if (::madvise(reinterpret_cast<void*>(first), last - first, advice) == 0) return true;
  if (errno == EINVAL) return !of_host_;
  return errno != ENOMEM && errno != EFAULT;  // EPERM: a filter refuses the question.
}

std::int64_t CallerMemory::reach(std::uint64_t address, std::uint64_t bytes,
                                 backend::PageAccess access, backend::Reading reading) const {
  if (bytes == 0 || in_arena(address, bytes)) return 0;
  constexpr std::uint64_t address_max = UINT64_MAX - page_bytes;
  if (address > address_max || bytes > address_max - address) return -EFAULT;  // It would wrap.
  if (!backend_->host_may_access(reinterpret_cast<const void*>(address), bytes)) return -EFAULT;
  const bool only_read = access == backend::PageAccess::read;
  if (permits_ && !permits_(address, bytes, only_read)) return -EFAULT;
  if (backend::any_region()) {
    const int error = backend::populate_missing(address, bytes, access, reading);
    if (error != 0) return error == EAGAIN ? -EAGAIN : -EFAULT;
  }
  return is_mapped(address, bytes, access) ? 0 : -EFAULT;
}

}  // namespace k2k::services
