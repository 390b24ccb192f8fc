#include "router/ahead/prefetch.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <new>
#include <utility>

#include "io/file/raw.hpp"
#include "router/ahead/read_ahead_setting.hpp"

namespace k2k::router {

namespace {

using io::PageRange;

// Residency is probed, and pages are inserted, in pieces of this size.
constexpr std::uint64_t piece_pages = 512;
// The rule does not know where a file ends: the length is queried only when there is a range to
// read.
constexpr std::uint64_t endless = std::uint64_t{1} << 62;

// Linux' ranges are inserted in steps: a sixteenth of the read-ahead cache, but at least a cheap
// number of pages, as far as there is room beside three windows.
std::uint64_t step_of(std::uint64_t cache_pages, std::uint64_t window_pages) {
  constexpr std::uint64_t step_cheap = 64;
  const std::uint64_t room = cache_pages - std::min(cache_pages, 3 * window_pages);
  return std::max({std::uint64_t{1}, cache_pages / 16, std::min(room / 4, step_cheap)});
}

// The part of the range within the file.
PageRange within(const struct stat& facts, PageRange range) {
  if (S_ISBLK(facts.st_mode)) return range;
  const std::uint64_t pages = io::pages_of(0, static_cast<std::uint64_t>(facts.st_size)).pages;
  return {range.first, std::min(range.end(), pages) - std::min(range.first, pages)};
}

}  // namespace

Result<std::unique_ptr<Prefetch>> Prefetch::create(std::uint64_t partition_pages, Beyond beyond,
                                                   OpenFiles& files) {
  auto cache = ReadAheadCache::create(partition_pages);
  if (!cache) return cache.error();
  return std::unique_ptr<Prefetch>(new Prefetch(std::move(cache).value(), beyond, files));
}

Prefetch::Prefetch(std::unique_ptr<ReadAheadCache> cache, Beyond beyond, OpenFiles& files)
    : cache_(std::move(cache)), beyond_(beyond), files_(files) {}

Prefetch::~Prefetch() {
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
  if (beyond_ == Beyond::unbounded) return 0;
  return window_pages_max(cache_->pages_max(), cache_->pages_unread());
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
    if (is_new) found->second = read_ahead_pages(descriptor);
    pages = found->second;
  }
  slot.rule.emplace(pages, window_max(), step_of(cache_->pages_max(), pages));
}

// Resets the slot.
void Prefetch::end(Slot& slot) {
  slot.descriptor = -1;
  slot.cached_end.store(0, std::memory_order_relaxed);
  slot.open.reset();
}

// Does the slot still belong to this file? If not, it is reset. Returns false if the descriptor is
// not open.
bool Prefetch::is_of(Slot& slot, int descriptor, struct stat& facts) {
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

// Room in the read-ahead cache for one more stream that is left to Linux, until its pages are
// inserted.
class Prefetch::Claim {
 public:
  Claim(Prefetch& of, std::uint64_t pages)
      : claimed_(of.pages_claimed_),
        pages_(pages),
        fits_(claimed_.fetch_add(pages, std::memory_order_relaxed) + pages +
                  of.cache_->pages_unread() <=
              of.cache_->pages_max()) {}
  ~Claim() { claimed_.fetch_sub(pages_, std::memory_order_relaxed); }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  [[nodiscard]] bool fits() const { return fits_; }

 private:
  std::atomic<std::uint64_t>& claimed_;
  const std::uint64_t pages_;
  const bool fits_;
};

Prefetch::Answer Prefetch::before_read(int descriptor, std::uint64_t offset, std::uint64_t bytes,
                                       bool trusted) {
  Slot& slot = slot_of(descriptor);
  if (trusted && offset + bytes <= slot.cached_end.load(std::memory_order_relaxed)) return {};
  struct stat facts{};
  std::unique_lock lock(slot.mutex);
  if (slot.descriptor != descriptor && !is_of(slot, descriptor, facts)) return {};
  if (slot.random) return {.kind = Kind::random};
  if (slot.refused) return {};
  const Claim claim(*this, slot.rule->kernel_pages());
  slot.rule->set_by_kernel(claim.fits());
  ReadAheadAnswer answer = slot.rule->on_read(offset, bytes, endless, false);
  if (!answer.sequential) return {};
  if (answer.prefetch.empty() && answer.by_kernel) {
    return {.kind = Kind::kernels, .due = answer.due};
  }
  if (answer.prefetch.empty() && trusted) return {};
  // The number may belong to another file by now; then the read concerns that file.
  const ino_t inode = slot.inode;
  const dev_t device = slot.device;
  if (!is_of(slot, descriptor, facts)) return {};
  if (slot.inode != inode || slot.device != device) {
    answer = slot.rule->on_read(offset, bytes, endless, false);
    if (!answer.sequential) return {};
  }
  std::shared_ptr<OpenFile> file = open(slot, descriptor);
  if (file == nullptr) return {};
  // Linux reads together with the request, so its range is examined before any other.
  if (answer.by_kernel) {
    const bool cached = announce(slot, file, answer, facts);
    return {cached ? Kind::cached_kernels : Kind::kernels, std::move(file)};
  }
  // For the window after this one.
  if (!answer.prefetch.empty()) slot.rule->set_window_max(window_max());
  lock.unlock();
  if (answer.prefetch.empty()) return {Kind::stream, std::move(file)};
  const PageRange next = within(facts, answer.prefetch);
  const bool cached = !next.empty() && fetch(file, next);
  return {cached ? Kind::cached_stream : Kind::stream, std::move(file)};
}

void Prefetch::after_kernels_read(int descriptor, std::uint64_t offset, std::uint64_t bytes) {
  Slot& slot = slot_of(descriptor);
  const std::lock_guard lock(slot.mutex);
  if (slot.descriptor != descriptor || slot.refused || slot.random) return;
  const ino_t inode = slot.inode;
  const dev_t device = slot.device;
  struct stat facts{};
  if (!is_of(slot, descriptor, facts) || slot.inode != inode || slot.device != device) return;
  const std::shared_ptr<OpenFile> file = open(slot, descriptor);
  if (file == nullptr) return;
  const ReadAheadAnswer answer = slot.rule->on_done(offset, bytes, endless);
  if (answer.by_kernel) announce(slot, file, answer, facts);
}

bool Prefetch::announce(Slot& slot, const std::shared_ptr<OpenFile>& file,
                        const ReadAheadAnswer& answer, const struct stat& facts) {
  if (!answer.done.empty()) cache_->retire(*file, answer.done);
  const PageRange range = within(facts, answer.prefetch);
  if (range.empty()) return false;
  const bool any = insert_absent(file, range, [](PageRange) {});
  slot.cached_end.store(0, std::memory_order_relaxed);
  if (any) return false;
  // All is cached: how far? Each look may be of more then.
  const PageRange more = within(facts, {range.end(), piece_pages});
  std::array<std::uint8_t, piece_pages> cached;
  const std::span<std::uint8_t> pages(cached.data(), more.pages);
  if (!more.empty()) static_cast<void>(file->probe(file->random(), more.first, pages, 1));
  const std::uint64_t end =
      more.first + static_cast<std::uint64_t>(std::ranges::find(pages, 0) - pages.begin());
  slot.rule->skip_to(end);
  slot.cached_end.store((end - std::min(end, slot.rule->kernel_pages())) * io::page_bytes,
                        std::memory_order_relaxed);
  return true;
}

// Calls absent(range) for the inserted ranges. Returns true if there were any.
template <class Absent>
bool Prefetch::insert_absent(const std::shared_ptr<OpenFile>& file, PageRange range,
                             Absent absent) {
  const int twin = file->random();
  bool any = false;
  std::array<std::uint8_t, piece_pages> cached;
  while (!range.empty()) {
    const PageRange piece{range.first, std::min({range.pages, piece_pages, cache_->insert_max()})};
    range = {piece.end(), range.pages - piece.pages};
    const std::span<std::uint8_t> pages(cached.data(), piece.pages);
    // Page by page: a page that another program needs must not be inserted.
    if (file->probe(twin, piece.first, pages, 1) == piece.pages) continue;
    any = true;
    for (auto at = pages.begin(); (at = std::find(at, pages.end(), 0)) != pages.end();) {
      const auto end = std::find(at, pages.end(), 1);
      const PageRange gap{piece.first + static_cast<std::uint64_t>(at - pages.begin()),
                          static_cast<std::uint64_t>(end - at)};
      at = end;
      cache_->insert(file, gap);
      absent(gap);
    }
  }
  return any;
}

bool Prefetch::fetch(const std::shared_ptr<OpenFile>& file, PageRange range) {
  const int twin = file->random();
  return !insert_absent(file, range, [&](PageRange absent) {
    static_cast<void>(
        io::raw(SYS_readahead, twin, absent.first * io::page_bytes, absent.pages * io::page_bytes));
  });
}

void Prefetch::after_stream_read(const OpenFile& file, std::uint64_t offset, std::uint64_t bytes) {
  if (pages_held() == 0) return;
  const std::uint64_t first = offset / io::page_bytes;
  const PageRange done{first, (offset + bytes) / io::page_bytes - first};
  if (!done.empty()) cache_->retire(file, done);
}

void Prefetch::used_again(const OpenFile& file, PageRange range) {
  if (pages_held() > 0) cache_->refresh(file, range);
}

void Prefetch::keep(int descriptor, PageRange range) {
  if (pages_held() == 0 || range.empty()) return;
  if (const std::shared_ptr<OpenFile> file = files_.known(descriptor)) cache_->keep(*file, range);
}

void Prefetch::advise(int descriptor, std::int64_t offset, std::int64_t bytes, int advice) {
  using Advice = ReadAhead::Advice;
  const auto set = [&](Advice wanted) {
    Slot& slot = slot_of(descriptor);
    const std::lock_guard lock(slot.mutex);
    struct stat facts{};
    if (!is_of(slot, descriptor, facts)) return;
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
      return;  // NOREUSE has no effect on later reads.
  }
}

void Prefetch::closing(int descriptor) {
  Slot* const slot =
      slots_[static_cast<std::uint32_t>(descriptor) % slots].load(std::memory_order_acquire);
  if (slot == nullptr) return;
  const std::lock_guard lock(slot->mutex);
  if (slot->descriptor == descriptor) end(*slot);
}

void Prefetch::ending(OpenFile& file) {
  if (file.random() >= 0) cache_->end(file);
}

void Prefetch::after_fork_child() {
  cache_->after_fork_child();
  new (&mutex_) std::mutex;
  // Another thread may have been changing these: their contents are abandoned.
  new (&device_pages_) decltype(device_pages_);
  for (std::atomic<Slot*>& slot : slots_) slot.store(nullptr, std::memory_order_relaxed);
  pages_claimed_.store(0, std::memory_order_relaxed);
}

}  // namespace k2k::router
