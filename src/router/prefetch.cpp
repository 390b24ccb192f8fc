#include "router/prefetch.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "base/signals_blocked.hpp"
#include "io/raw.hpp"
#include "io/read_ahead_setting.hpp"

namespace k2k::router {

namespace {

using io::PageRange;

// Residency is asked for, and pages are entered, in pieces of this.
constexpr std::uint64_t piece_pages = 512;
// The rule is not told where a file ends: it is looked up when there is something to read.
constexpr std::uint64_t endless = std::uint64_t{1} << 62;

void fadvise(int descriptor, PageRange range, int advice) {
  static_cast<void>(io::raw(SYS_fadvise64, descriptor, range.first * io::page_bytes,
                            range.pages * io::page_bytes, advice));
}

// Those of the range that lie in the file. None of what is no file.
PageRange within_file(int descriptor, PageRange range) {
  struct stat facts{};
  if (::fstat(descriptor, &facts) != 0) return {};
  if (S_ISBLK(facts.st_mode)) return range;
  const std::uint64_t pages = io::pages_of(0, static_cast<std::uint64_t>(facts.st_size)).pages;
  return {range.first, std::min(range.end(), pages) - std::min(range.first, pages)};
}

}  // namespace

Result<std::unique_ptr<Prefetch>> Prefetch::create(std::uint64_t partition_pages,
                                                   OpenFiles& files) {
  auto partition = io::Partition::create(partition_pages);
  if (!partition) return partition.error();
  return std::unique_ptr<Prefetch>(new Prefetch(std::move(partition).value(), files));
}

Prefetch::Prefetch(io::Partition partition, OpenFiles& files)
    : partition_pages_(partition.pages_max()),
      files_(files),
      partition_(std::make_unique<io::Partition>(std::move(partition))) {}

Prefetch::~Prefetch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (evicts_.joinable()) evicts_.join();
  for (const auto& [id, open] : std::exchange(open_, {})) {
    const std::shared_ptr<OpenFile> file = open.lock();
    if (file == nullptr) continue;
    for (const io::Partition::Piece& piece : partition_->forget(id)) evict(*file, piece.range);
  }
  for (std::atomic<Slot*>& slot : slots_) delete slot.load(std::memory_order_relaxed);
}

Prefetch::Slot& Prefetch::slot_of(int descriptor) {
  std::atomic<Slot*>& at = slots_[static_cast<std::uint32_t>(descriptor) % slots];
  Slot* slot = at.load(std::memory_order_acquire);
  if (slot != nullptr) return *slot;
  auto made = std::make_unique<Slot>();
  if (!at.compare_exchange_strong(slot, made.get(), std::memory_order_acq_rel)) return *slot;
  return *made.release();
}

std::uint64_t Prefetch::window_max() const {
  return io::window_pages_max(partition_pages_, pages_unread_.load(std::memory_order_relaxed));
}

// Expects mutex_ held.
void Prefetch::counted() {
  pages_held_.store(partition_->pages(), std::memory_order_relaxed);
  pages_unread_.store(partition_->pages() - partition_->pages_retired(), std::memory_order_relaxed);
}

void Prefetch::begin(Slot& slot, int descriptor, const struct stat& facts) {
  end(slot);
  slot.descriptor = descriptor;
  slot.device = facts.st_dev;
  slot.inode = facts.st_ino;
  slot.random = false;
  slot.refused = !S_ISREG(facts.st_mode) && !S_ISBLK(facts.st_mode);
  std::uint64_t pages = 0;
  if (!slot.refused) {
    const dev_t device = S_ISBLK(facts.st_mode) ? facts.st_rdev : facts.st_dev;
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = device_pages_.try_emplace(device, 0);
    if (is_new) found->second = io::read_ahead_pages(descriptor);
    pages = found->second;
  }
  slot.rule.emplace(pages, window_max());
}

// Forgets whose it was.
void Prefetch::end(Slot& slot) {
  slot.descriptor = -1;
  slot.open.reset();
}

// Is it still that file's? If not, it begins anew. False if the descriptor is none.
bool Prefetch::is_of(Slot& slot, int descriptor) {
  struct stat facts{};
  if (::fstat(descriptor, &facts) != 0) return false;
  const bool same =
      slot.descriptor == descriptor && slot.device == facts.st_dev && slot.inode == facts.st_ino;
  if (!same) begin(slot, descriptor, facts);
  return true;
}

std::shared_ptr<OpenFile> Prefetch::open(Slot& slot, int descriptor) {
  if (slot.refused) return nullptr;
  std::shared_ptr<OpenFile> file = slot.open.lock();
  if (file != nullptr) return file;
  file = files_.find(descriptor);
  slot.refused = file == nullptr || file->direct() == nullptr || !file->knows_residency() ||
                 file->random(descriptor) < 0;
  if (slot.refused) return nullptr;
  slot.open = file;
  return file;
}

Prefetch::Answer Prefetch::before_read(int descriptor, std::uint64_t offset, std::uint64_t bytes,
                                       bool trusted) {
  Slot& slot = slot_of(descriptor);
  PageRange next;
  std::shared_ptr<OpenFile> file;
  {
    const std::lock_guard lock(slot.mutex);
    if (slot.descriptor != descriptor && !is_of(slot, descriptor)) return {};
    if (slot.random) return {.kind = Kind::random};
    if (slot.refused) return {};
    io::ReadAheadAnswer answer = slot.rule->on_read(offset, bytes, endless, false);
    if (!answer.sequential) return {};
    if (trusted && answer.prefetch.empty()) return {};
    // The number may have become another file's unseen: its bytes are what is wanted.
    const ino_t inode = slot.inode;
    const dev_t device = slot.device;
    if (!is_of(slot, descriptor)) return {};
    if (slot.inode != inode || slot.device != device) {
      answer = slot.rule->on_read(offset, bytes, endless, false);
      if (!answer.sequential) return {};
    }
    file = open(slot, descriptor);
    if (file == nullptr) return {};
    next = answer.prefetch;
    // For the window after this one.
    if (!next.empty()) slot.rule->set_window_max(window_max());
  }
  if (next.empty()) return {Kind::stream, std::move(file)};
  const bool cached = fetch(file, next);
  return {cached ? Kind::cached_stream : Kind::stream, std::move(file)};
}

bool Prefetch::fetch(const std::shared_ptr<OpenFile>& file, PageRange range) {
  const int twin = file->random();
  range = within_file(twin, range);
  if (range.empty()) return false;
  std::array<std::uint8_t, piece_pages> cached;
  bool all = true;
  while (!range.empty()) {
    const PageRange piece{range.first, std::min({range.pages, piece_pages, partition_pages_})};
    range = {piece.end(), range.pages - piece.pages};
    const std::span<std::uint8_t> pages(cached.data(), piece.pages);
    // Page by page: one that somebody else needs must not be taken for ours.
    if (file->probe(twin, piece.first, pages, 1) == piece.pages) continue;
    all = false;
    for (auto at = pages.begin(); (at = std::find(at, pages.end(), 0)) != pages.end();) {
      const auto end = std::find(at, pages.end(), 1);
      const PageRange absent{piece.first + static_cast<std::uint64_t>(at - pages.begin()),
                             static_cast<std::uint64_t>(end - at)};
      at = end;
      insert(file, absent);
      static_cast<void>(io::raw(SYS_readahead, twin, absent.first * io::page_bytes,
                                absent.pages * io::page_bytes));
    }
  }
  return all;
}

void Prefetch::insert(const std::shared_ptr<OpenFile>& file, PageRange range) {
  pages_ahead_.fetch_add(range.pages, std::memory_order_relaxed);
  std::unique_lock lock(mutex_);
  open_[file->id()] = file;
  for (const io::Partition::Piece& gone : partition_->insert(file->id(), range)) {
    const auto found = open_.find(gone.file);
    if (found == open_.end()) continue;
    jobs_.push_back({gone.file, found->second, gone.range});
  }
  counted();
  if (!jobs_.empty()) evict_later(lock);
}

void Prefetch::evict_later(std::unique_lock<std::mutex>& lock) {
  changed_.notify_one();
  if (evicts_.joinable()) return;
  try {
    const SignalsBlocked blocked;
    evicts_ = std::thread([this] { evict_jobs(); });
  } catch (const std::system_error&) {  // No thread to be had: whoever comes by does it.
    std::deque<Job> jobs = std::exchange(jobs_, {});
    lock.unlock();
    for (const Job& job : jobs) {
      if (const std::shared_ptr<OpenFile> file = job.open.lock()) evict(*file, job.range);
    }
  }
}

void Prefetch::evict_jobs() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    if (const std::shared_ptr<OpenFile> file = job.open.lock()) evict(*file, job.range);
    lock.lock();
  }
}

void Prefetch::evict(const OpenFile& file, PageRange range) {
  fadvise(file.random(), range, POSIX_FADV_DONTNEED);
  pages_evicted_.fetch_add(range.pages, std::memory_order_relaxed);
}

void Prefetch::after_stream_read(const OpenFile& file, std::uint64_t offset, std::uint64_t bytes) {
  if (pages_held_.load(std::memory_order_relaxed) == 0) return;
  const std::uint64_t first = offset / io::page_bytes;
  const PageRange done{first, (offset + bytes) / io::page_bytes - first};
  if (done.empty()) return;
  const std::lock_guard lock(mutex_);
  partition_->retire(file.id(), done);
  counted();
}

void Prefetch::used_again(const OpenFile& file, PageRange range) {
  if (pages_held_.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(mutex_);
  partition_->refresh(file.id(), range);
  counted();
}

void Prefetch::keep(int descriptor, PageRange range) {
  if (pages_held_.load(std::memory_order_relaxed) == 0) return;
  const std::shared_ptr<OpenFile> file = files_.known(descriptor);
  if (file == nullptr) return;
  const std::lock_guard lock(mutex_);
  partition_->release(file->id(), range);
  counted();
}

void Prefetch::advise(int descriptor, std::int64_t offset, std::int64_t bytes, int advice) {
  using Advice = io::ReadAhead::Advice;
  const auto set = [&](Advice wanted) {
    Slot& slot = slot_of(descriptor);
    const std::lock_guard lock(slot.mutex);
    if (!is_of(slot, descriptor)) return;
    slot.rule->set_advice(wanted);
    slot.random = wanted == Advice::random;
  };
  switch (advice) {
    case POSIX_FADV_NORMAL:
      return set(Advice::normal);
    case POSIX_FADV_SEQUENTIAL:
      return set(Advice::sequential);
    case POSIX_FADV_RANDOM:
      return set(Advice::random);
    case POSIX_FADV_WILLNEED:
    case POSIX_FADV_DONTNEED: {
      if (offset < 0 || bytes < 0) return;
      const auto from = static_cast<std::uint64_t>(offset);
      keep(descriptor,
           io::pages_of(from, bytes == 0 ? endless : static_cast<std::uint64_t>(bytes)));
      return;
    }
    default:
      return;  // NOREUSE says nothing of what comes.
  }
}

void Prefetch::closing(int descriptor) {
  Slot* const slot =
      slots_[static_cast<std::uint32_t>(descriptor) % slots].load(std::memory_order_acquire);
  if (slot == nullptr) return;
  const std::lock_guard lock(slot->mutex);
  if (slot->descriptor == descriptor) end(*slot);
}

void Prefetch::ending(const OpenFile& file) {
  if (file.random() < 0) return;
  std::vector<PageRange> ranges;
  {
    const std::lock_guard lock(mutex_);
    if (open_.erase(file.id()) == 0) return;
    for (const io::Partition::Piece& piece : partition_->forget(file.id())) {
      ranges.push_back(piece.range);
    }
    std::erase_if(jobs_, [&](const Job& job) {
      if (job.file != file.id()) return false;
      ranges.push_back(job.range);
      return true;
    });
    counted();
  }
  for (const PageRange range : ranges) evict(file, range);
}

void Prefetch::after_fork_child() {
  new (&mutex_) std::mutex;
  new (&changed_) std::condition_variable;
  new (&evicts_) std::thread;  // The parent's, which is not here.
  // Another thread may have been within: what these hold is left alone.
  static_cast<void>(partition_.release());
  new (&open_) decltype(open_);
  new (&jobs_) decltype(jobs_);
  new (&device_pages_) decltype(device_pages_);
  for (std::atomic<Slot*>& slot : slots_) slot.store(nullptr, std::memory_order_relaxed);
  pages_unread_.store(0, std::memory_order_relaxed);
  pages_held_.store(0, std::memory_order_relaxed);
  partition_ = std::make_unique<io::Partition>(io::Partition::create(partition_pages_).value());
}

PrefetchStats Prefetch::stats() const {
  const auto of = [](const std::atomic<std::uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  return {of(pages_ahead_), of(pages_evicted_), of(pages_held_)};
}

}  // namespace k2k::router
