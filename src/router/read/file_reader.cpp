#include "router/read/file_reader.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include <cerrno>
#include <new>
#include <utility>

#include "router/ahead/prefetch.hpp"
#include "router/file/expectation.hpp"
#include "router/file/open_files.hpp"
#include "router/read/cached_read.hpp"
#include "router/read/device_port.hpp"
#include "router/read/host_port.hpp"
#include "router/read/outside.hpp"
#include "router/read/read_steps.hpp"
#include "router/read/reader_parts.hpp"
#include "router/read/thread_counts.hpp"
#include "router/read/writes.hpp"

namespace k2k::router {

namespace {

// The decisions, for memory that a port moves bytes into: a template, so that the path of a cached
// read calls nothing but Linux.
template <class Port>
class Reader final : public FileReader {
 public:
  // Expects a configuration that check() accepts.
  Reader(const ReaderConfig& config, std::unique_ptr<Port> port)
      : config_(config),
        port_(std::move(port)),
        steps_({.slow_ns = Port::slow_ns,
                .cache_gbs = config.model.cache_gbs,
                .grain_pages = config.grain_pages},
               expectation_, counters_),
        outside_(config, expectation_, steps_),
        files_([this](int descriptor) { return model_of(descriptor); },
               [this](OpenFile& file) {
                 if (prefetch_) prefetch_->ending(file);
                 port_->ending(file);
               }),
        writes_(Port::direct_write_bytes(config), files_, counters_) {
    if (config.partition_pages == 0) return;
    const auto beyond =
        config.partition_where_free ? Prefetch::Beyond::unbounded : Prefetch::Beyond::smaller;
    prefetch_ = Prefetch::create(config.partition_pages, beyond, files_).value();
    steps_.set_prefetch(prefetch_.get());
  }

  // The router's way takes memory if a file, or one more concurrent request, is new to it. Without
  // memory, the port answers; no transfer is in flight then.
  ssize_t pread(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) override {
    add(counters_.reads, 1);
    try {
      typename Port::Use use(*port_);
      if (const ssize_t refusal = use.refusal(); refusal != 0) return refusal;
      return routed_pread(
          request_of(descriptor, memory, Port::bytes_at_once(memory, bytes), offset), use);
    } catch (const std::bad_alloc&) {
      return Port::read_without_memory(request_of(descriptor, memory, bytes, offset));
    }
  }

  ssize_t pwrite(int descriptor, const void* memory, std::size_t bytes,
                 std::int64_t offset) override {
    add(counters_.writes, 1);
    const FileRequest request = request_of(descriptor, const_cast<void*>(memory), bytes, offset);
    try {
      const ssize_t count = routed_pwrite(request);
      note_written(descriptor, offset, count);
      return count;
    } catch (const std::bad_alloc&) {
      return Port::write_without_memory(request);
    }
  }

  ssize_t try_pread(int descriptor, void* memory, std::size_t bytes, std::int64_t offset) override {
    const FileRequest request = request_of(descriptor, memory, bytes, offset);
    if (cached_.is_plain(descriptor, bytes) && !expectation_.is_entered(descriptor) &&
        !outside_.bound_is_strict()) {
      const ssize_t count = port_->read_at_once(
          request, [&](void* into) { return CachedReads::plain(descriptor, into, bytes, offset); });
      if (count == -EAGAIN) return count;
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
    if (entered ? !trusted : is_long && outside_.may_enter(bytes, trusted)) return -EAGAIN;
    if (entered && prefetch_ && expectation_.is_sequential(descriptor, request.offset)) {
      return -EAGAIN;
    }
    const ssize_t count = port_->read_at_once(
        request, [&](void* into) { return cached_.pread(descriptor, into, bytes, offset); });
    if (count == -EAGAIN) return count;
    if (count == -EOPNOTSUPP) return untried(request, entered, is_long);
    at_once_.add(count > 0 ? static_cast<std::uint64_t>(count) : 0);
    if (!is_long) return count;
    expectation_.note_end(descriptor, request.end());
    if (count == static_cast<ssize_t>(request.bytes)) expectation_.note_fast(descriptor);
    return count;
  }

  [[nodiscard]] bool is_plain(int descriptor, std::size_t bytes,
                              std::int64_t offset) const override {
    if (offset < 0 || descriptor < 0 || bytes > io::transfer_bytes_max) return false;
    return bytes < config_.unprobed_bytes ||
           (!expectation_.is_entered(descriptor) &&
            outside_.would_keep(request_of(descriptor, nullptr, bytes, offset)));
  }
  void note_plain(int descriptor, std::size_t bytes, std::int64_t offset, ssize_t count,
                  std::uint64_t begin) override {
    add(counters_.reads, 1);
    steps_.count_unprobed(count);
    if (bytes < config_.unprobed_bytes) return;
    const FileRequest request = request_of(descriptor, nullptr, bytes, offset);
    expectation_.note_end(descriptor, request.end());
    outside_.note_read(request, count, begin);
  }

  ssize_t whole(const WholeCall& call) override {
    add(call.write ? counters_.writes : counters_.reads, 1);
    // An offset of -1 would be the descriptor's own position.
    if (call.pieces.size() > IOV_MAX || (call.offset && *call.offset < 0)) return -EINVAL;
    typename Port::Use use(*port_);
    if (const ssize_t refusal = use.refusal(); refusal != 0) return refusal;
    const ssize_t count = moved_by_cache(use.whole(call));
    if (call.write) note_written(call.descriptor, call.offset.value_or(-1), count);
    return count;
  }

  int advise(int descriptor, std::int64_t offset, std::int64_t bytes, int advice) override {
    const int failed = ::posix_fadvise(descriptor, offset, bytes, advice);
    if (failed == 0 && advice == POSIX_FADV_DONTNEED) expectation_.note_evicted(descriptor);
    if (failed != 0 || !prefetch_) return failed;
    if (Prefetch::keeps(advice)) expectation_.note_entered(descriptor);
    try {
      prefetch_->advise(descriptor, offset, bytes, advice);
    } catch (const std::bad_alloc&) {  // Linux has the advice.
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
    port_->after_fork_child();
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
  using Use = typename Port::Use;

  static FileRequest request_of(int descriptor, void* memory, std::size_t bytes,
                                std::int64_t offset) {
    return {descriptor, static_cast<std::byte*>(memory), bytes, static_cast<std::uint64_t>(offset)};
  }
  Model model_of(int descriptor) const {
    const std::optional<Model> known = config_.model_of
                                           ? config_.model_of(descriptor, port_->engine_name())
                                           : std::optional<Model>();
    return known && costs_of(*known) ? *known : config_.model;
  }

  ssize_t routed_pread(const FileRequest& request, Use& use) {
    const int descriptor = request.descriptor;
    if (request.bytes < config_.unprobed_bytes || static_cast<std::int64_t>(request.offset) < 0 ||
        descriptor < 0 || request.bytes > io::transfer_bytes_max) {
      return steps_.unprobed(request, use);
    }
    if (!expectation_.is_entered(descriptor) && outside_.keeps(request)) {
      return outside_.read(request, use);
    }
    const bool sequential = expectation_.is_sequential(descriptor, request.offset);
    expectation_.note_end(descriptor, request.end());
    const bool trusted = expectation_.expects_cached(descriptor);
    if (prefetch_ && (sequential || !trusted)) {
      const Prefetch::Answer answer =
          prefetch_->before_read(descriptor, request.offset, request.bytes, trusted);
      switch (answer.kind) {
        case Prefetch::Kind::stream:
          expectation_.note_probed(descriptor, Cached::some);
          return streamed(request, *answer.file, use);
        case Prefetch::Kind::cached_stream:
          expectation_.note_probed(descriptor, Cached::all);
          return streamed(request, *answer.file, use);
        case Prefetch::Kind::kernels:
        case Prefetch::Kind::cached_kernels:
          if (answer.file) {
            const bool cached = answer.kind == Prefetch::Kind::cached_kernels;
            expectation_.note_probed(descriptor, cached ? Cached::all : Cached::some);
          }
          return accompanied(request, answer.due, use);
        case Prefetch::Kind::random:
          if (trusted) break;
          return probed(request, use);
        case Prefetch::Kind::other:
          break;
      }
    }
    if (trusted) return steps_.timed(request, use);
    if (sequential &&
        request.bytes <= expectation_.streamed_max(descriptor).value_or(config_.read_ahead_bytes)) {
      return steps_.unprobed(request, use);
    }
    return probed(request, use);
  }

  ssize_t routed_pwrite(const FileRequest& request) {
    if (writes_.may_be_direct(request.bytes)) {
      // Its twin for writing is closed with the descriptor.
      expectation_.note_entered(request.descriptor);
      return writes_.pwrite(request);
    }
    Use use(*port_);
    if (const ssize_t refusal = use.refusal(); refusal != 0) return refusal;
    return moved_by_cache(use.write(request));
  }

  ssize_t moved_by_cache(ssize_t count) {
    if (count > 0) add(counters_.bytes_cache, static_cast<std::uint64_t>(count));
    return count;
  }
  // `offset`: negative if it is not known.
  void note_written(int descriptor, std::int64_t offset, ssize_t count) {
    if (count < 0) return;
    expectation_.note_written(descriptor);
    used_by_host(descriptor, offset, static_cast<std::uint64_t>(count));
  }

  // On a file system that cannot tell whether a read would wait: read at once, and timed. If that
  // is slow, the file is entered, and from then on other threads wait for it.
  ssize_t untried(const FileRequest& request, bool entered, bool is_long) {
    add(counters_.reads, 1);
    Use use(*port_);
    if (const ssize_t refusal = use.refusal(); refusal != 0) return refusal;
    if (!is_long) return steps_.unprobed(request, use);
    return entered ? steps_.timed(request, use) : outside_.read(request, use);
  }

  // The next part of a stream: its pages were read ahead.
  ssize_t streamed(const FileRequest& request, const OpenFile& file, Use& use) {
    add(counters_.unprobed, 1);
    const ssize_t count =
        steps_.buffered({file.random(), request.memory, request.bytes, request.offset}, use);
    if (count > 0) {
      prefetch_->after_stream_read(file, request.offset, static_cast<std::uint64_t>(count));
    }
    return count;
  }
  // The next part of a stream with Linux' read-ahead.
  ssize_t accompanied(const FileRequest& request, bool due, Use& use) {
    const ssize_t count = steps_.unprobed(request, use);
    if (due && count > 0) {
      prefetch_->after_kernels_read(request.descriptor, request.offset,
                                    static_cast<std::uint64_t>(count));
    }
    return count;
  }

  ssize_t probed(const FileRequest& whole, Use& use) {
    struct stat facts{};
    if (::fstat(whole.descriptor, &facts) != 0) return steps_.unprobed(whole, use);
    const FileRequest request = within_file(whole, facts);
    // Linux answers a request of no bytes.
    if (request.bytes == 0 || outside_.is_small(facts)) return steps_.unprobed(whole, use);
    const std::shared_ptr<OpenFile> file = files_.find(request.descriptor, facts);
    const io::DirectFile* const direct = file ? file->direct() : nullptr;
    if (direct != nullptr) {
      const auto answer = steps_.expected_absent(whole, request, facts, *file, *direct, use);
      if (answer) return *answer;
    }
    expectation_.note_streamed_max(
        whole.descriptor,
        streamed_max(direct == nullptr ? nullptr : file.get(), config_.read_ahead_bytes));
    if (direct == nullptr || !use.prepare(request, *file, *direct, counters_)) {
      return steps_.unprobed(whole, use);
    }
    add(counters_.probed, 1);
    return read_in_parts(
        whole, request, *file, use.part_bytes_max(),
        [&](const FileRequest& part) { return steps_.probed(part, facts, *file, *direct, use); },
        [&](const FileRequest& rest) { return steps_.buffered(rest, use); });
  }

  const ReaderConfig config_;
  const std::unique_ptr<Port> port_;
  Expectation expectation_;
  Counters counters_;
  ReadSteps steps_;
  OutsideFiles outside_;
  CachedReads& cached_ = CachedReads::of_process();
  OpenFiles files_;
  std::unique_ptr<Prefetch> prefetch_;  // Its thread ends before the files that it evicts from.
  ThreadCounts at_once_;                // By try_pread(): unprobed, and by the page cache.
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
  if (Status status = check_ranges(ranges); !status) return status;
  const Result<Costs> costs = costs_of(config.model);
  return costs ? Status() : Status(costs.error());
}

Status check(const DeviceChannelsConfig& config) {
  const Range32 ranges[] = {{"channels_kept", config.channels_kept, 1, 256}};
  return check_ranges(ranges);
}

}  // namespace

Result<std::unique_ptr<FileReader>> FileReader::create(const ReaderConfig& config) {
  if (Status status = check(config); !status) return status.error();
  return std::unique_ptr<FileReader>(
      std::make_unique<Reader<HostPort>>(config, std::make_unique<HostPort>(config)));
}

Result<std::unique_ptr<FileReader>> FileReader::create(std::shared_ptr<io::DeviceMemory> memory,
                                                       const ReaderConfig& config,
                                                       const DeviceChannelsConfig& channels) {
  if (Status status = check(config); !status) return status.error();
  if (Status status = check(channels); !status) return status.error();
  auto port = DevicePort::create(std::move(memory), config.model, channels);
  if (!port) return port.error();
  return std::unique_ptr<FileReader>(
      std::make_unique<Reader<DevicePort>>(config, std::move(port).value()));
}

}  // namespace k2k::router
