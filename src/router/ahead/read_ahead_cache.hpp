#pragma once
// The read-ahead cache: tracks the pages that are in the page cache only because they were read
// ahead (router/ahead/partition.hpp), for files as the router has them; a thread evicts the pages
// beyond the bound. It stores only page numbers; the contents are in the page cache.
//
//   insert ──▶ tracked, 5/8 of the bound ──beyond──▶ waits, 3/8 at most ──▶ evicted
//                   │                                  │
//                   └───────────── keep ───────────────┘  used by a host program: not evicted
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
#include "router/ahead/partition.hpp"
#include "router/file/open_files.hpp"

namespace k2k::router {

struct PrefetchStats {
  std::uint64_t pages_ahead = 0;    // Absent, and read ahead now or soon, by K2K or Linux.
  std::uint64_t pages_evicted = 0;  // Chosen for eviction; Linux keeps pages in use.
  std::uint64_t pages_held = 0;     // Tracked now, or waiting to be evicted.
  std::uint64_t pages_kept = 0;     // No longer tracked: a host program uses them.
  std::uint64_t pages_again = 0;    // Part of pages_ahead: read again after eviction.
};

class ReadAheadCache {
 public:
  // `bound` in pages. EINVAL: as Partition::create().
  static Result<std::unique_ptr<ReadAheadCache>> create(std::uint64_t bound);
  ~ReadAheadCache();
  ReadAheadCache(const ReadAheadCache&) = delete;
  ReadAheadCache& operator=(const ReadAheadCache&) = delete;

  // The number of pages it may track, and the number of tracked pages that are still to be read.
  [[nodiscard]] std::uint64_t pages_max() const { return pages_max_; }
  [[nodiscard]] std::uint64_t pages_unread() const {
    return pages_unread_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t pages_held() const {
    return pages_held_.load(std::memory_order_relaxed);
  }
  // The most pages of one insert().
  [[nodiscard]] std::uint64_t insert_max() const;

  // Adds absent pages that are about to be read ahead. Pages evicted for them are evicted later by
  // the thread, or by this call if the thread is too slow. Expects file->random().
  void insert(const std::shared_ptr<OpenFile>& file, io::PageRange range);
  // A stream has read these pages: they are evicted first.
  void retire(const OpenFile& file, io::PageRange range);
  // A device reads these pages again: they are evicted last.
  void refresh(const OpenFile& file, io::PageRange range);
  // A host program uses these pages: stops tracking them.
  void keep(OpenFile& file, io::PageRange range);
  // Evicts a file's tracked pages, before its twins are closed.
  void end(OpenFile& file);
  // In the child of fork(): the parent evicts the pages that are tracked so far.
  void after_fork_child();

  [[nodiscard]] PrefetchStats stats() const;

 private:
  struct Job {
    std::uint64_t file = 0;
    std::weak_ptr<OpenFile> open;
    io::PageRange range;
  };

  ReadAheadCache(std::uint64_t bound, Partition partition);

  // These expect mutex_ held.
  void counted();
  // True if enough pages wait for eviction.
  [[nodiscard]] bool is_time() const { return !jobs_.empty() && 3 * jobs_pages_ >= waiting_max_; }
  void make_way(std::unique_lock<std::mutex>& lock, std::uint64_t pages);
  void evict_later(std::unique_lock<std::mutex>& lock);
  // Evicts the pages of the oldest job; expects that there is one. Unlocks meanwhile.
  void evict_one(std::unique_lock<std::mutex>& lock);
  void release_jobs(std::uint64_t file, io::PageRange range);

  void evict_jobs();
  void evict(OpenFile& file, io::PageRange range);

  const std::uint64_t pages_max_;
  const std::uint64_t waiting_max_;  // In addition, the limit of pages that wait for eviction.
  const std::uint64_t grain_;
  std::atomic<std::uint64_t> pages_unread_{0};
  std::atomic<std::uint64_t> pages_ahead_{0}, pages_evicted_{0}, pages_held_{0}, pages_kept_{0},
      pages_again_{0};

  std::mutex mutex_;  // Guards the members below.
  std::condition_variable changed_;
  std::condition_variable evicted_;
  std::unique_ptr<Partition> partition_;
  std::map<std::uint64_t, std::weak_ptr<OpenFile>> open_;  // Files with tracked pages.
  std::deque<Job> jobs_;
  std::uint64_t jobs_pages_ = 0;  // Including pages that are being evicted.
  std::thread evicts_;
  bool stopping_ = false;
};

}  // namespace k2k::router
