#pragma once
// Counters, checks of settings, planners and the cutting of requests, for the reader of all memory.
// The steps of a read: read_steps.hpp.
//
// Threading: Counters from any thread; the rest as its caller.

#include <fmt/format.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "router/file/open_files.hpp"
#include "router/plan/planner.hpp"
#include "router/read/execution.hpp"
#include "router/read/file_reader.hpp"

namespace k2k::router {

// A longer request is served in parts of this.
inline constexpr std::uint32_t part_pages = 4096;
inline constexpr std::size_t part_bytes = std::size_t{part_pages} * page_bytes;

// Threads add to them.
struct Counters {
  using Counter = std::atomic<std::uint64_t>;
  Counter reads{0}, writes{0}, unprobed{0}, probed{0}, mixed{0}, bytes_cache{0}, bytes_direct{0},
      fall_backs{0}, misaligned{0}, writes_direct{0};
};

inline void add(Counters::Counter& counter, std::uint64_t count) {
  counter.fetch_add(count, std::memory_order_relaxed);
}

// After a part was read by a plan: counts the outcome, and remembers in the file its conclusions.
inline void note(const Outcome& outcome, Counters& counters, OpenFile& file) {
  add(counters.mixed, 1);
  add(counters.bytes_cache, outcome.bytes_cache);
  add(counters.bytes_direct, outcome.bytes_direct);
  if (outcome.refused > 0) add(counters.fall_backs, outcome.refused);
  if (outcome.is_no_direct_file) file.refuse_direct();
  if (outcome.bytes_direct > 0) file.note_transfer();
}

// A planner for the parts of requests. Expects a model that costs_of() accepts.
inline Planner planner_of(const Model& model) {
  return Planner::create(model, part_pages + 1).value();
}
inline void plan_by(Planner& planner, const Model& model) {
  if (!(planner.model() == model)) planner = planner_of(model);
}

// The call itself, with these pieces: the count, or a negative errno.
inline ssize_t call_kernel(const WholeCall& call, std::span<const iovec> pieces) {
  const auto count = static_cast<int>(pieces.size());
  const off_t offset = call.offset.value_or(-1);
  const ssize_t moved = call.write
                            ? ::pwritev2(call.descriptor, pieces.data(), count, offset, call.flags)
                            : ::preadv2(call.descriptor, pieces.data(), count, offset, call.flags);
  return moved < 0 ? -errno : moved;
}

// The longest request of a stream that is left to read-ahead: longer ones are as fast by
// themselves, and leave the page cache to others. `file`: null if it has no direct transfers.
inline std::uint32_t streamed_max(const OpenFile* file, std::uint32_t read_ahead_bytes) {
  double bytes = read_ahead_bytes;
  if (file != nullptr) bytes = std::min(bytes, streamed_bytes_max(file->model()));
  return static_cast<std::uint32_t>(bytes);
}

// The answer to `whole`, of which `within` lies in the file according to fstat(2), `most` bytes at
// a time: by read_part() while the file has direct transfers, the rest by the page cache. A rest is
// left if direct transfers were refused meanwhile, or if the request goes beyond the end that
// fstat(2) reported, where Linux decides: the file may have grown, and a file of FUSE need not be
// as long as it reports.
template <class ReadPart, class Buffered>
ssize_t read_in_parts(const FileRequest& whole, const FileRequest& within, const OpenFile& file,
                      std::size_t most, ReadPart read_part, Buffered buffered) {
  std::size_t done = 0;
  while (done < within.bytes && file.direct() != nullptr) {
    const FileRequest part{within.descriptor, within.memory + done,
                           std::min(within.bytes - done, most), within.offset + done};
    const ssize_t count = read_part(part);
    if (count < 0) return done > 0 ? static_cast<ssize_t>(done) : count;
    done += static_cast<std::size_t>(count);
    if (static_cast<std::size_t>(count) < part.bytes) return static_cast<ssize_t>(done);
  }
  if (done == whole.bytes) return static_cast<ssize_t>(done);
  const ssize_t count = buffered(
      FileRequest{whole.descriptor, whole.memory + done, whole.bytes - done, whole.offset + done});
  if (count < 0 && done == 0) return count;
  return static_cast<ssize_t>(done) + std::max<ssize_t>(count, 0);
}

// A setting and its permitted range.
struct Range32 {
  const char* name;
  std::uint32_t value, least, most;
};

// EINVAL: the first that is out of its range.
inline Status check_ranges(std::span<const Range32> ranges) {
  for (const Range32& range : ranges) {
    if (range.value >= range.least && range.value <= range.most) continue;
    return Error{EINVAL, fmt::format("{} is {}; permitted are {} to {}", range.name, range.value,
                                     range.least, range.most)};
  }
  return {};
}

}  // namespace k2k::router
