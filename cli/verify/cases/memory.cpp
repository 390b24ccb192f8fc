// The address space: the sandbox' mapping, and new mappings.

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "cli/verify/case.hpp"

namespace k2k::cli::verify {

namespace {

constexpr std::size_t page = 4096;

// The addresses of pages of the mapping.
Argument pages_at(std::uint64_t first, std::uint64_t second) {
  Argument pages = bytes(std::string(16, '\0'));
  pages.parts.push_back({0, mapping(first)});
  pages.parts.push_back({8, mapping(second)});
  return pages;
}

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

      {SYS_mremap,
       "shorter",
       {mapping(), number(4 * page), number(2 * page), number(0), number(0)}},
      {SYS_mremap, "a wrong flag", {mapping(), number(page), number(page), number(64), number(0)}},
      {SYS_mlock, "a page", {mapping(), number(page)}},
      {SYS_munlock, "a page", {mapping(), number(page)}},
      {SYS_mlockall, "a wrong flag", {number(99)}},
      {SYS_munlockall, "all", {}},
      {SYS_swapon, "no file", {path("absent"), number(0)}},
      {SYS_swapoff, "no file", {path("absent")}},
      {SYS_remap_file_pages,
       "with a protection",
       {mapping(), number(page), number(PROT_READ), number(0), number(0)}},
      {SYS_memfd_create, "a file", {text("name"), number(MFD_CLOEXEC)}, Answer::descriptor},
      {SYS_memfd_create, "a name that is too long", {text(std::string(300, 'n')), number(0)}},
      {SYS_memfd_create, "a wrong flag", {text("name"), number(0x40000000)}},
      {SYS_mlock2, "a page as it comes", {mapping(), number(page), number(MLOCK_ONFAULT)}},
      {SYS_mlock2, "a wrong flag", {mapping(), number(page), number(64)}},
      {SYS_pkey_mprotect,
       "without a key",
       {mapping(), number(page), number(PROT_READ), number(-1)}},
      {SYS_pkey_free, "no key", {number(99)}},
      {SYS_memfd_secret, "a wrong flag", {number(0x40000000)}},
      {SYS_mincore, "of two pages", {mapping(), number(2 * page), space(2)}},
      {SYS_mincore, "of a part of a page", {mapping(), number(page + 1), space(2)}},
      {SYS_mincore, "not at a page", {mapping(1), number(page), space(1)}},
      {SYS_mincore, "of nothing", {mapping(), number(0), space(1)}},
      {SYS_mbind,
       "as the system does",
       {mapping(), number(page), number(MPOL_DEFAULT), null(), number(0), number(0)}},
      {SYS_mbind,
       "to the first node",
       {mapping(), number(page), number(MPOL_BIND), structure(std::uint64_t{1}), number(65),
        number(0)}},
      {SYS_mbind,
       "in no way",
       {mapping(), number(page), number(99), structure(std::uint64_t{1}), number(65), number(0)}},
      {SYS_move_pages,
       "where they are",
       {number(0), number(2), pages_at(0, page), null(), space(8), number(0)}},
      {SYS_move_pages,
       "to a node that is absent",
       {number(0), number(2), pages_at(0, page), bytes(joined({bytes_of(999), bytes_of(999)})),
        space(8), number(MPOL_MF_MOVE)}},
      {SYS_move_pages,
       "in no way",
       {number(0), number(2), pages_at(0, page), null(), space(8), number(64)}},
      {SYS_process_vm_readv,
       "of this process",
       {number(::getpid()), vector_of({space(3), space(4)}), number(2), vector_at(mapping(), 7),
        number(1), number(0)}},
      {SYS_process_vm_readv,
       "more than there is room for",
       {number(::getpid()), vector_of({space(3)}), number(1), vector_at(mapping(), 7), number(1),
        number(0)}},
      {SYS_process_vm_readv,
       "of null",
       {number(::getpid()), vector_of({space(3)}), number(1), vector_at(null(), 7), number(1),
        number(0)}},
      {SYS_process_vm_readv,
       "with a flag",
       {number(::getpid()), vector_of({space(3)}), number(1), vector_at(mapping(), 7), number(1),
        number(1)}},
  };
}

}  // namespace k2k::cli::verify
