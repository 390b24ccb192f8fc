#pragma once
// The files and sockets of one attempt, and one round of its requests as device code.
//
// Threading: made by one thread; round() from any number of work-items.

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

#include "base/result.hpp"
#include "device/k2k.hpp"
#include "labs/interference/escapes/escapes.hpp"

namespace k2k::labs::escapes {

inline constexpr std::uint32_t items = 8;
inline constexpr std::size_t item_bytes = 256 << 10;  // Of buffer, and of file.
inline constexpr std::size_t datagram_bytes = 1400;
inline constexpr std::size_t mapping_bytes = 8 << 20;

struct Target {
  Deed deed{};
  int descriptor = -1;
  std::byte* buffers = nullptr;  // One of each work-item, aligned to pages.
  sockaddr_in address{};

  // The memory of a target stays until the process ends.
  static Result<Target> make(Deed deed);

  // The answer of the round's last request: a result or a negative errno.
  [[nodiscard]] long round(std::uint32_t item) const {
    std::byte* const buffer = buffers + item * item_bytes;
    const auto place = static_cast<std::int64_t>(item * item_bytes);
    switch (deed) {
      case Deed::sends:
        return k2k::sendto(k2k::work_item, k2k::halting, descriptor, buffer, datagram_bytes,
                           MSG_DONTWAIT, &address, sizeof(address));
      case Deed::dirty_pages: {
        const long count =
            k2k::pwrite(k2k::work_item, k2k::halting, descriptor, buffer, item_bytes, place);
        constexpr int write_back = 2;  // SYNC_FILE_RANGE_WRITE
        if (count < 0) return count;
        return by_number(SYS_sync_file_range, descriptor, place, item_bytes, write_back);
      }
      case Deed::direct_reads:
        return k2k::pread(k2k::work_item, k2k::halting, descriptor, buffer, item_bytes, place);
      case Deed::fsync: {
        const long count = k2k::pwrite(k2k::work_item, k2k::halting, descriptor, buffer, 1, place);
        return count < 0 ? count : long{k2k::fsync(k2k::work_item, k2k::halting, descriptor)};
      }
      case Deed::unmapping: {
        const k2k::Reply mapped = by_number(SYS_mmap, 0, mapping_bytes, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        return mapped.ok() ? long{by_number(SYS_munmap, long{mapped}, mapping_bytes)}
                           : long{mapped};
      }
      case Deed::urgent_calls:
        return k2k::getpid(k2k::work_item, k2k::halting | k2k::urgent);
      case Deed::ring_of_calls:
        return by_number(SYS_io_uring_setup, 8, 0);
      case Deed::child:
        return by_number(SYS_fork);
    }
    return -1;
  }

 private:
  template <class... Words>
  static k2k::Reply by_number(Words... words) {
    return k2k::syscall(k2k::work_item, k2k::strong | k2k::halting, words...);
  }
};

}  // namespace k2k::labs::escapes
