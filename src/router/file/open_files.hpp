#pragma once
// The state of each file that was read for the device: its O_DIRECT twin and its residency probe.
// One entry per inode, for any number of descriptors of the program, and a second entry for writing
// if the file is written directly (writes.hpp). Statements about twins here apply to both.
//
// A twin keeps its inode open, and closing it drops the process's POSIX locks on the file. So an
// entry ends when the program closes any descriptor of the inode, which drops the locks anyway
// (closing), or when a sweep over /proc/self/fd finds no descriptor of it: then no lock is left.
//
// A file system may take any time to open a twin: readers of other files do not wait for it, and
// readers of this file wait for at most wait_for_twin_max.
//
// Threading: OpenFiles from any thread. An OpenFile is shared; its members state their own rules.

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <compare>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "io/file/direct_file.hpp"
#include "io/file/page_range.hpp"
#include "io/file/residency.hpp"
#include "router/file/evicted.hpp"
#include "router/plan/model.hpp"

namespace k2k::router {

// The history of direct reads, or writes, on one device (st_dev), and its cost. After refusals_max
// files were refused direct transfers because of their file system, and none ever had one, further
// files are not tried.
//
// Threading: any.
class DirectDevice {
 public:
  static constexpr std::uint32_t refusals_max = 3;

  // `all` counts the refusals of every device.
  explicit DirectDevice(std::shared_ptr<std::atomic<std::uint64_t>> all) : all_(std::move(all)) {}

  [[nodiscard]] bool refuses() const {
    return refusals_.load(std::memory_order_relaxed) >= refusals_max && !has_transferred();
  }
  // A file of the device has no direct transfers from now on.
  void note_refusal() {
    refusals_.fetch_add(1, std::memory_order_relaxed);
    all_->fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] bool has_transferred() const {
    return transferred_.load(std::memory_order_relaxed);
  }
  void note_transfer() {
    if (!has_transferred()) transferred_.store(true, std::memory_order_relaxed);
  }

  // Its cost, once known. Guarded by the table's lock.
  [[nodiscard]] const std::optional<Model>& model() const { return model_; }
  void set_model(const Model& model) { model_ = model; }

 private:
  std::optional<Model> model_;
  const std::shared_ptr<std::atomic<std::uint64_t>> all_;
  std::atomic<std::uint64_t> refusals_{0};
  std::atomic<bool> transferred_{false};
};

class OpenFile {
 public:
  // For a descriptor that permits the access; empty while a POSIX lock on the file forbids a twin,
  // or no descriptor is left for one. Any other failure leaves the file without a twin or with
  // sampled residency: the page cache still serves it.
  using Access = io::DirectFile::Access;
  static std::shared_ptr<OpenFile> open(int descriptor, const Model& model,
                                        std::shared_ptr<DirectDevice> device,
                                        Access access = Access::read);
  OpenFile(const Model& model, std::shared_ptr<DirectDevice> device)
      : model_(model), device_(std::move(device)) {}

  [[nodiscard]] const Model& model() const { return model_; }
  // Unique in this process, for ever.
  [[nodiscard]] std::uint64_t id() const { return id_; }
  // Does probe() report Linux' information, rather than an inference?
  [[nodiscard]] bool knows_residency();

  // nullptr if the file or its device has no direct transfers.
  [[nodiscard]] const io::DirectFile* direct() const {
    const bool refused = refused_.load(std::memory_order_relaxed) || device_->refuses();
    return refused || !direct_ ? nullptr : &*direct_;
  }
  // A twin that reads by the page cache without read-ahead; -1 if it cannot be opened. Opened at
  // the first call with a descriptor of the file.
  int random(int descriptor);
  [[nodiscard]] int random() const { return random_.load(std::memory_order_relaxed); }
  // A transfer was refused because of the file's kind (Outcome::is_no_direct_file): no further
  // attempts.
  void refuse_direct() {
    if (!refused_.exchange(true, std::memory_order_relaxed)) device_->note_refusal();
  }
  void note_transfer() {
    if (has_transferred()) return;
    transferred_.store(true, std::memory_order_relaxed);
    device_->note_transfer();
  }
  [[nodiscard]] bool has_transferred() const {
    return transferred_.load(std::memory_order_relaxed);
  }

  // io::ResidencyProbe::probe() under a lock.
  std::size_t probe(int descriptor, std::uint64_t first_page, std::span<std::uint8_t> bytes,
                    std::uint32_t grain);
  std::size_t probe(int descriptor, const struct stat& facts, std::uint64_t first_page,
                    std::span<std::uint8_t> bytes, std::uint32_t grain);
  void note_read(std::size_t pages, std::uint64_t nanoseconds, std::uint64_t fast_page_ns);

  // Requests that these pages leave the page cache (POSIX_FADV_DONTNEED). Expects random(). A folio
  // leaves as a whole or not at all: a folio that exceeds the range is requested again together
  // with the next range.
  void evict(io::PageRange range);
  // In the child of fork(): a thread of the parent may have held the lock.
  void after_fork_child() { new (&probing_) std::mutex; }
  // These pages are in use: no further request evicts them.
  void keep(io::PageRange range);
  // These pages will be read ahead: returns how many of them were evicted before.
  std::uint64_t evicted_before(io::PageRange range);

 private:
  static constexpr std::uint64_t folio_pages_max = 512;  // The largest folio that Linux makes.
  static constexpr int unopened = -2;

  static std::uint64_t next_id();

  const Model model_;
  const std::shared_ptr<DirectDevice> device_;
  const std::uint64_t id_ = next_id();
  std::optional<io::DirectFile> direct_;
  std::atomic<bool> refused_{false}, transferred_{false};
  std::mutex probing_;
  std::optional<io::ResidencyProbe> probe_;
  Evicted evicted_;         // Guarded by the same lock.
  io::PageRange juts_out_;  // The end of the last evicted range, if it is still cached; guarded.
  std::optional<Result<io::RandomFile>> random_file_;  // Guarded.
  std::atomic<int> random_{unopened};
};

class OpenFiles {
 public:
  static constexpr std::size_t files_max = 1024;    // Further files are read by the page cache.
  static constexpr std::size_t files_unswept = 64;  // Above this, a new file first sweeps old ones.
  static constexpr std::size_t devices_max = 256;   // No state is kept for further devices.

  // The costs of the device behind a descriptor; called once per device, or more often by threads
  // that open its first files concurrently.
  using ModelOf = std::function<Model(int descriptor)>;
  // For an entry that ends, while its twin is still open; during a sweep the table is locked.
  using Ending = std::function<void(OpenFile&)>;
  explicit OpenFiles(ModelOf model_of, Ending ending = {})
      : model_of_(std::move(model_of)), ending_(std::move(ending)) {}

  // The entry of the descriptor's inode; a new one is made. nullptr: not a regular file or block
  // device, not open for reading, files_max, or its twin was not opened in time.
  std::shared_ptr<OpenFile> find(int descriptor);
  // The same, for a caller that already has the result of fstat(2).
  std::shared_ptr<OpenFile> find(int descriptor, const struct stat& facts);
  // The entry for writing, of a regular file with a descriptor that can_be_written_in_parts(). It
  // has no model.
  std::shared_ptr<OpenFile> find_for_writing(int descriptor, const struct stat& facts);
  // As find(), without making an entry.
  std::shared_ptr<OpenFile> known(int descriptor) const;
  // Ends the entries of the descriptor's inode: the program is about to close it.
  // Waits for its requests in progress, 1 s at most: the last one would close the twin.
  void closing(int descriptor);
  void forget(std::uint64_t device, std::uint64_t inode);
  // Ends the entries without a descriptor of the program. Returns their number.
  std::size_t sweep();
  [[nodiscard]] std::size_t size() const;
  // The number of files that were read without direct transfers because their file system has none,
  // or refused one.
  [[nodiscard]] std::uint64_t files_refused() const {
    return files_refused_->load(std::memory_order_relaxed);
  }
  // In the child of fork(), which has one thread: another thread may have held the lock.
  void after_fork_child();

 private:
  using Access = OpenFile::Access;
  using Inode = std::pair<dev_t, ino_t>;
  using Key = std::pair<Inode, Access>;
  using Ended = std::vector<std::shared_ptr<OpenFile>>;
  class Opening;

  // These expect mutex_ held. Twins are closed with the result of sweep_locked(), after unlocking.
  Ended sweep_locked();
  std::shared_ptr<DirectDevice> device_locked(const struct stat& facts, Access access);
  Model model_of(int descriptor, DirectDevice& device);
  void resized_locked();
  // Waits until no thread opens a twin of the inode; false: not in time.
  bool wait_for_twin(std::unique_lock<std::mutex>& lock, const Key& key);
  std::shared_ptr<OpenFile> find(int descriptor, const struct stat& facts, Access access);
  void forget(const Key& key, Instant end);

  const ModelOf model_of_;
  const Ending ending_;
  const std::shared_ptr<std::atomic<std::uint64_t>> files_refused_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  mutable std::mutex mutex_;
  std::atomic<std::size_t> size_{0};  // Size of files_ and opening_, for callers without an entry
                                      // to end.
  std::map<Key, std::shared_ptr<OpenFile>> files_;
  // Inodes with a twin being opened; true: close it again, because its descriptor was closed
  // meanwhile. One at a time: if two twins of an inode were open, closing one would drop POSIX
  // locks.
  std::map<Key, bool> opening_;
  std::condition_variable opened_;
  // For a file its st_dev; for a block device's node its st_rdev.
  struct DeviceKey {
    dev_t device;
    bool is_node;
    Access access;
    auto operator<=>(const DeviceKey&) const = default;
  };
  std::map<DeviceKey, std::shared_ptr<DirectDevice>> devices_;
  std::size_t swept_size_ = 0;
};

}  // namespace k2k::router
