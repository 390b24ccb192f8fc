#pragma once
// Reads ahead of device reads that are sequential, and takes out of the page cache again what is
// there for no other reason.
//
//   a read --> the rule of its descriptor (io/read_ahead.hpp): a stream's? what comes next?
//                 | the next window
//                 v
//              which of its pages are absent (page by page)
//                 | those
//                 v
//              the books (io/partition.hpp) -- beyond the bound --> a thread of our own
//                 |                                                 evicts them
//                 v
//              readahead(2); then a pread that brings nothing else (io::RandomFile)
//
// A file without direct transfers, or whose residency is a guess, is left to the kernel's own
// read-ahead: what that brings is in no books.
//
// Threading: any thread.

#include <sys/stat.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/result.hpp"
#include "io/partition.hpp"
#include "io/read_ahead.hpp"
#include "router/open_files.hpp"

namespace k2k::router {

struct PrefetchStats {
  std::uint64_t pages_ahead = 0;    // Absent, and read ahead.
  std::uint64_t pages_evicted = 0;  // Asked to go; the kernel keeps what is in use.
  std::uint64_t pages_held = 0;     // In the books now.
};

class Prefetch {
 public:
  enum class Kind : std::uint8_t {
    other,          // Not sequential, or not ours to read ahead.
    stream,         // By OpenFile::random(): what it needs is there or on its way.
    cached_stream,  // Likewise, and all that comes next is cached already.
    random,         // By POSIX_FADV_RANDOM, however it looks.
  };

  // `files` outlives it. EINVAL: as io::Partition::create().
  static Result<std::unique_ptr<Prefetch>> create(std::uint64_t partition_pages, OpenFiles& files);
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  struct Answer {
    Kind kind = Kind::other;
    std::shared_ptr<OpenFile> file = nullptr;  // Of a stream.
  };

  // Of each read of a device that is looked at, before it is made.
  // `trusted`: it will be there, says the caller, who wants to know where that ends. Then a stream
  // is told where something that comes is absent, and nothing is looked at otherwise.
  Answer before_read(int descriptor, std::uint64_t offset, std::uint64_t bytes, bool trusted);
  // Its pages that the read was the last to want go first.
  void after_stream_read(const OpenFile& file, std::uint64_t offset, std::uint64_t bytes);
  // A device read these pages of a file otherwise than in a stream.
  void used_again(const OpenFile& file, io::PageRange range);
  // Somebody has a use of his own for them: they stay.
  void keep(int descriptor, io::PageRange range);
  // posix_fadvise(2), when the kernel took it. `bytes` 0: to the end.
  void advise(int descriptor, std::int64_t offset, std::int64_t bytes, int advice);
  // The program closes this descriptor: its number will be another file's.
  void closing(int descriptor);
  // Its twins are about to be closed: what is in the books goes with them.
  void ending(const OpenFile& file);
  // As FileReader::after_fork_child(). The parent evicts what is in the books.
  void after_fork_child();

  [[nodiscard]] PrefetchStats stats() const;

 private:
  struct Slot {
    std::mutex mutex;
    int descriptor = -1;
    dev_t device = 0;
    ino_t inode = 0;
    std::optional<io::ReadAhead> rule;
    std::weak_ptr<OpenFile> open;
    bool random = false;   // As advised.
    bool refused = false;  // Left to the kernel.
  };
  struct Job {
    std::uint64_t file = 0;
    std::weak_ptr<OpenFile> open;
    io::PageRange range;
  };
  static constexpr std::size_t slots = 1024;

  Prefetch(io::Partition partition, OpenFiles& files);

  Slot& slot_of(int descriptor);
  // These expect slot.mutex held.
  void begin(Slot& slot, int descriptor, const struct stat& facts);
  bool is_of(Slot& slot, int descriptor);
  std::shared_ptr<OpenFile> open(Slot& slot, int descriptor);
  void end(Slot& slot);

  [[nodiscard]] std::uint64_t window_max() const;
  void counted();
  // True if everything was cached.
  bool fetch(const std::shared_ptr<OpenFile>& file, io::PageRange range);
  void insert(const std::shared_ptr<OpenFile>& file, io::PageRange range);
  void evict_later(std::unique_lock<std::mutex>& lock);
  void evict_jobs();
  void evict(const OpenFile& file, io::PageRange range);

  const std::uint64_t partition_pages_;
  OpenFiles& files_;
  std::array<std::atomic<Slot*>, slots> slots_{};
  std::atomic<std::uint64_t> pages_unread_{0};  // Of those in the books.
  std::atomic<std::uint64_t> pages_ahead_{0}, pages_evicted_{0}, pages_held_{0};

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::unique_ptr<io::Partition> partition_;
  std::map<std::uint64_t, std::weak_ptr<OpenFile>> open_;  // With pages in the books.
  std::deque<Job> jobs_;
  std::map<dev_t, std::uint64_t> device_pages_;  // Its read_ahead_kb.
  std::thread evicts_;
  bool stopping_ = false;
};

}  // namespace k2k::router
