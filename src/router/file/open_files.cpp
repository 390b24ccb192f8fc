#include "router/file/open_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <set>
#include <thread>

#include "base/clock.hpp"
#include "io/file/raw.hpp"
#include "router/file/readable.hpp"

namespace k2k::router {

namespace {

using namespace std::chrono_literals;

constexpr Nanoseconds wait_for_requests_max = 1s;  // Of a file system that hangs.
constexpr Nanoseconds wait_for_twin_max = 20ms;    // Likewise: a request can do without a twin.
constexpr Nanoseconds wait_for_requests = 50us;

// Calls visit(descriptor) for each of this process's descriptors; false if /proc is missing.
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

// Why there is no twin, and may be one with the next request.
bool is_for_now(int error) {
  return error == EBUSY || error == EMFILE || error == ENFILE || error == ENOMEM;
}

// Does the error mean that the file system has no direct transfers, so that other files have none
// either?
bool is_of_file_system(int error) { return error == EINVAL || error == EOPNOTSUPP; }

// st_dev and st_ino from Linux' memory: the call does not wait for a hanging file system.
std::optional<std::pair<dev_t, ino_t>> inode_of(int descriptor) {
  struct statx seen{};
  const int result = ::statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &seen);
  if (result != 0) return {};
  return std::pair{::makedev(seen.stx_dev_major, seen.stx_dev_minor), ino_t{seen.stx_ino}};
}

}  // namespace

std::uint64_t OpenFile::next_id() {
  static std::atomic<std::uint64_t> ids{0};
  return ids.fetch_add(1, std::memory_order_relaxed);
}

bool OpenFile::knows_residency() {
  const std::lock_guard lock(probing_);
  return probe_ && probe_->method() != io::ProbeMethod::sampled;
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

std::shared_ptr<OpenFile> OpenFile::open(int descriptor, const Model& model,
                                         std::shared_ptr<DirectDevice> device, Access access) {
  auto file = std::make_shared<OpenFile>(model, std::move(device));
  if (file->device_->refuses()) {
    file->refuse_direct();
  } else {
    Result<io::DirectFile> direct = io::DirectFile::open(descriptor, access);
    if (!direct && is_for_now(direct.error().code)) return nullptr;
    if (!direct && is_of_file_system(direct.error().code)) file->refuse_direct();
    if (direct) file->direct_.emplace(std::move(direct).value());
  }
  Result<io::ResidencyProbe> probe = io::ResidencyProbe::open(descriptor);
  if (probe) file->probe_.emplace(std::move(probe).value());
  return file;
}

std::size_t OpenFile::probe(int descriptor, std::uint64_t first_page, std::span<std::uint8_t> bytes,
                            std::uint32_t grain) {
  struct stat facts{};
  if (::fstat(descriptor, &facts) == 0) return probe(descriptor, facts, first_page, bytes, grain);
  std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
  return 0;
}

std::size_t OpenFile::probe(int descriptor, const struct stat& facts, std::uint64_t first_page,
                            std::span<std::uint8_t> bytes, std::uint32_t grain) {
  const std::lock_guard lock(probing_);
  if (probe_) return probe_->probe(descriptor, facts, first_page, bytes, grain);
  std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
  return 0;
}

void OpenFile::note_read(std::size_t pages, std::uint64_t nanoseconds, std::uint64_t fast_page_ns) {
  const std::lock_guard lock(probing_);
  if (probe_ && probe_->method() == io::ProbeMethod::sampled) {
    probe_->note_read(pages, nanoseconds, fast_page_ns);
  }
}

void OpenFile::evict(io::PageRange range) {
  {
    const std::lock_guard lock(probing_);
    evicted_.add(range);
    const bool goes_on = !juts_out_.empty() && juts_out_.end() == range.first;
    if (goes_on) range = {juts_out_.first, juts_out_.pages + range.pages};
  }
  static_cast<void>(io::raw(SYS_fadvise64, random(), range.first * io::page_bytes,
                            range.pages * io::page_bytes, POSIX_FADV_DONTNEED));
  std::uint8_t last = 0;
  const bool stays = probe(random(), range.end() - 1, {&last, 1}, 1) == 1;
  const std::uint64_t pages = stays ? std::min(range.pages, folio_pages_max) : 0;
  const std::lock_guard lock(probing_);
  juts_out_ = {range.end() - pages, pages};
}

void OpenFile::keep(io::PageRange range) {
  const std::lock_guard lock(probing_);
  if (range.first < juts_out_.end() && juts_out_.first < range.end()) juts_out_ = {};
}

std::uint64_t OpenFile::evicted_before(io::PageRange range) {
  const std::lock_guard lock(probing_);
  return evicted_.take(range);
}

// Ends the opening in find(), on every path.
class OpenFiles::Opening {
 public:
  Opening(OpenFiles& files, const Key& key) : files_(files), key_(key) {}
  ~Opening() { opened(nullptr); }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

  // Enters the file, and gives it back; nothing if its descriptor was closed meanwhile.
  std::shared_ptr<OpenFile> opened(std::shared_ptr<OpenFile> file) {
    const std::lock_guard lock(files_.mutex_);
    const auto opening = files_.opening_.find(key_);
    if (is_over_ || opening == files_.opening_.end()) return nullptr;
    is_over_ = true;
    const bool unwanted = opening->second;
    if (file != nullptr && !unwanted) files_.files_.emplace(key_, file);
    files_.opening_.erase(opening);
    files_.resized_locked();
    files_.opened_.notify_all();
    return unwanted ? nullptr : file;
  }

 private:
  OpenFiles& files_;
  const Key key_;
  bool is_over_ = false;
};

std::shared_ptr<OpenFile> OpenFiles::find(int descriptor) {
  struct stat facts{};
  return ::fstat(descriptor, &facts) == 0 ? find(descriptor, facts) : nullptr;
}

std::shared_ptr<OpenFile> OpenFiles::find(int descriptor, const struct stat& facts) {
  if (!S_ISREG(facts.st_mode) && !S_ISBLK(facts.st_mode)) return nullptr;
  if (!can_be_read(descriptor))
    return nullptr;  // Of an inode that another descriptor can read, too.
  return find(descriptor, facts, Access::read);
}

std::shared_ptr<OpenFile> OpenFiles::find_for_writing(int descriptor, const struct stat& facts) {
  if (!S_ISREG(facts.st_mode) || !can_be_written_in_parts(descriptor)) return nullptr;
  return find(descriptor, facts, Access::write);
}

std::shared_ptr<OpenFile> OpenFiles::find(int descriptor, const struct stat& facts, Access access) {
  // A block device's inode is its node's: two nodes of one device have an entry each.
  const Key key{{facts.st_dev, facts.st_ino}, access};
  Ended ended;
  std::shared_ptr<DirectDevice> device;
  {
    std::unique_lock lock(mutex_);
    if (!wait_for_twin(lock, key)) return nullptr;
    const auto found = files_.find(key);
    if (found != files_.end()) return found->second;
    if (files_.size() >= std::max(files_unswept, 2 * swept_size_)) ended = sweep_locked();
    if (files_.size() + opening_.size() >= files_max) return nullptr;
    device = device_locked(facts, access);
    opening_.emplace(key, false);
    resized_locked();
  }
  Opening opening(*this, key);
  ended.clear();
  const Model model = access == Access::read ? model_of(descriptor, *device) : Model();
  return opening.opened(OpenFile::open(descriptor, model, std::move(device), access));
}

void OpenFiles::resized_locked() {
  size_.store(files_.size() + opening_.size(), std::memory_order_relaxed);
}

bool OpenFiles::wait_for_twin(std::unique_lock<std::mutex>& lock, const Key& key) {
  const auto is_opened = [&] { return opening_.empty() || !opening_.contains(key); };
  return is_opened() || opened_.wait_for(lock, wait_for_twin_max, is_opened);
}

// Called unlocked: a file system may take long to answer.
Model OpenFiles::model_of(int descriptor, DirectDevice& device) {
  {
    const std::lock_guard lock(mutex_);
    if (device.model()) return *device.model();
  }
  const Model model = model_of_(descriptor);
  const std::lock_guard lock(mutex_);
  if (!device.model()) device.set_model(model);
  return *device.model();
}

std::shared_ptr<DirectDevice> OpenFiles::device_locked(const struct stat& facts, Access access) {
  const bool is_node = S_ISBLK(facts.st_mode);
  const DeviceKey key{is_node ? facts.st_rdev : facts.st_dev, is_node, access};
  const auto found = devices_.find(key);
  if (found != devices_.end()) return found->second;
  auto made = std::make_shared<DirectDevice>(files_refused_);
  if (devices_.size() < devices_max) devices_.emplace(key, made);
  return made;
}

std::shared_ptr<OpenFile> OpenFiles::known(int descriptor) const {
  const std::optional<Inode> inode = inode_of(descriptor);
  if (!inode) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = files_.find({*inode, Access::read});
  return found == files_.end() ? nullptr : found->second;
}

void OpenFiles::closing(int descriptor) {
  if (size_.load(std::memory_order_relaxed) == 0) return;
  if (const std::optional<Inode> inode = inode_of(descriptor)) forget(inode->first, inode->second);
}

void OpenFiles::forget(std::uint64_t device, std::uint64_t inode) {
  // Relaxed: a file's first request and the close of its descriptor at once are the program's race.
  if (size_.load(std::memory_order_relaxed) == 0) return;
  const Instant end = now() + wait_for_requests_max;
  for (const Access access : {Access::read, Access::write}) forget({{device, inode}, access}, end);
}

void OpenFiles::forget(const Key& key, Instant end) {
  std::shared_ptr<OpenFile> ended;
  {
    std::unique_lock lock(mutex_);
    const auto is_opened = [&] { return !opening_.contains(key); };
    if (!opened_.wait_for(lock, end - now(), is_opened)) opening_[key] = true;
    const auto found = files_.find(key);
    if (found == files_.end()) return;
    ended = std::move(found->second);
    files_.erase(found);
    resized_locked();
  }
  if (ending_) ending_(*ended);
  // A request in progress would close the twin later, under locks that were taken meanwhile.
  while (ended.use_count() > 1 && now() < end) std::this_thread::sleep_for(wait_for_requests);
}

std::size_t OpenFiles::sweep() {
  Ended ended;
  const std::lock_guard lock(mutex_);
  ended = sweep_locked();
  return ended.size();
}

OpenFiles::Ended OpenFiles::sweep_locked() {
  std::set<Inode> used;
  const bool known = for_each_descriptor([&](int descriptor) {
    if (is_own(descriptor)) return;
    if (const std::optional<Inode> inode = inode_of(descriptor)) used.insert(*inode);
  });
  Ended ended;
  for (auto at = files_.begin(); known && at != files_.end();) {
    if (used.contains(at->first.first)) {
      ++at;
      continue;
    }
    if (ending_) ending_(*at->second);
    ended.push_back(std::move(at->second));
    at = files_.erase(at);
  }
  swept_size_ = files_.size();
  resized_locked();
  return ended;
}

std::size_t OpenFiles::size() const {
  const std::lock_guard lock(mutex_);
  return files_.size();
}

void OpenFiles::after_fork_child() {
  new (&mutex_) std::mutex;
  new (&opened_) std::condition_variable;
  new (&opening_) decltype(opening_);  // By the parent's threads, if any.
  for (const auto& [key, file] : files_) file->after_fork_child();
}

}  // namespace k2k::router
