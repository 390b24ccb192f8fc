#include "router/read/file_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/huge_pages.hpp"
#include "io/engine/engine.hpp"
#include "io/file/raw.hpp"
#include "io/file/residency.hpp"
#include "router/ahead/prefetch.hpp"
#include "router/file/expectation.hpp"
#include "router/file/open_files.hpp"
#include "router/plan/planner.hpp"
#include "router/read/cached_read.hpp"
#include "router/read/execution.hpp"
#include "router/read/read_steps.hpp"
#include "router/read/reader_parts.hpp"
#include "router/read/thread_counts.hpp"
#include "router/read/writes.hpp"

namespace k2k::router {

namespace {

constexpr std::chrono::milliseconds channel_wait_max{20};
// What misaligned memory's direct transfers come into, a part of a request at a time.
constexpr std::uint32_t bounce_pages = 1024;
constexpr std::size_t bounce_bytes = std::size_t{bounce_pages} * page_bytes;

// Expects a model that costs_of() takes.
Planner planner_of(const Model& model) { return Planner::create(model, part_pages + 1).value(); }

// May a program have memory there? Where the answer is no, the kernel's is better.
bool can_be_memory(const void* memory, std::size_t bytes) {
  constexpr std::uint64_t end = (1ull << 47) - page_bytes;  // Of x86-64, others have no less.
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  return first < end && bytes <= end - first;
}

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using HugeMemory = std::unique_ptr<std::byte, Free>;

// What one request in progress needs.
struct Channel {
  std::unique_ptr<io::Engine> engine;
  Planner planner;
  Execution execution{part_pages + 1};
  std::vector<std::uint8_t> residency = std::vector<std::uint8_t>(part_pages + 1);
  HugeMemory bounce{};  // Made when first needed.

  // Empty: there is no memory.
  std::span<std::byte> bounce_memory() {
    if (!bounce) {
      bounce.reset(static_cast<std::byte*>(allocate_in_huge_pages(page_bytes, bounce_bytes)));
    }
    return bounce ? std::span(bounce.get(), bounce_bytes) : std::span<std::byte>();
  }
};

// A channel for each request in progress, made when first needed.
class Channels {
 public:
  explicit Channels(const ReaderConfig& config) : config_(config) {}

  // Waits for one; nothing if there is no engine here, or none is given back in time: on a file
  // system that is slow, or hangs, are all of them.
  std::unique_ptr<Channel> take() {
    std::unique_lock lock(mutex_);
    const auto is_there = [&] { return !free_.empty() || made_ < config_.channels_max; };
    if (!is_there() && !given_back_.wait_for(lock, channel_wait_max, is_there)) return nullptr;
    if (!free_.empty()) {
      std::unique_ptr<Channel> channel = std::move(free_.back());
      free_.pop_back();
      return channel;
    }
    free_.reserve(made_ + std::size_t{1});  // So that giving it back takes no memory.
    ++made_;
    lock.unlock();
    std::unique_ptr<Channel> made = make();
    if (made) return made;
    lock.lock();
    --made_;
    given_back_.notify_one();
    return nullptr;
  }
  void give_back(std::unique_ptr<Channel> channel) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(channel));
    given_back_.notify_one();
  }
  // Those of the parent are left as they are: its kernel side is shared with it.
  void abandon() {
    new (&mutex_) std::mutex;
    new (&given_back_) std::condition_variable;
    for (std::unique_ptr<Channel>& channel : free_) static_cast<void>(channel.release());
    free_.clear();
    made_ = 0;
  }

 private:
  // Nothing: there is no engine here, or no memory.
  std::unique_ptr<Channel> make() {
    try {
      Result<std::unique_ptr<io::Engine>> engine = io::make_direct(config_.outstanding);
      if (!engine) return nullptr;
      return std::unique_ptr<Channel>(
          new Channel{.engine = std::move(engine).value(), .planner = planner_of(config_.model)});
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  const ReaderConfig config_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<std::unique_ptr<Channel>> free_;
  std::uint32_t made_ = 0;
};

// One of them, for a scope.
class Taken {
 public:
  explicit Taken(Channels& channels) : channels_(channels), channel_(channels.take()) {}
  ~Taken() {
    if (channel_) channels_.give_back(std::move(channel_));
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  explicit operator bool() const { return channel_ != nullptr; }
  Channel* operator->() const { return channel_.get(); }

 private:
  Channels& channels_;
  std::unique_ptr<Channel> channel_;
};

// The port of read_steps.hpp to memory that the CPU addresses. Without a channel, for what needs no
// plan.
struct HostMemory {
  Channel* channel = nullptr;
  std::span<std::byte> bounce{};

  // One pread(2), as the program would have made it.
  static ssize_t read(const FileRequest& request) {
    const ssize_t count = ::pread(request.descriptor, request.memory, request.bytes,
                                  static_cast<off_t>(request.offset));
    return count < 0 ? -errno : count;
  }
  static bool is_transfer(const FileRequest& request, const io::Alignment& alignment) {
    return is_one_transfer(request, alignment);
  }
  static Outcome transfer(const FileRequest& request, const OpenFile&,
                          const io::DirectFile& direct) {
    return read_directly(request, direct);
  }
  [[nodiscard]] std::span<std::uint8_t> residency(std::size_t pages) const {
    return {channel->residency.data(), pages};
  }
  [[nodiscard]] Outcome run(const FileRequest& part, Residency residency, const OpenFile& file,
                            const io::DirectFile& direct) const {
    return channel->execution.run(part, channel->planner.overlapped(residency), direct,
                                  *channel->engine, file.has_transferred(), bounce);
  }
};

class Reader final : public FileReader {
 public:
  explicit Reader(const ReaderConfig& config)
      : config_(config),
        steps_({.cache_gbs = config.model.cache_gbs, .grain_pages = config.grain_pages},
               expectation_, counters_),
        files_([this](int descriptor) { return model_of(descriptor); },
               [this](OpenFile& file) {
                 if (prefetch_) prefetch_->ending(file);
               }),
        channels_(config),
        writes_(config.exclusive ? config.direct_write_bytes : 0, files_, counters_) {
    // What it can refuse was checked.
    if (config.partition_pages == 0) return;
    const auto beyond =
        config.partition_where_free ? Prefetch::Beyond::unbounded : Prefetch::Beyond::smaller;
    prefetch_ = Prefetch::create(config.partition_pages, beyond, files_).value();
    steps_.set_prefetch(prefetch_.get());
  }

  // The router's way takes memory where a file, or a request more at once, is new to it. Without
  // any, the kernel's way is left, which takes none; no transfer is in flight then.
  ssize_t pread(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) override {
    add(counters_.reads, 1);
    try {
      return routed_pread(descriptor, memory, bytes, offset);
    } catch (const std::bad_alloc&) {
      const ssize_t count = ::pread(descriptor, memory, bytes, static_cast<off_t>(offset));
      return count < 0 ? -errno : count;
    }
  }
  ssize_t pwrite(int descriptor, const void* memory, std::size_t bytes,
                 std::int64_t offset) override {
    add(counters_.writes, 1);
    try {
      return routed_pwrite(descriptor, memory, bytes, offset);
    } catch (const std::bad_alloc&) {
      const ssize_t count = ::pwrite(descriptor, memory, bytes, static_cast<off_t>(offset));
      return count < 0 ? -errno : count;
    }
  }

  ssize_t routed_pread(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) {
    // The kernel looks at the memory of all that is asked for, though it moves less at once.
    const bool is_cut = bytes > io::transfer_bytes_max && can_be_memory(memory, bytes);
    const FileRequest request{descriptor, static_cast<std::byte*>(memory),
                              is_cut ? io::transfer_bytes_max : bytes,
                              static_cast<std::uint64_t>(offset)};
    if (bytes < config_.unprobed_bytes || offset < 0 || descriptor < 0 ||
        request.bytes > io::transfer_bytes_max) {
      return unprobed(request);
    }
    if (!expectation_.is_entered(descriptor) && stays_outside(request)) return outside(request);
    const bool sequential = expectation_.is_sequential(descriptor, request.offset);
    expectation_.note_end(descriptor, request.end());
    const bool trusted = expectation_.expects_cached(descriptor);
    if (prefetch_ && (sequential || !trusted)) {
      const Prefetch::Answer answer =
          prefetch_->before_read(descriptor, request.offset, request.bytes, trusted);
      switch (answer.kind) {
        case Prefetch::Kind::stream:
          expectation_.note_probed(descriptor, Cached::some);
          return streamed(request, *answer.file);
        case Prefetch::Kind::cached_stream:
          expectation_.note_probed(descriptor, Cached::all);
          return streamed(request, *answer.file);
        case Prefetch::Kind::kernels:
        case Prefetch::Kind::cached_kernels:
          if (answer.file) {
            const bool cached = answer.kind == Prefetch::Kind::cached_kernels;
            expectation_.note_probed(descriptor, cached ? Cached::all : Cached::some);
          }
          return accompanied(request, answer.due);
        case Prefetch::Kind::random:
          if (trusted) break;
          return probed(request);
        case Prefetch::Kind::other:
          break;
      }
    }
    if (trusted) return timed(request);
    if (sequential &&
        bytes <= expectation_.streamed_max(descriptor).value_or(config_.read_ahead_bytes)) {
      return unprobed(request);
    }
    return probed(request);
  }

  ssize_t routed_pwrite(int descriptor, const void* memory, std::size_t bytes,
                        std::int64_t offset) {
    // Its twin for writing is the descriptor's to close.
    if (writes_.may_be_direct(bytes)) expectation_.note_entered(descriptor);
    const ssize_t count = writes_.pwrite(descriptor, memory, bytes, offset);
    if (count >= 0) expectation_.note_written(descriptor);
    if (prefetch_ && count >= 0 && offset >= 0) {
      prefetch_->keep(descriptor, io::pages_of(static_cast<std::uint64_t>(offset),
                                               static_cast<std::uint64_t>(count)));
    }
    return count;
  }

  ssize_t try_pread(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) override {
    if (cached_.is_plain(descriptor, bytes) && !expectation_.is_entered(descriptor) &&
        !bound_is_strict_) {
      const ssize_t count = cached_.plain(descriptor, memory, bytes, offset);
      at_once_.add(count > 0 ? static_cast<std::uint64_t>(count) : 0);
      if (count > 0) expectation_.note_end(descriptor, static_cast<std::uint64_t>(offset + count));
      return count;
    }
    if (offset < 0 || descriptor < 0 || bytes > io::transfer_bytes_max) {
      return pread(descriptor, memory, bytes, offset);  // Refused, or that long.
    }
    const bool is_long = bytes >= config_.unprobed_bytes;
    const bool entered = is_long && expectation_.is_entered(descriptor);
    const bool trusted = is_long && expectation_.expects_cached(descriptor);
    if (entered ? !trusted
                : is_long && ((bytes > config_.trial_bytes && !trusted) || bound_is_strict_)) {
      return -EAGAIN;
    }
    const FileRequest request{descriptor, static_cast<std::byte*>(memory), bytes,
                              static_cast<std::uint64_t>(offset)};
    if (entered && prefetch_ && expectation_.is_sequential(descriptor, request.offset)) {
      return -EAGAIN;
    }
    const ssize_t count = cached_.pread(descriptor, memory, bytes, offset);
    if (count == -EAGAIN) return count;
    if (count == -EOPNOTSUPP) return untried(request, entered, is_long);
    at_once_.add(count > 0 ? static_cast<std::uint64_t>(count) : 0);
    if (!is_long) return count;
    expectation_.note_end(descriptor, request.end());
    if (count == static_cast<ssize_t>(request.bytes)) expectation_.note_fast(descriptor);
    return count;
  }

  int advise(int descriptor, std::int64_t offset, std::int64_t bytes, int advice) override {
    const int failed = ::posix_fadvise(descriptor, offset, bytes, advice);
    if (failed == 0 && advice == POSIX_FADV_DONTNEED) expectation_.note_evicted(descriptor);
    if (failed != 0 || !prefetch_) return failed;
    if (Prefetch::keeps(advice)) expectation_.note_entered(descriptor);
    try {
      prefetch_->advise(descriptor, offset, bytes, advice);
    } catch (const std::bad_alloc&) {  // The kernel was told.
    }
    return 0;
  }

  void used_by_host(int descriptor, std::int64_t offset, std::uint64_t bytes) override {
    if (!prefetch_ || offset < 0) return;
    try {
      prefetch_->keep(descriptor, io::pages_of(static_cast<std::uint64_t>(offset), bytes));
    } catch (const std::bad_alloc&) {  // Then they may be evicted, as if they were unused.
    }
  }
  [[nodiscard]] std::uint64_t pages_held() const override {
    return prefetch_ ? prefetch_->pages_held() : 0;
  }

  void closing(int descriptor) override {
    if (!expectation_.may_be_entered(descriptor)) return;
    expectation_.note_closed(descriptor);
    if (prefetch_) prefetch_->closing(descriptor);
    files_.closing(descriptor);
  }
  // The inode may have been entered by another descriptor.
  void forget(int descriptor, std::uint64_t device, std::uint64_t inode) override {
    expectation_.note_closed(descriptor);
    files_.forget(device, inode);
  }

  void after_fork_child() override {
    files_.after_fork_child();
    if (prefetch_) prefetch_->after_fork_child();
    channels_.abandon();
  }

  [[nodiscard]] ReaderStats stats() const override {
    const auto of = [](const Counters::Counter& counter) {
      return counter.load(std::memory_order_relaxed);
    };
    const Counters& all = counters_;
    const PrefetchStats ahead = prefetch_ ? prefetch_->stats() : PrefetchStats();
    return {of(all.reads) + at_once_.reads(),
            of(all.writes),
            of(all.unprobed) + at_once_.reads(),
            of(all.probed),
            of(all.mixed),
            of(all.bytes_cache) + at_once_.bytes(),
            of(all.bytes_direct),
            of(all.fall_backs),
            files_.files_refused(),
            of(all.misaligned),
            ahead.pages_ahead,
            ahead.pages_evicted,
            ahead.pages_held,
            ahead.pages_kept,
            ahead.pages_again,
            of(all.writes_direct)};
  }

 private:
  using Cached = Expectation::Cached;

  Model model_of(int descriptor) const {
    const std::optional<Model> known =
        config_.model_of ? config_.model_of(descriptor) : std::optional<Model>();
    return known && costs_of(*known) ? *known : config_.model;
  }
  // By the page cache.
  ssize_t buffered(const FileRequest& request) const {
    HostMemory memory;
    return steps_.buffered(request, memory);
  }
  ssize_t unprobed(const FileRequest& request) const {
    HostMemory memory;
    return steps_.unprobed(request, memory);
  }
  ssize_t timed(const FileRequest& request) const {
    HostMemory memory;
    return steps_.timed(request, memory);
  }
  // Of a file system that cannot tell whether it would wait: at once, and its time tells. Where
  // that is long, the file is entered, and others wait for it from then on.
  ssize_t untried(const FileRequest& request, bool entered, bool is_long) {
    add(counters_.reads, 1);
    if (!is_long) return unprobed(request);
    return entered ? timed(request) : outside(request);
  }
  [[nodiscard]] bool is_small(const struct stat& facts) const {
    return S_ISREG(facts.st_mode) && facts.st_size <= config_.small_file_bytes;
  }
  // Of a file of which nothing is kept: is there nothing to gain from doing so? If there may be, it
  // is entered.
  bool stays_outside(const FileRequest& request) {
    if (config_.trial_bytes > 0 && !bound_is_strict_) {
      if (request.bytes <= config_.trial_bytes) return true;
      if (expectation_.expects_cached(request.descriptor)) return true;
    }
    struct stat facts{};
    if (::fstat(request.descriptor, &facts) != 0 || is_small(facts)) return true;
    if (config_.trial_bytes > 0 && !bound_is_strict_ && is_all_cached(request, facts)) return true;
    expectation_.note_entered(request.descriptor);
    return false;
  }
  // By one call, and without a probe.
  static bool is_all_cached(const FileRequest& whole, const struct stat& facts) {
    const FileRequest request = within_file(whole, facts);
    if (request.bytes == 0) return true;
    const io::PageRange pages{request.first_page(), request.pages()};
    return io::cached_pages(request.descriptor, pages) == static_cast<std::int64_t>(pages.pages);
  }
  // As unprobed(). Where it was not from memory, and there is more of the file, that is entered.
  ssize_t outside(const FileRequest& request) {
    expectation_.note_end(request.descriptor, request.end());
    const std::uint64_t begin = cycles();
    const ssize_t count = unprobed(request);
    if (count < static_cast<ssize_t>(request.bytes)) return count;
    if (steps_.is_fast(begin, request.bytes)) {
      expectation_.note_fast(request.descriptor);
    } else if (struct stat facts{}; config_.trial_bytes > 0 &&
                                    ::fstat(request.descriptor, &facts) == 0 && !is_small(facts)) {
      expectation_.note_entered(request.descriptor);
    }
    return count;
  }
  // The next part of a stream: what it needs was read ahead.
  ssize_t streamed(const FileRequest& request, const OpenFile& file) {
    add(counters_.unprobed, 1);
    const ssize_t count = buffered({file.random(), request.memory, request.bytes, request.offset});
    if (count > 0) {
      prefetch_->after_stream_read(file, request.offset, static_cast<std::uint64_t>(count));
    }
    return count;
  }
  // The next part of a stream of which the kernel reads ahead.
  ssize_t accompanied(const FileRequest& request, bool due) {
    const ssize_t count = unprobed(request);
    if (due && count > 0) {
      prefetch_->after_kernels_read(request.descriptor, request.offset,
                                    static_cast<std::uint64_t>(count));
    }
    return count;
  }
  ssize_t probed(const FileRequest& whole) {
    struct stat facts{};
    if (::fstat(whole.descriptor, &facts) != 0) return unprobed(whole);
    const FileRequest request = within_file(whole, facts);
    // What there is to say of no bytes the kernel says.
    if (request.bytes == 0 || is_small(facts)) return unprobed(whole);
    const std::shared_ptr<OpenFile> file = files_.find(request.descriptor, facts);
    const io::DirectFile* const direct = file ? file->direct() : nullptr;
    if (direct != nullptr) {
      HostMemory memory;
      const auto answer = steps_.expected_absent(whole, request, facts, *file, *direct, memory);
      if (answer) return *answer;
    }
    expectation_.note_streamed_max(
        whole.descriptor,
        streamed_max(direct == nullptr ? nullptr : file.get(), config_.read_ahead_bytes));
    if (direct == nullptr) return unprobed(whole);
    const Taken channel(channels_);
    if (!channel) return unprobed(whole);
    std::span<std::byte> bounce;
    if (!is_aligned(request, direct->alignment())) {
      add(counters_.misaligned, 1);
      if (can_bounce_) bounce = channel->bounce_memory();
      const FileRequest bounced{-1, bounce.data() + request.offset % page_bytes, 0, request.offset};
      if (bounce.empty() || !is_aligned(bounced, direct->alignment())) return unprobed(whole);
    }
    if (!(channel->planner.model() == file->model())) {
      channel->planner = planner_of(file->model());
    }
    add(counters_.probed, 1);
    HostMemory memory{channel.operator->(), bounce};
    return read_in_parts(
        whole, request, *file, bounce.empty() ? part_bytes : bounce_bytes - page_bytes,
        [&](const FileRequest& part) { return steps_.probed(part, facts, *file, *direct, memory); },
        [&](const FileRequest& rest) { return buffered(rest); });
  }

  const ReaderConfig config_;
  // The read-ahead cache tracks each file from its first request on.
  const bool bound_is_strict_ = config_.partition_pages > 0 && !config_.partition_where_free;
  const bool can_bounce_ = can_copy_checked();
  Expectation expectation_;
  Counters counters_;
  ReadSteps steps_;
  CachedReads& cached_ = CachedReads::of_process();
  OpenFiles files_;
  std::unique_ptr<Prefetch> prefetch_;  // Its thread ends before what it evicts from.
  Channels channels_;
  ThreadCounts at_once_;  // By try_pread(): unprobed, and by the page cache.
  Writes writes_;
};

Status check(const ReaderConfig& config) {
  const Range32 ranges[] = {
      {"channels_max", config.channels_max, 1, 256},
      {"outstanding", config.outstanding, 1, 4096},
      {"unprobed_bytes", config.unprobed_bytes, 1, 1u << 30},
      {"read_ahead_bytes", config.read_ahead_bytes, 0, 1u << 30},
      {"grain_pages", config.grain_pages, 1, part_pages},
      {"partition_pages", config.partition_pages, 0, read_ahead_pages_max},
      {"direct_write_bytes", config.direct_write_bytes, page_bytes, 1u << 30},
  };
  return check_ranges(ranges);
}

}  // namespace

Result<std::unique_ptr<FileReader>> FileReader::create(const ReaderConfig& config) {
  if (Status status = check(config); !status) return status.error();
  if (const Result<Costs> costs = costs_of(config.model); !costs) return costs.error();
  return std::unique_ptr<FileReader>(std::make_unique<Reader>(config));
}

}  // namespace k2k::router
