#include "router/open_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <set>
#include <thread>

#include "base/clock.hpp"
#include "io/raw.hpp"

namespace k2k::router {

namespace {

using namespace std::chrono_literals;

constexpr Nanoseconds wait_for_requests_max = 1s;  // Of a file system that hangs.
constexpr Nanoseconds wait_for_requests = 50us;

// Calls visit(descriptor) for each of this process's; false if there is no /proc.
template <class Visit>
bool for_each_descriptor(Visit visit) {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return false;
  while (const dirent* const entry = ::readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    const int descriptor = std::atoi(entry->d_name);
    if (descriptor != ::dirfd(folder)) visit(descriptor);
  }
  ::closedir(folder);
  return true;
}

bool can_be_read(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_WRONLY && (flags & (O_DIRECT | O_PATH)) == 0;
}

}  // namespace

std::uint64_t OpenFile::next_id() {
  static std::atomic<std::uint64_t> ids{0};
  return ids.fetch_add(1, std::memory_order_relaxed);
}

bool OpenFile::knows_residency() {
  const std::lock_guard lock(probing_);
  return probe_ && probe_->way() != io::ProbeWay::sampled;
}

int OpenFile::random(int descriptor) {
  const int opened = random_.load(std::memory_order_acquire);
  if (opened != unopened) return opened;
  const std::lock_guard lock(probing_);
  if (!random_file_) {
    random_file_.emplace(io::RandomFile::open(descriptor));
    random_.store(*random_file_ ? random_file_->value().descriptor() : -1,
                  std::memory_order_release);
  }
  return random_.load(std::memory_order_relaxed);
}

std::shared_ptr<OpenFile> OpenFile::open(int descriptor, const Model& model) {
  auto file = std::make_shared<OpenFile>(model);
  Result<io::DirectFile> direct = io::DirectFile::open(descriptor, io::DirectFile::Access::read);
  if (!direct && direct.error().code == EBUSY) return nullptr;
  if (direct) file->direct_.emplace(std::move(direct).value());
  Result<io::ResidencyProbe> probe = io::ResidencyProbe::open(descriptor);
  if (probe) file->probe_.emplace(std::move(probe).value());
  return file;
}

std::size_t OpenFile::probe(int descriptor, std::uint64_t first_page, std::span<std::uint8_t> bytes,
                            std::uint32_t grain) {
  const std::lock_guard lock(probing_);
  if (probe_) return probe_->probe(descriptor, first_page, bytes, grain);
  std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
  return 0;
}

void OpenFile::note_read(std::size_t pages, std::uint64_t nanoseconds, std::uint64_t fast_page_ns) {
  const std::lock_guard lock(probing_);
  if (probe_ && probe_->way() == io::ProbeWay::sampled) {
    probe_->note_read(pages, nanoseconds, fast_page_ns);
  }
}

std::shared_ptr<OpenFile> OpenFiles::find(int descriptor) {
  struct stat facts{};
  return ::fstat(descriptor, &facts) == 0 ? find(descriptor, facts) : nullptr;
}

std::shared_ptr<OpenFile> OpenFiles::find(int descriptor, const struct stat& facts) {
  if (!S_ISREG(facts.st_mode) && !S_ISBLK(facts.st_mode)) return nullptr;
  if (!can_be_read(descriptor))
    return nullptr;  // Of an inode that another descriptor can read, too.
  // A block device's inode is its node's: two nodes of one device have an entry each.
  const Key key{facts.st_dev, facts.st_ino};
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(key);
  if (found != files_.end()) return found->second;
  if (files_.size() >= std::max(files_unswept, 2 * swept_size_)) sweep_locked();
  if (files_.size() >= files_max) return nullptr;
  // Under the lock: of two twins of one inode the one that is given up would drop POSIX locks.
  std::shared_ptr<OpenFile> file = OpenFile::open(descriptor, model_of_(descriptor));
  if (file == nullptr) return nullptr;
  files_.emplace(key, file);
  size_.store(files_.size(), std::memory_order_relaxed);
  return file;
}

std::shared_ptr<OpenFile> OpenFiles::known(int descriptor) const {
  struct stat facts{};
  if (::fstat(descriptor, &facts) != 0) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(Key{facts.st_dev, facts.st_ino});
  return found == files_.end() ? nullptr : found->second;
}

void OpenFiles::closing(int descriptor) {
  // Relaxed: a file's first request and the close of its descriptor at once are the program's race.
  if (size_.load(std::memory_order_relaxed) == 0) return;
  struct stat facts{};
  if (::fstat(descriptor, &facts) == 0) forget(facts.st_dev, facts.st_ino);
}

void OpenFiles::forget(std::uint64_t device, std::uint64_t inode) {
  std::shared_ptr<OpenFile> ended;
  {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(Key{device, inode});
    if (found == files_.end()) return;
    ended = std::move(found->second);
    files_.erase(found);
    size_.store(files_.size(), std::memory_order_relaxed);
  }
  if (ending_) ending_(*ended);
  // A request in progress would close the twin later, under locks that were taken meanwhile.
  const Instant end = now() + wait_for_requests_max;
  while (ended.use_count() > 1 && now() < end) std::this_thread::sleep_for(wait_for_requests);
}

std::size_t OpenFiles::sweep() {
  const std::lock_guard lock(mutex_);
  return sweep_locked();
}

std::size_t OpenFiles::sweep_locked() {
  std::set<Key> used;
  const bool known = for_each_descriptor([&](int descriptor) {
    struct stat facts{};
    if (io::is_own(descriptor) || ::fstat(descriptor, &facts) != 0) return;
    used.insert({facts.st_dev, facts.st_ino});
  });
  const std::size_t before = files_.size();
  const auto has_ended = [&](const auto& entry) {
    if (used.count(entry.first) != 0) return false;
    if (ending_) ending_(*entry.second);
    return true;
  };
  if (known) std::erase_if(files_, has_ended);
  swept_size_ = files_.size();
  size_.store(files_.size(), std::memory_order_relaxed);
  return before - files_.size();
}

std::size_t OpenFiles::size() const {
  const std::lock_guard lock(mutex_);
  return files_.size();
}

void OpenFiles::after_fork_child() { new (&mutex_) std::mutex; }

}  // namespace k2k::router
