#pragma once
// A work-group counts the strings of one file: it opens, reads and closes the file by calls of its
// own, with blocking and weak order (thesis, section 3.8.3: the best manner for this program).
//
//   pread       its broadcast holds all items until the next chunk has arrived
//   barrier A   if the chunk is copied into device memory: all items have copied their parts
//   barrier B   all items have counted; the text may be overwritten
//
// `How` makes the calls: Wrapped by K2K, or direct.hpp's by libc.
//
// Threading: device code; every item of a group calls count_files().

#include "apps/common/wide_copy.hpp"
#include "apps/grep/bytes.hpp"
#include "apps/wordcount/counter.hpp"
#include "apps/wordcount/job.hpp"
#include "device/k2k.hpp"

namespace k2k::wordcount {

// O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, as x86-64 has them: a pipe must not hold the group.
inline constexpr int open_flags = 0400 | 04000 | 02000000;

struct Wrapped {
  K2K_DEVICE static long open(const char* path) {
    return k2k::open(k2k::work_group, path, open_flags);
  }
  K2K_DEVICE static long pread(int fd, void* buffer, std::size_t bytes, std::int64_t offset) {
    return k2k::pread(k2k::work_group, k2k::relaxed, fd, buffer, bytes, offset);
  }
  K2K_DEVICE static void close(int fd) { k2k::close(k2k::work_group, k2k::relaxed, fd); }
};

struct Meeting {
  std::uint32_t file;
};

// This group's share of the job.
struct GroupPlace {
  K2K_DEVICE explicit GroupPlace(const Job& job)
      : text(job.texts + job.text_bytes * k2k::group_rank()),
        incoming(job.incoming + job.incoming_bytes * k2k::group_rank()),
        counts(job.counts + std::size_t{job.strings} * k2k::group_rank()),
        bytes(job.bytes + k2k::group_rank()) {}

  unsigned char* const text;  // The chunk; the bytes that were carried over precede it.
  unsigned char* const incoming;
  std::uint64_t* const counts;
  std::uint64_t* const bytes;
};

// Every item counts a part of the text: `kept` bytes that were carried over, and a chunk of `got`.
K2K_SHARED_CODE K2K_DEVICE inline void count_text(const Job& job, const GroupPlace& place,
                                                  std::size_t got, std::size_t kept) {
  if (place.incoming != place.text) {
    apps::copy_wide(place.text, place.incoming, got, k2k::item_rank(), k2k::group_size());
    k2k::barrier();  // A
  }
  const std::size_t size = kept + got;
  const std::size_t share = size / k2k::group_size() + 1;
  const std::size_t part = share < job.part_bytes_min ? job.part_bytes_min : share;
  const std::size_t begin = part * k2k::item_rank();
  if (begin >= size) return;
  count_strings(job.words, {place.text - kept, size, begin, begin + part}, kept,
                [&](std::uint32_t string) {
                  k2k::AtomicRef(place.counts[job.slots[string]])
                      .fetch_add(1, k2k::memory_order_relaxed, k2k::memory_scope_work_group);
                });
}

// Moves the last `kept` bytes of the text, whose chunk has `got` bytes, to before the next chunk.
// Item 0, after a barrier.
K2K_DEVICE inline void carry(const GroupPlace& place, std::size_t got, std::size_t kept) {
  grep::move_down(place.text - kept, place.text + got - kept, kept);
}

K2K_DEVICE inline std::uint32_t take_file(const Job& job) {
  return k2k::AtomicRef(*job.next).fetch_add(1, k2k::memory_order_relaxed);
}

template <class How>
K2K_DEVICE inline void count_file(const Job& job, const GroupPlace& place, std::uint32_t file) {
  const bool first = k2k::item_rank() == 0;
  const long fd = How::open(job.paths[file]);
  if (fd < 0) {
    if (first) job.errors[file] = static_cast<std::int32_t>(-fd);
    return;
  }
  std::size_t kept = 0;
  std::int64_t offset = 0;
  while (true) {
    const long got = How::pread(static_cast<int>(fd), place.incoming, job.chunk_bytes, offset);
    if (got < 0 && first) job.errors[file] = static_cast<std::int32_t>(-got);
    if (got <= 0) break;
    offset += got;
    const auto chunk = static_cast<std::size_t>(got);
    count_text(job, place, chunk, kept);
    if (first) *place.bytes += static_cast<std::uint64_t>(got);
    k2k::barrier();                                       // B
    if (got < static_cast<long>(job.chunk_bytes)) break;  // Regular files only: the end.
    kept = carried(kept + chunk, job.longest_kept);
    if (first) carry(place, chunk, kept);
  }
  How::close(static_cast<int>(fd));
}

template <class How>
K2K_DEVICE inline void count_files(const Job& job) {
  K2K_LOCAL(Meeting, meeting);
  const GroupPlace place(job);
  while (true) {
    if (k2k::item_rank() == 0) meeting.file = take_file(job);
    k2k::barrier();
    const std::uint32_t file = meeting.file;
    if (file >= job.files) return;
    count_file<How>(job, place, file);
    k2k::barrier();  // Every item has read `meeting`.
  }
}

}  // namespace k2k::wordcount
