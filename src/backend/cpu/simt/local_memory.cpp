// Local memory of a work-group: the same address for the same tag, zeroed per group.
//
// Threading: the unit's thread. The bytes were zeroed when the group was admitted.

#include <cerrno>

#include "backend/cpu/fibre/sanitizers.hpp"
#include "backend/cpu/simt/unit.hpp"

namespace k2k::backend::cpu {

void zero_fresh(std::byte* memory, std::size_t bytes) {
#if defined(K2K_TSAN)
  // New pages: their users are remembered by address, and these begin without a past.
  mmap(memory, round_up(bytes, page_bytes), PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
#else
  __builtin_memset(memory, 0, bytes);
#endif
}

void* Unit::local_memory(WorkItem& me, const void* tag, std::size_t bytes,
                         std::size_t alignment) noexcept {
  Group& group = *me.group;
  for (std::uint32_t index = 0; index < group.local_variables; ++index) {
    if (group.variables[index].tag == tag) return group.variables[index].memory;
  }
  const std::size_t limit = variables_begin + plan_.config.local_bytes;
  std::size_t begin = round_up(group.local_used, alignment == 0 ? 1 : alignment);
  const std::size_t needed = begin + bytes - variables_begin;
  // From its own page on, if there is room.
  const std::size_t page = round_up(begin, page_bytes);
  if (bytes >= page_bytes && bytes <= limit && page <= limit - bytes) begin = page;
  if (alignment > page_bytes || group.local_variables == local_variables_max) {
    launch_.fail(EINVAL,
                 "kernel '%s': a work-group has at most %u local variables, aligned to at most "
                 "%zu bytes",
                 launch_.name, local_variables_max, page_bytes);
  } else if (bytes > plan_.config.local_bytes || needed > plan_.config.local_bytes) {
    launch_.fail(EINVAL,
                 "kernel '%s': work-group needs %zu bytes of local memory, device.local_bytes is "
                 "%u",
                 launch_.name, needed, plan_.config.local_bytes);
  } else {
    std::byte* const memory = group.local + begin;
    group.variables[group.local_variables++] = {tag, memory};
    group.local_used = begin + bytes;
    return memory;
  }
  while (true) turns().yield(me);  // The launch has failed: the scheduler never comes back here.
}

}  // namespace k2k::backend::cpu
