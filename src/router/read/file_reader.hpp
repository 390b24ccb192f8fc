#pragma once
// pread(2) and pwrite(2) for memory of the device: each request by the fastest mix of page cache
// and direct transfers, with the answers that the kernel would give.
//
//   of a file that is outside (expectation.hpp), and up to trial_bytes      pread, whose time tells
//   of one of small_file_bytes at most                                      pread
//   below unprobed_bytes, or all of the descriptor's last requests cached   pread, unprobed
//   nothing of the descriptor's last requests cached                        directly, unprobed
//   of a sequential stream                                                  pread, read ahead for
//                                                                           it (prefetch.hpp)
//   below read_ahead_bytes and going on where the last one ended            pread: the kernel reads
//                                                                           ahead
//   else                                                                    probe the residency,
//                                                                           plan, run
//                                                                           (execution.hpp)
//
// A write is one kernel call, through the page cache: split, it could be seen half done.
// ReaderConfig::exclusive permits more, for files that no other program uses (writes.hpp).
//
// Threading: any thread. Requests share channels (engine, planner, scratch), one each for its time.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/result.hpp"
#include "router/ahead/read_ahead_limits.hpp"
#include "router/plan/model.hpp"
#include "router/read/reader_stats.hpp"

namespace k2k::router {

// What the product is set to. A twin, its probe and its entry take 10 to 40 us: of a file that is
// read once, direct transfers win as much from 128 KiB on; a cold read of 256 KiB that is tried by
// the page cache loses a tenth of a millisecond, once a file.
// Requests below are not probed: what serving them costs is most of their time.
inline constexpr std::uint32_t unprobed_bytes_default = 16 * 1024;
inline constexpr std::uint32_t small_file_bytes_default = 128 * 1024;
inline constexpr std::uint32_t trial_bytes_default = 256 * 1024;

struct ReaderConfig {
  // Of the files' device, where model_of does not know better.
  Model model{.call_us = 80, .cutoff_bytes = 64 * 1024, .direct_gbs = 2.5, .cache_gbs = 8};
  // Asked once a device: what is known of the one behind a descriptor. A model that costs_of()
  // refuses counts as unknown.
  std::function<std::optional<Model>(int descriptor)> model_of{};
  // Requests in progress; others wait 20 ms at most, and come by pread. 1 to 256.
  std::uint32_t channels_max = 16;
  std::uint32_t outstanding = 64;       // Direct transfers of one of them. 1 to 4096.
  std::uint32_t unprobed_bytes = 4096;  // Requests below are not probed.
  // Files of this length at most are left to the page cache.
  std::uint32_t small_file_bytes = 0;
  // Requests of this length at most are plain reads while their file is outside; longer ones are
  // probed. 0: every file is entered at its first request. Where read-ahead is bounded
  // everywhere (partition_pages without partition_where_free), each file that is not small is, too:
  // the read-ahead cache would not track what the kernel reads ahead of a plain read.
  std::uint32_t trial_bytes = 0;
  std::uint32_t read_ahead_bytes =
      512 * 1024;                 // What the kernel reads ahead of a sequential reader.
  std::uint32_t grain_pages = 8;  // Stretches in which residency is probed. 1 to 4096.
  // So much may be in the page cache only because it was read ahead; what is more is evicted. 0:
  // the kernel reads ahead as it likes, and nothing is evicted. Up to read_ahead_pages_max.
  std::uint32_t partition_pages = 0;
  // Streams whose windows, the kernel's own, do not fit into that: in smaller windows and slower
  // (false), or as if it were 0.
  bool partition_where_free = false;
  // While a request writes, nobody else reads or writes those bytes, says the caller: a write may
  // be more than one kernel call, and a long one of uncached pages is a direct transfer.
  bool exclusive = false;
  // Then: of whole pages that long. Where one write follows another, shorter ones are sooner in the
  // page cache than a device answers. 4096 to 2^30.
  std::uint32_t direct_write_bytes = 512 * 1024;
};

class FileReader {
 public:
  // EINVAL: the model's (costs_of()), or a number out of the range above. ENOMEM.
  static Result<std::unique_ptr<FileReader>> create(const ReaderConfig& config);
  FileReader() = default;
  virtual ~FileReader() = default;
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  // The count, or a negative errno. The O_DIRECT twin of a file is opened with the first request
  // that may pay for it.
  virtual ssize_t pread(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) = 0;
  virtual ssize_t pwrite(int descriptor, const void* memory, std::size_t bytes,
                         std::int64_t offset) = 0;
  // The same for who must not wait. The answer, where it is known at once; -EAGAIN where a disk
  // would be waited for, or a plan made: then pread() of another thread's answers it. Nothing that
  // is read directly is brought into the page cache by it.
  virtual ssize_t try_pread(int descriptor, void* memory, std::size_t bytes,
                            std::int64_t offset) = 0;
  // posix_fadvise(2), heeded as well: 0 or a positive errno.
  virtual int advise(int descriptor, std::int64_t offset, std::int64_t bytes, int advice) = 0;
  // The program reads or writes these bytes itself, with memory of the host: what was read ahead of
  // them stays in the page cache. Worth a call while pages_held().
  virtual void used_by_host(int descriptor, std::int64_t offset, std::uint64_t bytes) = 0;
  [[nodiscard]] virtual std::uint64_t pages_held() const = 0;
  // The program is about to close this descriptor: the twin of its inode is closed first. That
  // drops the process's POSIX locks on the file, as the program's own close does, whatever other
  // descriptors it has; the next request makes a new twin.
  virtual void closing(int descriptor) = 0;
  // The same of an inode, by st_dev and st_ino, for who has just closed its last descriptor, which
  // had that number.
  virtual void forget(int descriptor, std::uint64_t device, std::uint64_t inode) = 0;
  // First thing in the child of fork(): the parent's engines are not the child's.
  virtual void after_fork_child() = 0;

  [[nodiscard]] virtual ReaderStats stats() const = 0;
};

}  // namespace k2k::router
