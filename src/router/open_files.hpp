#pragma once
// What is kept of each file that was read for the device: its O_DIRECT twin and how its residency
// is found out. One entry an inode, however many descriptors the program has of it.
//
// A twin keeps its inode open, and closing it drops the process's POSIX locks on the file. So an
// entry ends when the program closes any descriptor of the inode, which drops them by itself
// (closing), or when a sweep over /proc/self/fd sees that it has none: then no lock is left.
//
// Threading: OpenFiles from any thread. An OpenFile is shared; what it says of itself.

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "io/direct_file.hpp"
#include "io/residency.hpp"
#include "router/model.hpp"

namespace k2k::router {

class OpenFile {
 public:
  // Of a descriptor that can be read; nothing while a POSIX lock on the file forbids a twin.
  // Whatever else fails leaves the file without a twin or with sampled residency: it can still be
  // read by the page cache.
  static std::shared_ptr<OpenFile> open(int descriptor, const Model& model);
  explicit OpenFile(const Model& model) : model_(model) {}

  [[nodiscard]] const Model& model() const { return model_; }
  // Of no other that this process ever made.
  [[nodiscard]] std::uint64_t id() const { return id_; }
  // Is what probe() says the kernel's word?
  [[nodiscard]] bool knows_residency();

  // Nothing where the file has no direct transfers, or was refused one.
  [[nodiscard]] const io::DirectFile* direct() const {
    return refused_.load(std::memory_order_relaxed) || !direct_ ? nullptr : &*direct_;
  }
  // A twin that reads by the page cache and nothing ahead; -1 if it cannot be had. Opened when
  // first asked for with a descriptor of the file.
  int random(int descriptor);
  [[nodiscard]] int random() const { return random_.load(std::memory_order_relaxed); }
  // A transfer was refused for what the file is (EREMOTEIO, EINVAL, EOPNOTSUPP): not tried again.
  void refuse_direct() { refused_.store(true, std::memory_order_relaxed); }

  // io::ResidencyProbe::probe() under a lock.
  std::size_t probe(int descriptor, std::uint64_t first_page, std::span<std::uint8_t> bytes,
                    std::uint32_t grain);
  void note_read(std::size_t pages, std::uint64_t nanoseconds, std::uint64_t fast_page_ns);

 private:
  static constexpr int unopened = -2;

  static std::uint64_t next_id();

  const Model model_;
  const std::uint64_t id_ = next_id();
  std::optional<io::DirectFile> direct_;
  std::atomic<bool> refused_{false};
  std::mutex probing_;
  std::optional<io::ResidencyProbe> probe_;
  std::optional<Result<io::RandomFile>> random_file_;  // Likewise guarded.
  std::atomic<int> random_{unopened};
};

class OpenFiles {
 public:
  static constexpr std::size_t files_max = 1024;    // Beyond, files are read by the page cache.
  static constexpr std::size_t files_unswept = 64;  // Beyond, a new file first looks for old ones.

  // Costs of the device behind a descriptor; asked once a file.
  using ModelOf = std::function<Model(int descriptor)>;
  // Of an entry that ends, while its twin is still open; the table is locked where it is swept.
  using Ending = std::function<void(const OpenFile&)>;
  explicit OpenFiles(ModelOf model_of, Ending ending = {})
      : model_of_(std::move(model_of)), ending_(std::move(ending)) {}

  // The entry of the descriptor's inode, made if it is new. Nothing: no regular file or block
  // device, not open for reading, or files_max.
  std::shared_ptr<OpenFile> find(int descriptor);
  // The same, for who has just asked what fstat(2) says of it.
  std::shared_ptr<OpenFile> find(int descriptor, const struct stat& facts);
  // Likewise, but none is made.
  std::shared_ptr<OpenFile> known(int descriptor) const;
  // Ends the entry of the descriptor's inode: the program is about to close it.
  // Waits for its requests in progress, 1 s at most: the last one would close the twin.
  void closing(int descriptor);
  void forget(std::uint64_t device, std::uint64_t inode);
  // Ends the entries of which the program has no descriptor. How many.
  std::size_t sweep();
  [[nodiscard]] std::size_t size() const;
  // In the child of fork(), which has one thread: another may have held the lock.
  void after_fork_child();

 private:
  using Key = std::pair<dev_t, ino_t>;

  std::size_t sweep_locked();

  const ModelOf model_of_;
  const Ending ending_;
  mutable std::mutex mutex_;
  std::atomic<std::size_t> size_{0};  // Of files_, for who has none to end.
  std::map<Key, std::shared_ptr<OpenFile>> files_;
  std::size_t swept_size_ = 0;
};

}  // namespace k2k::router
