// The address space: the sandbox' mapping, and new mappings.

#include <sys/mman.h>

#include "cli/verify/case.hpp"

namespace k2k::cli::verify {

namespace {

constexpr std::size_t page = 4096;

}  // namespace

std::vector<Case> memory_cases() {
  return {
      {SYS_mmap,
       "zeros",
       {null(), number(page), number(PROT_READ | PROT_WRITE), number(MAP_PRIVATE | MAP_ANONYMOUS),
        number(-1), number(0)},
       Answer::address},
      {SYS_mmap,
       "a file",
       {null(), number(page), number(PROT_READ), number(MAP_PRIVATE), object(Object::file),
        number(0)},
       Answer::address},
      {SYS_mmap,
       "nothing",
       {null(), number(0), number(PROT_READ), number(MAP_PRIVATE), object(Object::file),
        number(0)}},
      {SYS_mprotect, "against writing", {mapping(), number(page), number(PROT_READ)}},
      {SYS_mprotect, "from within a page", {mapping(8), number(page), number(PROT_READ)}},
      {SYS_munmap, "a page", {mapping(page), number(page)}},
      {SYS_munmap, "nothing", {mapping(), number(0)}},
      {SYS_msync, "a page", {mapping(), number(page), number(MS_ASYNC)}},
      {SYS_msync, "in two ways", {mapping(), number(page), number(MS_ASYNC | MS_SYNC)}},
      {SYS_madvise, "not needed", {mapping(), number(2 * page), number(MADV_DONTNEED)}},
      {SYS_madvise, "no advice", {mapping(), number(page), number(999)}},
  };
}

}  // namespace k2k::cli::verify
