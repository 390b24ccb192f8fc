#include "router/ahead/read_ahead_cache.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "base/own_process.hpp"
#include "base/signals_blocked.hpp"

namespace k2k::router {

namespace {

using io::PageRange;

// Parts of the bound. The thread is woken when this part waits for eviction; up to three times as
// much may wait. The rest is for tracked pages.
constexpr std::uint64_t wake_part = 8;
// Of a file system that hangs.
constexpr std::chrono::milliseconds wait_for_eviction_max{20};

}  // namespace

Result<std::unique_ptr<ReadAheadCache>> ReadAheadCache::create(std::uint64_t bound) {
  const std::uint64_t grain = std::bit_floor(std::max<std::uint64_t>(1, bound / wake_part));
  auto partition = Partition::create(bound - 3 * (bound / wake_part), grain);
  if (!partition) return partition.error();
  return std::unique_ptr<ReadAheadCache>(new ReadAheadCache(bound, std::move(partition).value()));
}

ReadAheadCache::ReadAheadCache(std::uint64_t bound, Partition partition)
    : pages_max_(partition.pages_max()),
      waiting_max_(bound - pages_max_),
      grain_(partition.grain()),
      partition_(std::make_unique<Partition>(std::move(partition))) {}

ReadAheadCache::~ReadAheadCache() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (evicts_.joinable()) evicts_.join();
  while (!open_.empty()) {
    const auto first = open_.begin();
    const std::shared_ptr<OpenFile> file = first->second.lock();
    if (file != nullptr) {
      end(*file);
    } else {
      open_.erase(first);
    }
  }
}

std::uint64_t ReadAheadCache::insert_max() const {
  return std::max<std::uint64_t>(1, waiting_max_ / 2);
}

void ReadAheadCache::counted() {
  pages_held_.store(partition_->pages() + jobs_pages_, std::memory_order_relaxed);
  pages_unread_.store(partition_->pages() - partition_->pages_retired(), std::memory_order_relaxed);
}

// So many pages may have to go; if the thread does not keep up, some go now.
void ReadAheadCache::make_way(std::unique_lock<std::mutex>& lock, std::uint64_t pages) {
  while (jobs_pages_ > 0 && jobs_pages_ + pages > waiting_max_) {
    if (!jobs_.empty()) {
      evict_one(lock);
    } else if (evicted_.wait_for(lock, wait_for_eviction_max) == std::cv_status::timeout) {
      return;
    }
  }
}

void ReadAheadCache::insert(const std::shared_ptr<OpenFile>& file, PageRange range) {
  pages_ahead_.fetch_add(range.pages, std::memory_order_relaxed);
  if (const std::uint64_t again = file->evicted_before(range); again > 0) {
    pages_again_.fetch_add(again, std::memory_order_relaxed);
  }
  std::unique_lock lock(mutex_);
  make_way(lock, range.pages + grain_ - 1);
  open_[file->id()] = file;
  for (const Partition::Piece& gone : partition_->insert(file->id(), range)) {
    const auto found = open_.find(gone.file);
    if (found == open_.end()) continue;
    jobs_pages_ += gone.range.pages;
    Job* const last = jobs_.empty() ? nullptr : &jobs_.back();
    // A job stays small, because a caller that needs room waits for one job.
    const bool goes_on = last != nullptr && last->file == gone.file &&
                         last->range.end() == gone.range.first && last->range.pages < grain_;
    if (goes_on) {
      last->range.pages += gone.range.pages;
    } else {
      jobs_.push_back({gone.file, found->second, gone.range});
    }
  }
  counted();
  if (is_time()) evict_later(lock);
}

void ReadAheadCache::evict_later(std::unique_lock<std::mutex>& lock) {
  changed_.notify_one();
  if (evicts_.joinable()) return;
  try {
    const SignalsBlocked blocked;
    evicts_ = std::thread([this] {
      const OwnThread own;
      evict_jobs();
    });
  } catch (const std::system_error&) {  // No thread could be started: the next caller does the
                                        // work.
    while (!stopping_ && !jobs_.empty()) evict_one(lock);
  }
}

void ReadAheadCache::evict_jobs() {
  // The thread takes no CPU time from waking threads, above all readers.
  const sched_param none{};
  static_cast<void>(::sched_setscheduler(0, SCHED_BATCH, &none));
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || is_time(); });
    if (stopping_) return;
    while (!stopping_ && !jobs_.empty()) evict_one(lock);
  }
}

void ReadAheadCache::evict_one(std::unique_lock<std::mutex>& lock) {
  const Job job = std::move(jobs_.front());
  jobs_.pop_front();
  lock.unlock();
  if (const std::shared_ptr<OpenFile> file = job.open.lock()) evict(*file, job.range);
  lock.lock();
  jobs_pages_ -= job.range.pages;
  counted();
  evicted_.notify_all();
}

void ReadAheadCache::evict(OpenFile& file, PageRange range) {
  file.evict(range);
  pages_evicted_.fetch_add(range.pages, std::memory_order_relaxed);
}

void ReadAheadCache::retire(const OpenFile& file, PageRange range) {
  const std::lock_guard lock(mutex_);
  partition_->retire(file.id(), range);
  counted();
}

void ReadAheadCache::refresh(const OpenFile& file, PageRange range) {
  const std::lock_guard lock(mutex_);
  partition_->refresh(file.id(), range);
  counted();
}

void ReadAheadCache::keep(OpenFile& file, PageRange range) {
  file.keep(range);
  const std::lock_guard lock(mutex_);
  const std::uint64_t held = partition_->pages() + jobs_pages_;
  partition_->release(file.id(), range);
  release_jobs(file.id(), range);
  counted();
  pages_kept_.fetch_add(held - partition_->pages() - jobs_pages_, std::memory_order_relaxed);
}

// Pages that wait for their eviction are released, too.
void ReadAheadCache::release_jobs(std::uint64_t file, PageRange range) {
  for (std::size_t at = jobs_.size(); at > 0; --at) {
    Job& job = jobs_[at - 1];
    const std::uint64_t first = std::max(job.range.first, range.first);
    const std::uint64_t end = std::min(job.range.end(), range.end());
    if (job.file != file || first >= end) continue;
    jobs_pages_ -= end - first;
    const PageRange behind{end, job.range.end() - end};
    job.range.pages = first - job.range.first;
    if (!behind.empty()) jobs_.push_back({file, job.open, behind});
  }
  std::erase_if(jobs_, [](const Job& job) { return job.range.empty(); });
}

void ReadAheadCache::end(OpenFile& file) {
  std::vector<PageRange> ranges;
  {
    const std::lock_guard lock(mutex_);
    if (open_.erase(file.id()) == 0) return;
    std::erase_if(jobs_, [&](const Job& job) {
      if (job.file != file.id()) return false;
      ranges.push_back(job.range);
      jobs_pages_ -= job.range.pages;
      return true;
    });
    for (const Partition::Piece& piece : partition_->forget(file.id())) {
      ranges.push_back(piece.range);
    }
    counted();
  }
  std::ranges::sort(ranges, {}, &PageRange::first);
  for (const PageRange range : ranges) evict(file, range);
}

void ReadAheadCache::after_fork_child() {
  new (&mutex_) std::mutex;
  new (&changed_) std::condition_variable;
  new (&evicted_) std::condition_variable;
  new (&evicts_) std::thread;  // The parent's, which is not here.
  // Another thread may have been changing these: their contents are abandoned.
  static_cast<void>(partition_.release());
  new (&open_) decltype(open_);
  new (&jobs_) decltype(jobs_);
  jobs_pages_ = 0;
  pages_unread_.store(0, std::memory_order_relaxed);
  pages_held_.store(0, std::memory_order_relaxed);
  partition_ = std::make_unique<Partition>(Partition::create(pages_max_, grain_).value());
}

PrefetchStats ReadAheadCache::stats() const {
  const auto of = [](const std::atomic<std::uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  return {of(pages_ahead_), of(pages_evicted_), of(pages_held_), of(pages_kept_), of(pages_again_)};
}

}  // namespace k2k::router
