#pragma once
// pread(2) and pwrite(2) for memory of the CPU or of a GPU: each request by the fastest mix of page
// cache and direct transfers, with the answers that Linux would give: count, errors, end of file.
// One sequence of decisions for all memory, Reader::routed_pread() in file_reader.cpp; a port moves
// the bytes into it:
//
//   memory that the CPU can address       host_port.hpp
//   memory that it cannot                 device_port.hpp
//
// The first line that is true decides:
//
//   below unprobed_bytes                                                    pread, unprobed
//   up to trial_bytes, of a file that is outside (outside.hpp)              pread, timed
//   a file of small_file_bytes at most                                      pread
//   part of a sequential stream                                             pread, with read-ahead
//                                                                           (prefetch.hpp)
//   all of the descriptor's last requests cached                            pread, timed
//   up to read_ahead_bytes, and continues where the last one ended          pread: Linux reads
//                                                                           ahead
//   nothing of the descriptor's last requests cached                        directly, unprobed
//   else                                                                    probe the residency,
//                                                                           plan (router/plan/),
//                                                                           run
//
// A write is one call of Linux, through the page cache: other readers could see parts of a longer
// sequence. ReaderConfig::exclusive permits more, for files that no other program uses
// (writes.hpp).
//
// Threading: any thread. Requests share channels (engine, planner, scratch memory); each request
// owns one while it runs.

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.hpp"
#include "router/ahead/read_ahead_limits.hpp"
#include "router/plan/model.hpp"
#include "router/read/reader_stats.hpp"

namespace k2k::io {
class DeviceMemory;
}

namespace k2k::router {

struct DeviceChannelsConfig;  // device_channels.hpp

// The product's settings. A twin, its probe and its entry take 10 to 40 us: for a file that is
// read once, direct transfers save as much from 128 KiB on; a cold read of 256 KiB that is tried by
// the page cache loses a tenth of a millisecond, once a file.
// A probe of a request below unprobed_bytes takes as long as a quarter of its copy.
inline constexpr std::uint32_t unprobed_bytes_default = 16 * 1024;
inline constexpr std::uint32_t small_file_bytes_default = 128 * 1024;
inline constexpr std::uint32_t trial_bytes_default = 256 * 1024;

// For readers of all memory, unless a field names one.
struct ReaderConfig {
  // Of the files' device, unless model_of has a better one.
  Model model{.call_us = 80, .cutoff_bytes = 64 * 1024, .direct_gbs = 2.5, .cache_gbs = 8};
  // Called once a device: the known model of the device behind a descriptor, by the engine of that
  // name (DevicePaths::name()); "": by io::make_direct(), for memory that the CPU can address. A
  // model that costs_of() refuses counts as unknown.
  std::function<std::optional<Model>(int descriptor, const std::string& engine)> model_of{};
  // Memory that the CPU can address: requests in progress. Others wait 20 ms at most, then use
  // pread. 1 to 256.
  std::uint32_t channels_max = 16;
  // Likewise: direct transfers of one request. 1 to 4096.
  std::uint32_t outstanding = 64;
  std::uint32_t unprobed_bytes = 4096;  // Shorter requests are never probed. The product: 16 KiB.
  // Files of this length at most are left to the page cache.
  std::uint32_t small_file_bytes = 0;
  // Requests of this length at most are plain reads while their file is outside; longer ones are
  // probed. 0: every file is entered at its first request. If read-ahead is bounded everywhere
  // (partition_pages without partition_where_free), every file that is not small is entered, too,
  // because the read-ahead cache would not track Linux' read-ahead of a plain read.
  std::uint32_t trial_bytes = 0;
  std::uint32_t read_ahead_bytes = 512 * 1024;  // Linux' read-ahead of a sequential reader.
  std::uint32_t grain_pages = 8;  // Stretches in which residency is probed. 1 to 4096.
  // So many pages may be in the page cache only because they were read ahead for this reader; more
  // are evicted. 0: Linux reads ahead as it likes, and nothing is evicted. Up to
  // read_ahead_pages_max.
  std::uint32_t partition_pages = 0;
  // Streams with kernel windows that do not fit into that bound: in smaller windows and slower
  // (false), or as if the bound were 0.
  bool partition_where_free = false;
  // The caller's promise: while a request writes bytes of a file, no other program reads or writes
  // them. A write from memory that the CPU can address may then be more than one call of Linux, and
  // a long one of uncached pages is a direct transfer.
  bool exclusive = false;
  // Then: of whole pages that long. A series of shorter writes is sooner in the page cache than a
  // device answers. 4096 to 2^30.
  std::uint32_t direct_write_bytes = 512 * 1024;
};

// One preadv2(2) or pwritev2(2).
struct WholeCall {
  int descriptor = -1;
  std::span<const iovec> pieces;  // At most IOV_MAX.
  // One a piece: in the reader's memory; others the CPU can address.
  std::span<const bool> is_device;
  bool write = false;
  std::optional<std::int64_t> offset{};  // Nothing: the descriptor's own position.
  int flags = 0;                         // RWF_ of preadv2(2)
};

class FileReader {
 public:
  // For memory that the CPU can address. EINVAL: the model's (costs_of()), or a number out of the
  // range above. ENOMEM.
  static Result<std::unique_ptr<FileReader>> create(const ReaderConfig& config);
  // For a device's memory that the CPU cannot address. Errors: likewise; else
  // DevicePaths::create()'s, and the errors of engines that cannot be made here.
  static Result<std::unique_ptr<FileReader>> create(std::shared_ptr<io::DeviceMemory> memory,
                                                    const ReaderConfig& config,
                                                    const DeviceChannelsConfig& channels);
  FileReader() = default;
  virtual ~FileReader() = default;
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  // The count, or a negative errno. The O_DIRECT twin of a file is opened with the first request
  // that may benefit from it.
  virtual ssize_t pread(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) = 0;
  virtual ssize_t pwrite(int descriptor, const void* memory, std::size_t bytes,
                         std::int64_t offset) = 0;
  // As pread(), for a thread that must not wait: the answer if it is known at once; -EAGAIN if the
  // read would wait for a disk or needs a plan: then another thread must call pread(). It brings
  // nothing into the page cache that pread() reads directly.
  virtual ssize_t try_pread(int descriptor, void* memory, std::size_t bytes,
                            std::int64_t offset) = 0;
  // Of a read that try_pread() left: would pread() be one read by the page cache, whatever is
  // cached of the file? Then the caller may make that read in its own way, and tells its result.
  [[nodiscard]] virtual bool is_plain(int descriptor, std::size_t bytes,
                                      std::int64_t offset) const = 0;
  // The count, or a negative errno. The read began at `begin`, in cycles.
  virtual void note_plain(int descriptor, std::size_t bytes, std::int64_t offset, ssize_t count,
                          std::uint64_t begin) = 0;
  // One call of Linux, for a descriptor of any kind: the count, or a negative errno. If a device
  // refuses bytes that were read from a pipe, they are lost.
  virtual ssize_t whole(const WholeCall& call) = 0;
  // posix_fadvise(2), heeded as well: 0 or a positive errno.
  virtual int advise(int descriptor, std::int64_t offset, std::int64_t bytes, int advice) = 0;
  // The program reads or writes these bytes itself, with memory of the host: pages of them that
  // were read ahead stay in the page cache. Needed only while pages_held().
  virtual void used_by_host(int descriptor, std::int64_t offset, std::uint64_t bytes) = 0;
  [[nodiscard]] virtual std::uint64_t pages_held() const = 0;
  // The program is about to close this descriptor: the twin of its inode is closed first. That
  // drops the process's POSIX locks on the file, as the program's own close does, whatever other
  // descriptors it has; the next request makes a new twin.
  virtual void closing(int descriptor) = 0;
  // The same of an inode, by st_dev and st_ino, after the program closed its last descriptor,
  // which had that number.
  virtual void forget(int descriptor, std::uint64_t device, std::uint64_t inode) = 0;
  // First call in the child of fork(): the parent's engines are not the child's, and neither is a
  // device: requests for its memory are answered with EFAULT. There such a reader must not be
  // destroyed.
  virtual void after_fork_child() = 0;

  [[nodiscard]] virtual ReaderStats stats() const = 0;
};

}  // namespace k2k::router
