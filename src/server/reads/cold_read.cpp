#include "server/reads/cold_read.hpp"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <span>

#include "backend/demand_pages.hpp"
#include "io/file/page_range.hpp"

namespace k2k::server {

namespace {

constexpr decltype(statfs::f_type) xfs_magic = 0x58465342;  // No public header of Linux defines it.

// Returns true if Linux completes buffered reads of this file system when their pages arrive
// (FMODE_BUF_RASYNC, FOP_BUFFER_RASYNC). No call reports this; the listed file systems do so since
// Linux 5.9.
bool completes_reads(int descriptor) {
  struct statfs facts{};
  if (::fstatfs(descriptor, &facts) != 0) return false;
  return facts.f_type == EXT4_SUPER_MAGIC || facts.f_type == xfs_magic ||
         facts.f_type == BTRFS_SUPER_MAGIC;
}

// The number of the read's bytes that the file contains.
std::size_t bytes_in_file(const ColdRead& read) {
  struct stat facts{};
  if (::fstat(read.descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) return read.bytes;
  const auto end = static_cast<std::uint64_t>(facts.st_size);
  return read.offset < end ? std::min<std::uint64_t>(read.bytes, end - read.offset) : 0;
}

// Returns true if all of this memory is resident. A missing page may be on a disk, or come from a
// program that answers page faults (userfaultfd(2)).
bool is_resident(std::byte* memory, std::size_t bytes) {
  std::array<unsigned char, ring_read_bytes_max / io::page_bytes + 1> seen;
  const std::size_t ahead = reinterpret_cast<std::uintptr_t>(memory) % io::page_bytes;
  const std::size_t pages = (ahead + bytes + io::page_bytes - 1) / io::page_bytes;
  return ::mincore(memory - ahead, pages * io::page_bytes, seen.data()) == 0 &&
         std::ranges::all_of(std::span(seen).first(pages),
                             [](unsigned char page) { return (page & 1) != 0; });
}

}  // namespace

bool suits_a_ring(const services::Request& request, const router::Files& files) {
  if (request.number != SYS_pread64 || backend::any_region()) return false;
  const ColdRead read = cold_read_of(request);
  return read.bytes <= ring_read_bytes_max &&
         files.is_plain(read.descriptor, read.memory, read.bytes,
                        static_cast<std::int64_t>(read.offset)) &&
         completes_reads(read.descriptor) && is_resident(read.memory, bytes_in_file(read));
}

}  // namespace k2k::server
