#pragma once
// A transfer as one system call of the calling thread, and the checks that all engines share.
//
// Threading: from anywhere.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/result.hpp"
#include "io/engine/transfer.hpp"
#include "io/file/raw.hpp"

namespace k2k::io {

inline constexpr std::uint32_t outstanding_limit = 4096;

inline Status check_outstanding(std::uint32_t outstanding) {
  if (outstanding >= 1 && outstanding <= outstanding_limit) return {};
  return Error{EINVAL, fmt::format("transfers: {} outstanding at most: give 1 to {}", outstanding,
                                   outstanding_limit)};
}

// Beyond this Linux sees a negative offset; for some calls, -1 means the file's own position.
inline bool offset_fits(const Transfer& transfer) {
  return transfer.offset <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
}

inline Completion transfer_now(const Transfer& transfer) {
  const bool read = transfer.direction == Direction::read;
  std::int64_t moved = -EINTR;
  while (moved == -EINTR) {
    moved = raw(read ? SYS_pread64 : SYS_pwrite64, transfer.file, transfer.memory,
                std::min(transfer.bytes, transfer_bytes_max), transfer.offset);
  }
  return {transfer.tag, moved};
}

}  // namespace k2k::io
