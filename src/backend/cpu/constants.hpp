#pragma once
// The constants of kernels: on this device they are constants of the host program and of its
// libraries, such as texts in quotation marks.
//
// Threading: from anywhere; waits while another thread loads or unloads a library.

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace k2k::backend::cpu {

namespace detail {

struct Sought {
  std::uintptr_t first;
  std::size_t bytes;
};

inline int holds_constants(dl_phdr_info* loaded, std::size_t, void* sought) {
  const auto& [first, bytes] = *static_cast<const Sought*>(sought);
  for (int index = 0; index < loaded->dlpi_phnum; ++index) {
    const ElfW(Phdr)& segment = loaded->dlpi_phdr[index];
    const std::uintptr_t begin = loaded->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0 || first < begin) continue;
    const std::uintptr_t before = first - begin;
    if (before <= segment.p_memsz && bytes <= segment.p_memsz - before) return 1;
  }
  return 0;
}

}  // namespace detail

// Do all of these bytes lie in a segment, of a file that this process has loaded, that nothing may
// write?
inline bool are_constants(const void* address, std::size_t bytes) {
  detail::Sought sought{reinterpret_cast<std::uintptr_t>(address), bytes};
  return ::dl_iterate_phdr(detail::holds_constants, &sought) != 0;
}

}  // namespace k2k::backend::cpu
