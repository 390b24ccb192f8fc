#pragma once
// A long read of a file by a work-group.
//
//   const long n = k2k::pread_together(fd, buffer, bytes, offset);
//
// pread() at the scope of a work-group is one request, and one service thread makes it: it copies
// the page cache, or fills a GPU's memory, no faster than one core and one stream of copies can.
// pread_together() is a request for each of several parts, made by as many work-items at the same
// time. Every item of the group calls it with the same arguments and gets the answer. If several
// groups read at the same time, their service threads are busy already, and one request each is
// faster (device_bench together).
//
// The answer is pread(2)'s: the bytes up to the first part that came short, 0 at the end of the
// file, a negative errno if nothing was read. Unlike one pread(2) it is several: a write to the
// file meanwhile may be seen in one part and not in another. A short answer is the end of the file
// or an error behind it; memory that is not registered is filled by as many requests as it takes.

#include <cstddef>
#include <cstdint>

#include "device/wrappers.hpp"

namespace k2k {

inline constexpr std::uint32_t long_read_parts_max = 8;
inline constexpr std::size_t long_read_part_min = std::size_t{1} << 20;

namespace device {

struct LongRead {
  std::int64_t answers[long_read_parts_max];
};

// Whole pages, so that two parts never share one.
K2K_HD constexpr std::size_t long_read_part(std::size_t bytes, std::uint32_t items) {
  const std::size_t most = items < long_read_parts_max ? items : long_read_parts_max;
  const std::size_t pages = (bytes / most + 4095) / 4096 * 4096;
  return pages < long_read_part_min ? long_read_part_min : pages + 4096;
}

K2K_DEVICE inline std::int64_t read_part(int fd, char* to, std::size_t bytes, std::int64_t offset) {
  std::size_t done = 0;
  while (done < bytes) {
    const long count = k2k::pread(work_item, fd, to + done, bytes - done,
                                  offset + static_cast<std::int64_t>(done));
    if (count < 0 && done == 0) return count;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return static_cast<std::int64_t>(done);
}

K2K_DEVICE inline long long_read_answer(const LongRead& read, std::size_t bytes, std::size_t part) {
  if (bytes == 0 || read.answers[0] < 0) return static_cast<long>(read.answers[0]);
  std::size_t sum = 0;
  for (std::uint32_t at = 0; sum < bytes; ++at) {
    const std::size_t wanted = bytes - at * part < part ? bytes - at * part : part;
    if (read.answers[at] < 0) break;
    sum += static_cast<std::size_t>(read.answers[at]);
    if (static_cast<std::size_t>(read.answers[at]) < wanted) break;
  }
  return static_cast<long>(sum);
}

}  // namespace device

}  // namespace k2k
