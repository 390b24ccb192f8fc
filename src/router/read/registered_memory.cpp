#include "router/read/registered_memory.hpp"

#include <fmt/format.h>
#include <limits.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace k2k::router {

// A call of a range's, for a scope.
class RegisteredMemory::Use {
 public:
  Use(RegisteredMemory& memory, const void* address)
      : memory_(memory), range_(memory.begin_call(address)) {}
  ~Use() {
    if (range_) memory_.end_call(*range_);
  }
  Use(Use&& other) noexcept : memory_(other.memory_), range_(std::move(other.range_)) {}
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  Use& operator=(Use&&) = delete;

  explicit operator bool() const { return range_ != nullptr; }
  [[nodiscard]] bool holds(const void* memory, std::size_t bytes) const {
    return bytes <= range_->last - reinterpret_cast<std::uintptr_t>(memory);
  }
  [[nodiscard]] FileReader* reader() const { return range_->reader.get(); }

 private:
  RegisteredMemory& memory_;
  std::shared_ptr<Range> range_;
};

RegisteredMemory& RegisteredMemory::of_process() {
  static RegisteredMemory& all = []() -> RegisteredMemory& {
    static RegisteredMemory& made = *new RegisteredMemory;
    ::pthread_atfork([] { made.mutex_.lock(); }, [] { made.mutex_.unlock(); },
                     [] { made.become_child(); });
    return made;
  }();
  return all;
}

namespace {
// Made when the library is loaded: a fork could find it in the making, and its child would wait for
// the guard for ever.
[[maybe_unused]] const RegisteredMemory& at_load = RegisteredMemory::of_process();
}  // namespace

Status RegisteredMemory::add(void* address, std::size_t bytes, std::shared_ptr<FileReader> reader) {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const auto refused = [&](int code, const char* why) {
    return Error{code, fmt::format("registering {} bytes at {}: {}", bytes, address, why)};
  };
  if (first == 0 || bytes == 0 || bytes > UINTPTR_MAX - first) {
    return refused(EINVAL, "that is no memory; pass an address and the bytes behind it");
  }
  const std::lock_guard lock(mutex_);
  const auto behind = by_first_.lower_bound(first + bytes);
  if (behind != by_first_.begin() && std::prev(behind)->second->last > first) {
    return refused(EEXIST, "it overlaps memory that is registered; unregister that first");
  }
  auto range = std::make_shared<Range>(Range{.first = first, .last = first + bytes, .reader = {}});
  if (std::ranges::find(readers_, reader) == readers_.end()) readers_.push_back(reader);
  range->reader = std::move(reader);
  by_first_.emplace(first, range);
  if (ranges_.add(address, bytes) != 0) {
    by_first_.erase(first);
    drop_reader(range->reader);
    return refused(ENOSPC, "256 ranges are registered; unregister some, or register larger ones");
  }
  any_reader_.store(true, std::memory_order_relaxed);
  return {};
}

Status RegisteredMemory::remove(void* address) {
  std::shared_ptr<FileReader> reader;  // Ends, if it does, without the lock.
  std::unique_lock lock(mutex_);
  const auto found = by_first_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == by_first_.end() || found->second->leaves) {
    return Error{ENOENT, fmt::format("no registered memory begins at {}; pass what was registered",
                                     address)};
  }
  const std::shared_ptr<Range> range = found->second;
  range->leaves = true;
  ranges_.remove(address);
  call_ended_.wait(lock, [&] { return range->calls == 0; });
  by_first_.erase(range->first);
  reader = std::move(range->reader);
  drop_reader(reader);
  return {};
}

// Expects the lock, and another owner that still holds the reader.
void RegisteredMemory::drop_reader(const std::shared_ptr<FileReader>& reader) {
  const bool is_used = std::ranges::any_of(
      by_first_, [&](const auto& each) { return each.second->reader == reader; });
  if (is_used) return;
  add_to(ended_, reader->stats());
  std::erase(readers_, reader);
  any_reader_.store(!readers_.empty(), std::memory_order_relaxed);
}

std::shared_ptr<RegisteredMemory::Range> RegisteredMemory::begin_call(const void* memory) {
  if (ranges_.kind_of(memory, 1) == 0) return {};  // Without a lock: memory of the host.
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::lock_guard lock(mutex_);
  const auto behind = by_first_.upper_bound(address);
  if (behind == by_first_.begin()) return {};
  const std::shared_ptr<Range>& range = std::prev(behind)->second;
  if (address >= range->last || range->leaves) return {};
  ++range->calls;
  return range;
}

void RegisteredMemory::end_call(Range& range) {
  const std::lock_guard lock(mutex_);
  if (--range.calls == 0 && range.leaves) call_ended_.notify_all();
}

template <class Serve>
std::optional<ssize_t> RegisteredMemory::serve(const void* memory, std::size_t bytes, Serve serve) {
  if (bytes == 0) return {};
  const Use use(*this, memory);
  if (!use) return {};
  if (!use.holds(memory, bytes)) return -EFAULT;
  return serve(*use.reader());
}

std::optional<ssize_t> RegisteredMemory::read_near(int descriptor, void* memory, std::size_t bytes,
                                                   std::int64_t offset) {
  return serve(memory, bytes,
               [&](FileReader& reader) { return reader.pread(descriptor, memory, bytes, offset); });
}

std::optional<ssize_t> RegisteredMemory::try_pread(int descriptor, void* memory, std::size_t bytes,
                                                   std::int64_t offset) {
  return serve(memory, bytes, [&](FileReader& reader) {
    return reader.try_pread(descriptor, memory, bytes, offset);
  });
}

std::optional<ssize_t> RegisteredMemory::pwrite(int descriptor, const void* memory,
                                                std::size_t bytes, std::int64_t offset) {
  if (!near(memory)) [[likely]]
    return {};
  return serve(memory, bytes, [&](FileReader& reader) {
    return reader.pwrite(descriptor, memory, bytes, offset);
  });
}

std::optional<ssize_t> RegisteredMemory::call(const VectorCall& call) {
  const std::span<const iovec> pieces = call.pieces;
  const auto is_near = [&](const iovec& piece) {
    return piece.iov_len > 0 && near(piece.iov_base);
  };
  if (std::ranges::none_of(pieces, is_near)) return {};
  // Linux reports the mistake in a vector.
  const bool is_wrong =
      std::ranges::any_of(pieces, [](const iovec& piece) { return piece.iov_len > SSIZE_MAX; });
  if (pieces.size() > IOV_MAX || is_wrong) return {};

  std::vector<Use> uses;
  const auto is_device = std::make_unique<bool[]>(pieces.size());
  for (std::size_t at = 0; at < pieces.size(); ++at) {
    if (!is_near(pieces[at])) continue;
    Use use(*this, pieces[at].iov_base);
    if (!use) continue;
    if (!use.holds(pieces[at].iov_base, pieces[at].iov_len)) return -EFAULT;
    if (!uses.empty() && uses.front().reader() != use.reader()) return -EFAULT;
    is_device[at] = true;
    uses.push_back(std::move(use));
  }
  if (uses.empty()) return {};
  return uses.front().reader()->whole({.descriptor = call.descriptor,
                                       .pieces = pieces,
                                       .is_device = {is_device.get(), pieces.size()},
                                       .write = call.write,
                                       .offset = call.offset,
                                       .flags = call.flags});
}

std::vector<std::shared_ptr<FileReader>> RegisteredMemory::readers() const {
  if (!any_reader_.load(std::memory_order_relaxed)) return {};
  const std::lock_guard lock(mutex_);
  return readers_;
}

void RegisteredMemory::keep(std::shared_ptr<FileReader> reader) {
  const std::lock_guard lock(mutex_);
  readers_.push_back(std::move(reader));
  any_reader_.store(true, std::memory_order_relaxed);
}

// A thread of the parent may have held the lock.
void RegisteredMemory::after_fork_child() {
  new (&mutex_) std::mutex;
  mutex_.lock();
  become_child();
}

ReaderStats RegisteredMemory::stats() const {
  const std::lock_guard lock(mutex_);
  ReaderStats sum = ended_;
  for (const auto& reader : readers_) add_to(sum, reader->stats());
  return sum;
}

// The lock is the parent's fork()'s. Readers are left as they are: their threads and devices are
// not here.
void RegisteredMemory::become_child() {
  for (auto& reader : readers_) {
    reader->after_fork_child();
    new std::shared_ptr<FileReader>(reader);
  }
  for (const auto& [first, range] : by_first_) {
    if (!range->leaves) ranges_.remove(reinterpret_cast<const void*>(first));
  }
  by_first_.clear();
  readers_.clear();
  any_reader_.store(false, std::memory_order_relaxed);
  ended_ = {};
  new (&call_ended_) std::condition_variable;
  mutex_.unlock();
}

namespace {

constexpr std::uint64_t ReaderStats::* counts[] = {
    &ReaderStats::reads,         &ReaderStats::writes,      &ReaderStats::unprobed,
    &ReaderStats::probed,        &ReaderStats::mixed,       &ReaderStats::bytes_cache,
    &ReaderStats::bytes_direct,  &ReaderStats::fall_backs,  &ReaderStats::files_refused,
    &ReaderStats::misaligned,    &ReaderStats::pages_ahead, &ReaderStats::pages_evicted,
    &ReaderStats::pages_held,    &ReaderStats::pages_kept,  &ReaderStats::pages_again,
    &ReaderStats::writes_direct,
};
static_assert(sizeof(ReaderStats) == sizeof(counts), "one is missing");

}  // namespace

void add_to(ReaderStats& sum, const ReaderStats& more) {
  for (const auto count : counts) sum.*count += more.*count;
}

ReaderStats since(const ReaderStats& before, ReaderStats now) {
  for (const auto count : counts) now.*count -= before.*count;
  return now;
}

}  // namespace k2k::router
