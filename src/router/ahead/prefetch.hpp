#pragma once
// Reads ahead of sequential device reads, and evicts pages that are in the page cache for no other
// reason.
//
//   a read --> the rule of its descriptor (router/ahead/read_ahead.hpp): part of a stream?
//                 | the next window
//                 v
//              which of its pages are absent (page by page)
//                 | the absent pages
//                 v
//              the read-ahead cache (read_ahead_cache.hpp) -- beyond the bound --> its thread
//                 |                                                               evicts them
//                 v
//              readahead(2); then a pread without read-ahead (io::RandomFile)
//
// A file without direct transfers, or with an inferred residency, is left to Linux' own read-ahead,
// and its pages are not tracked.
//
// Threading: any thread.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/result.hpp"
#include "router/ahead/read_ahead.hpp"
#include "router/ahead/read_ahead_cache.hpp"
#include "router/file/open_files.hpp"

namespace k2k::router {

class Prefetch {
 public:
  enum class Kind : std::uint8_t {
    other,          // Not sequential, or not to be read ahead by K2K.
    stream,         // By OpenFile::random(): its pages are cached or being read.
    kernels,        // By the descriptor: Linux reads ahead by itself, and its pages are tracked.
    cached_stream,  // The same, and all of the next pages are cached already.
    cached_kernels,
    random,  // By POSIX_FADV_RANDOM, whatever the requests are.
  };

  // For streams when the bound has no room for Linux' own windows: read ahead in smaller windows of
  // K2K, which is slower, or by Linux without tracking.
  enum class Beyond : std::uint8_t { smaller, unbounded };

  // `files` must outlive it. Errors: EINVAL, as Partition::create().
  static Result<std::unique_ptr<Prefetch>> create(std::uint64_t partition_pages, Beyond beyond,
                                                  OpenFiles& files);
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  struct Answer {
    Kind kind = Kind::other;
    std::shared_ptr<OpenFile> file = nullptr;  // Of a stream.
    bool due = false;                          // Of Linux': after_kernels_read() must follow.
  };

  // Called before each examined read of a device.
  // `trusted`: the caller expects the read to be cached and asks where the cached range ends. Then
  // only a stream is examined, for the next absent page.
  Answer before_read(int descriptor, std::uint64_t offset, std::uint64_t bytes, bool trusted);
  // Called while the disk reads the window that Linux requested: enters the window that Linux may
  // request next.
  void after_kernels_read(int descriptor, std::uint64_t offset, std::uint64_t bytes);
  // Pages that no later read of the stream needs are evicted first.
  void after_stream_read(const OpenFile& file, std::uint64_t offset, std::uint64_t bytes);
  // A device read these pages of a file outside a stream.
  void used_again(const OpenFile& file, io::PageRange range);
  // A host program uses these pages: stops tracking them, so that they stay cached. Does not block
  // for long.
  void keep(int descriptor, io::PageRange range);
  // After a posix_fadvise(2) that Linux accepted. `bytes` 0: to the end.
  void advise(int descriptor, std::int64_t offset, std::int64_t bytes, int advice);
  // True if advice is stored for a descriptor.
  static bool keeps(int advice) {
    return advice == POSIX_FADV_NORMAL || advice == POSIX_FADV_SEQUENTIAL ||
           advice == POSIX_FADV_RANDOM;
  }
  // The program closes this descriptor, whose number may then name another file.
  void closing(int descriptor);
  // The file's twins are about to be closed: evicts its tracked pages first.
  void ending(OpenFile& file);
  // As FileReader::after_fork_child(). The parent evicts the tracked pages.
  void after_fork_child();

  [[nodiscard]] PrefetchStats stats() const { return cache_->stats(); }
  [[nodiscard]] std::uint64_t pages_held() const { return cache_->pages_held(); }

 private:
  struct Slot {
    std::mutex mutex;
    int descriptor = -1;
    dev_t device = 0;
    ino_t inode = 0;
    std::optional<ReadAhead> rule;
    std::weak_ptr<OpenFile> open;
    // A read before this byte that is expected to be cached needs no examination. A hint that may
    // come from another descriptor of the slot: an error costs read-ahead, never the read itself.
    std::atomic<std::uint64_t> cached_end{0};
    bool random = false;   // By advice.
    bool refused = false;  // Left to Linux.
  };
  class Claim;
  static constexpr std::size_t slots = 1024;

  Prefetch(std::unique_ptr<ReadAheadCache> cache, Beyond beyond, OpenFiles& files);

  Slot& slot_of(int descriptor);
  // These expect slot.mutex held.
  void begin(Slot& slot, int descriptor, const struct stat& facts);
  bool is_of(Slot& slot, int descriptor, struct stat& facts);
  std::shared_ptr<OpenFile> open(Slot& slot, int descriptor);
  void end(Slot& slot);

  [[nodiscard]] std::uint64_t window_max() const;
  // Inserts the pages that Linux may read. Returns true if everything was cached.
  bool announce(Slot& slot, const std::shared_ptr<OpenFile>& file, const ReadAheadAnswer& answer,
                const struct stat& facts);
  template <class Absent>
  bool insert_absent(const std::shared_ptr<OpenFile>& file, io::PageRange range, Absent absent);
  // Returns true if everything was cached.
  bool fetch(const std::shared_ptr<OpenFile>& file, io::PageRange range);

  const std::unique_ptr<ReadAheadCache> cache_;
  const Beyond beyond_;
  OpenFiles& files_;
  std::array<std::atomic<Slot*>, slots> slots_{};
  std::atomic<std::uint64_t> pages_claimed_{0};  // By streams that are being probed.
  std::mutex mutex_;                             // Guards the members below.
  std::map<dev_t, std::uint64_t> device_pages_;  // The device's read_ahead_kb.
};

}  // namespace k2k::router
