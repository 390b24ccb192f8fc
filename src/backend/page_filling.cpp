#include "backend/page_filling.hpp"

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace k2k::backend {

namespace {

// Linux 5.14; an older Linux refuses it. <sys/mman.h> of Debian 12 has it.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

// Linux 6.8; an older one refuses it.
#ifndef UFFDIO_MOVE
struct uffdio_move {
  __u64 dst;
  __u64 src;
  __u64 len;
  __u64 mode;
  __s64 move;
};
#define UFFDIO_MOVE _IOWR(UFFDIO, 0x05, struct uffdio_move)
#define UFFDIO_MOVE_MODE_DONTWAKE (__u64{1} << 0)
#endif

constexpr std::size_t zeros_bytes = std::size_t{64} << 10;
// mmap_changing of Linux: another thread of the process changes its address space.
constexpr int busy_tries_max = 1000;

// Mapped by the first call, so that libk2k.so does not bring them into every program. Null if Linux
// refuses: then pages become the shared zero page, and fault once more at the first write.
const std::byte* zeros() {
  static const std::byte* const mapped = [] {
    void* const pages =
        ::mmap(nullptr, zeros_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return pages == MAP_FAILED ? nullptr : static_cast<const std::byte*>(pages);
  }();
  return mapped;
}

}  // namespace

Populated place_pages(int faults, std::uintptr_t to, const std::byte* source, std::size_t bytes) {
  Populated done;
  for (int tries = 0; done.bytes < bytes;) {
    std::int64_t placed = 0;
    if (source != nullptr) {
      uffdio_copy copy{};
      copy.dst = to + done.bytes;
      copy.src = reinterpret_cast<std::uint64_t>(source + done.bytes);
      copy.len = bytes - done.bytes;
      copy.mode = UFFDIO_COPY_MODE_DONTWAKE;  // In SIGBUS mode no thread sleeps.
      ::ioctl(faults, UFFDIO_COPY, &copy);
      placed = copy.copy;
    } else {
      uffdio_zeropage zero{};
      zero.range = {to + done.bytes, bytes - done.bytes};
      zero.mode = UFFDIO_ZEROPAGE_MODE_DONTWAKE;
      ::ioctl(faults, UFFDIO_ZEROPAGE, &zero);
      placed = zero.zeropage;
    }
    const int error = errno;
    if (placed > 0) {
      done.bytes += static_cast<std::size_t>(placed);
      done.placed_bytes += static_cast<std::size_t>(placed);
      tries = 0;
    } else if (error == EEXIST) {
      done.bytes += demand_page_bytes;  // Another thread was faster: success.
    } else if (error != EAGAIN || ++tries == busy_tries_max) {
      done.error = error;
      return done;
    }
  }
  return done;
}

Populated place_zeros(int faults, std::uintptr_t to, std::size_t bytes, PageAccess access) {
  // The shared zero page would fault once more at the first write.
  if (access == PageAccess::read) return place_pages(faults, to, nullptr, bytes);
  Populated done;
  while (done.bytes < bytes) {
    const std::size_t part = std::min(bytes - done.bytes, zeros_bytes);
    const Populated placed = place_pages(faults, to + done.bytes, zeros(), part);
    done.bytes += placed.bytes;
    done.placed_bytes += placed.placed_bytes;
    done.error = placed.error;
    if (placed.error != 0) break;
  }
  return done;
}

// How many of `bytes` from `from` on are in memory, up to the first page that is not.
std::size_t resident_bytes(const std::byte* from, std::size_t bytes) {
  const std::uintptr_t first =
      reinterpret_cast<std::uintptr_t>(from) / demand_page_bytes * demand_page_bytes;
  const std::size_t before = reinterpret_cast<std::uintptr_t>(from) - first;
  unsigned char resident[residency_pages];
  for (std::size_t done = 0; done < before + bytes;) {
    const std::size_t part = std::min(before + bytes - done, residency_pages * demand_page_bytes);
    if (::mincore(reinterpret_cast<void*>(first + done), part, resident) != 0) return bytes;
    const std::size_t count = (part + demand_page_bytes - 1) / demand_page_bytes;
    for (std::size_t page = 0; page < count; ++page, done += demand_page_bytes) {
      if ((resident[page] & 1) != 0) continue;
      // Whole pages of the region.
      return done <= before ? 0 : (done - before) / demand_page_bytes * demand_page_bytes;
    }
  }
  return bytes;
}

void bring_into_memory(const std::byte* from, std::size_t bytes) {
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(from);
  const std::uintptr_t first = begin / demand_page_bytes * demand_page_bytes;
  static_cast<void>(
      ::madvise(reinterpret_cast<void*>(first), begin + bytes - first, MADV_POPULATE_READ));
}

namespace {

// The number of bytes read, and why not all: 0 at the file's end.
std::size_t read_bytes(int file, std::int64_t offset, std::span<std::byte> to, Reading reading,
                       int& error) {
  const int flags = reading == Reading::cached_only ? RWF_NOWAIT : 0;
  std::size_t done = 0;
  error = 0;
  while (done < to.size()) {
    iovec part{to.data() + done, to.size() - done};
    const ssize_t count =
        ::preadv2(file, &part, 1, offset + static_cast<std::int64_t>(done), flags);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) error = errno == EOPNOTSUPP ? EAGAIN : errno;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

}  // namespace

// Reads whole pages from a file, rounded up to a page with zeros at the file's end.
Populated read_pages(int file, std::int64_t offset, std::span<std::byte> to, Reading reading) {
  int error = 0;
  const std::size_t done = read_bytes(file, offset, to, reading, error);
  const std::size_t whole = done / demand_page_bytes * demand_page_bytes;
  if (error != 0 || done == to.size()) return {whole, error, 0};
  // The end of the file.
  const std::size_t rounded =
      (done + demand_page_bytes - 1) / demand_page_bytes * demand_page_bytes;
  std::memset(to.data() + done, 0, rounded - done);
  return {rounded, rounded == to.size() ? 0 : ENXIO, 0};
}

int read_page(int file, std::int64_t offset, std::span<std::byte> page, Reading reading) {
  int error = 0;
  const std::size_t done = read_bytes(file, offset, page, reading, error);
  if (error != 0) return error;
  if (done == 0) return ENXIO;
  // An earlier attempt may have read more: the file may have become shorter since.
  std::memset(page.data() + done, 0, page.size() - done);
  return 0;
}

int copy_page(const std::byte* source, std::span<std::byte> page, Reading reading) {
  if (reading == Reading::blocking) {
    bring_into_memory(source, page.size());
  } else if (resident_bytes(source, page.size()) != page.size()) {
    return EAGAIN;
  }
  // A plain copy would be a signal where the program's memory is gone.
  const iovec to{page.data(), page.size()};
  const iovec from{const_cast<std::byte*>(source), page.size()};
  const ssize_t count = ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0);
  if (count < 0) return errno;
  return static_cast<std::size_t>(count) == page.size() ? 0 : EFAULT;
}

LargePage::LargePage() noexcept
    : mapping_(::mmap(nullptr, 2 * large_page_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  if (mapping_ == MAP_FAILED) {
    error_ = errno;
    return;
  }
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(mapping_);
  page_ = reinterpret_cast<std::byte*>((begin + large_page_bytes - 1) / large_page_bytes *
                                       large_page_bytes);
  ::madvise(page_, large_page_bytes, MADV_HUGEPAGE);
  ::madvise(page_, large_page_bytes, MADV_DONTFORK);  // A page that a child shares is not moved.
  // Before anything is written: an error instead of a signal.
  if (::madvise(page_, large_page_bytes, MADV_POPULATE_WRITE) == 0 || errno == EINVAL) return;
  error_ = errno == EFAULT ? ENOMEM : errno;
}

LargePage::~LargePage() {
  if (mapping_ != MAP_FAILED) ::munmap(mapping_, 2 * large_page_bytes);
}

Populated LargePage::place(int faults, std::uintptr_t to) {
  std::size_t done = 0;
  bool first = false;
  for (int tries = 0; done < large_page_bytes;) {
    uffdio_move move{};
    move.dst = to + done;
    move.src = reinterpret_cast<std::uint64_t>(page_ + done);
    move.len = large_page_bytes - done;
    move.mode = UFFDIO_MOVE_MODE_DONTWAKE;
    ::ioctl(faults, UFFDIO_MOVE, &move);
    const int error = errno;
    if (move.move > 0) {
      first = first || done == 0;
      done += static_cast<std::size_t>(move.move);
      tries = 0;
    } else if (error == EEXIST) {
      done += demand_page_bytes;  // Another thread was faster: success.
    } else if (error != EAGAIN || ++tries == busy_tries_max) {
      // An older Linux, or pages that it cannot move: the first of the rest, then all others.
      for (const std::size_t part : {demand_page_bytes, large_page_bytes}) {
        const std::size_t bytes = std::min(part, large_page_bytes - done);
        const Populated copied = place_pages(faults, to + done, page_ + done, bytes);
        if (copied.error != 0) return {done + copied.bytes, copied.error, 0};
        first = first || (done == 0 && copied.placed_bytes != 0);
        done += bytes;
      }
    }
  }
  return {done, 0, first ? large_page_bytes : 0};
}

void* map_pages(std::size_t bytes, std::size_t page_bytes) {
  const std::size_t more = page_bytes == demand_page_bytes ? 0 : page_bytes;
  if (bytes + more < bytes) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void* const mapping = ::mmap(nullptr, bytes + more, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED || more == 0) return mapping;
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping);
  const std::uintptr_t first = (begin + page_bytes - 1) / page_bytes * page_bytes;
  if (first != begin) ::munmap(mapping, first - begin);
  const std::size_t rest = begin + more - first;
  if (rest != 0) ::munmap(reinterpret_cast<void*>(first + bytes), rest);
  return reinterpret_cast<void*>(first);
}

}  // namespace k2k::backend
