#pragma once
// The books of what is in the page cache only because it was read ahead (io/partition.hpp), for
// files as the router has them, and the thread that evicts what they have no room for.
//
//   insert ──▶ the books, 5/8 of the bound ──beyond──▶ waits, 3/8 at most ──▶ evicted
//                     │                                   │
//                     └───────────── keep ────────────────┘  a host program uses it: it stays
//
// Threading: any thread.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/result.hpp"
#include "io/partition.hpp"
#include "router/open_files.hpp"

namespace k2k::router {

struct PrefetchStats {
  std::uint64_t pages_ahead = 0;    // Absent, and read ahead or to be, by us or the kernel.
  std::uint64_t pages_evicted = 0;  // Asked to go; the kernel keeps what is in use.
  std::uint64_t pages_held = 0;     // In the books now, or waiting to go.
  std::uint64_t pages_kept = 0;     // Left the books, for a host program uses them.
  std::uint64_t pages_again = 0;    // Of pages_ahead: evicted before.
};

class Books {
 public:
  // `bound` in pages. EINVAL: as io::Partition::create().
  static Result<std::unique_ptr<Books>> create(std::uint64_t bound);
  ~Books();
  Books(const Books&) = delete;
  Books& operator=(const Books&) = delete;

  // What may be in them, and how much of that somebody has still to read.
  [[nodiscard]] std::uint64_t pages_max() const { return pages_max_; }
  [[nodiscard]] std::uint64_t pages_unread() const {
    return pages_unread_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t pages_held() const {
    return pages_held_.load(std::memory_order_relaxed);
  }
  // Of one insert().
  [[nodiscard]] std::uint64_t insert_max() const;

  // Absent pages that are about to be read ahead. What must go for them goes later, but for what
  // the thread does not keep up with. Expects file->random().
  void insert(const std::shared_ptr<OpenFile>& file, io::PageRange range);
  // A stream has read these: they go first.
  void retire(const OpenFile& file, io::PageRange range);
  // A device reads these again: they go last.
  void refresh(const OpenFile& file, io::PageRange range);
  // Somebody has a use of his own for them.
  void keep(OpenFile& file, io::PageRange range);
  // Evicts what is here of a file: its twins are about to be closed.
  void end(OpenFile& file);
  // In the child of fork(): the parent evicts what is in its books.
  void after_fork_child();

  [[nodiscard]] PrefetchStats stats() const;

 private:
  struct Job {
    std::uint64_t file = 0;
    std::weak_ptr<OpenFile> open;
    io::PageRange range;
  };

  Books(std::uint64_t bound, io::Partition partition);

  // These expect mutex_ held.
  void counted();
  // Are there enough to be evicted?
  [[nodiscard]] bool is_time() const { return !jobs_.empty() && 3 * jobs_pages_ >= waiting_max_; }
  void make_way(std::unique_lock<std::mutex>& lock, std::uint64_t pages);
  void evict_later(std::unique_lock<std::mutex>& lock);
  // The oldest job; expects that there is one. Unlocks meanwhile.
  void evict_one(std::unique_lock<std::mutex>& lock);
  void release_jobs(std::uint64_t file, io::PageRange range);

  void evict_jobs();
  void evict(OpenFile& file, io::PageRange range);

  const std::uint64_t pages_max_;
  const std::uint64_t waiting_max_;  // Beside them: pages that are to be evicted, at most.
  const std::uint64_t grain_;
  std::atomic<std::uint64_t> pages_unread_{0};
  std::atomic<std::uint64_t> pages_ahead_{0}, pages_evicted_{0}, pages_held_{0}, pages_kept_{0},
      pages_again_{0};

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::condition_variable evicted_;
  std::unique_ptr<io::Partition> partition_;
  std::map<std::uint64_t, std::weak_ptr<OpenFile>> open_;  // With pages in the books.
  std::deque<Job> jobs_;
  std::uint64_t jobs_pages_ = 0;  // With those that are just being evicted.
  std::thread evicts_;
  bool stopping_ = false;
};

}  // namespace k2k::router
