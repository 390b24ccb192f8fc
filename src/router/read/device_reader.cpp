#include "router/read/device_reader.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>
#include <vector>

#include "router/file/expectation.hpp"
#include "router/file/open_files.hpp"
#include "router/read/device_channels.hpp"
#include "router/read/read_steps.hpp"
#include "router/read/reader_parts.hpp"

namespace k2k::router {

namespace {

// A copy of the device's is seen up to 20 µs late.
constexpr double slow_ns = 80'000;

// The port of read_steps.hpp to the device's memory.
struct OfDevice {
  DeviceChannel& channel;

  [[nodiscard]] ssize_t read(const FileRequest& request) const {
    return read_all(request, *channel.cached);
  }
  // Any address will do.
  static bool is_transfer(const FileRequest& request, const io::Alignment& alignment) {
    return request.offset % alignment.offset == 0 && request.bytes % alignment.offset == 0;
  }
  [[nodiscard]] Outcome transfer(const FileRequest& request, const OpenFile& file,
                                 const io::DirectFile& direct) const {
    return run_plan(request, {.pages = static_cast<std::uint32_t>(request.pages()), .cached = {}},
                    file, direct);
  }
  [[nodiscard]] std::span<std::uint8_t> residency(std::size_t pages) const {
    return {channel.residency.data(), pages};
  }
  [[nodiscard]] Outcome run(const FileRequest& part, Residency residency, const OpenFile& file,
                            const io::DirectFile& direct) const {
    return run_plan(part, channel.planner.overlapped(residency), file, direct);
  }

 private:
  [[nodiscard]] Outcome run_plan(const FileRequest& part, const Plan& plan, const OpenFile& file,
                                 const io::DirectFile& direct) const {
    return channel.execution.run(part, plan, direct, *channel.cached, *channel.direct,
                                 file.has_transferred());
  }
};

class Reader final : public DeviceReader {
 public:
  Reader(std::shared_ptr<io::DeviceMemory> memory, DevicePaths paths,
         const DeviceReaderConfig& config)
      : config_(config),
        memory_(std::move(memory)),
        paths_(std::move(paths)),
        files_([this](int descriptor) { return model_of(descriptor); },
               [this](const OpenFile& file) {
                 if (file.direct() != nullptr) paths_.closing(file.direct()->descriptor());
               }),
        channels_(paths_, config.model, config.channels_kept),
        steps_({.slow_ns = slow_ns,
                .cache_gbs = config.model.cache_gbs,
                .grain_pages = config.grain_pages},
               expectation_, counters_) {}

  // The first channel shows whether there can be any.
  Status try_channel() {
    if (config_.channels_fixed) return channels_.make_all();
    Result<std::unique_ptr<DeviceChannel>> first = channels_.take();
    if (!first) return first.error();
    channels_.give_back(std::move(first).value());
    return {};
  }

  ssize_t pread(int descriptor, void* address, std::size_t bytes, std::int64_t offset) override {
    add(counters_.reads, 1);
    if (is_child_) return -EFAULT;
    TakenChannel channel(channels_);
    if (!channel) return channel.refusal();
    const FileRequest request{descriptor, static_cast<std::byte*>(address),
                              std::min(bytes, io::transfer_bytes_max),
                              static_cast<std::uint64_t>(offset)};
    OfDevice memory{*channel};
    if (bytes < config_.unprobed_bytes || offset < 0 || descriptor < 0) {
      return steps_.unprobed(request, memory);
    }
    const bool sequential = expectation_.is_sequential(descriptor, request.offset);
    expectation_.note_end(descriptor, request.end());
    if (expectation_.expects_cached(descriptor)) return steps_.timed(request, memory);
    if (sequential &&
        bytes <= expectation_.streamed_max(descriptor).value_or(config_.read_ahead_bytes)) {
      return steps_.unprobed(request, memory);
    }
    return probed(request, memory);
  }

  ssize_t pwrite(int descriptor, const void* memory, std::size_t bytes,
                 std::int64_t offset) override {
    const iovec piece{const_cast<void*>(memory), bytes};
    const bool device = true;
    return whole({.descriptor = descriptor,
                  .pieces = {&piece, 1},
                  .is_device = {&device, 1},
                  .write = true,
                  .offset = offset});
  }

  ssize_t whole(const WholeCall& call) override {
    add(call.write ? counters_.writes : counters_.reads, 1);
    if (is_child_) return -EFAULT;
    if (call.pieces.size() > IOV_MAX) return -EINVAL;
    TakenChannel channel(channels_);
    if (!channel) return channel.refusal();
    const ssize_t count = through_host(call, *channel);
    if (count > 0) add(counters_.bytes_cache, static_cast<std::uint64_t>(count));
    return count;
  }

  int advise(int descriptor, std::int64_t offset, std::int64_t bytes, int advice) override {
    const int failed = ::posix_fadvise(descriptor, offset, bytes, advice);
    if (failed == 0 && advice == POSIX_FADV_DONTNEED) expectation_.note_evicted(descriptor);
    return failed;
  }

  // Nothing is read ahead for it but by the kernel.
  void used_by_host(int, std::int64_t, std::uint64_t) override {}
  // Its copies are waited for, whatever is cached.
  ssize_t try_pread(int, void*, std::size_t, std::int64_t) override { return -EAGAIN; }
  [[nodiscard]] std::uint64_t pages_held() const override { return 0; }

  void closing(int descriptor) override { files_.closing(descriptor); }
  void forget(int, std::uint64_t device, std::uint64_t inode) override {
    files_.forget(device, inode);
  }
  void after_fork_child() override {
    is_child_ = true;
    files_.after_fork_child();
    channels_.abandon();
  }

  [[nodiscard]] ReaderStats stats() const override {
    const auto of = [](const Counters::Counter& counter) {
      return counter.load(std::memory_order_relaxed);
    };
    const Counters& all = counters_;
    return {.reads = of(all.reads),
            .writes = of(all.writes),
            .unprobed = of(all.unprobed),
            .probed = of(all.probed),
            .mixed = of(all.mixed),
            .bytes_cache = of(all.bytes_cache),
            .bytes_direct = of(all.bytes_direct),
            .fall_backs = of(all.fall_backs),
            .files_refused = files_.files_refused()};
  }

 private:
  Model model_of(int descriptor) const {
    const std::optional<Model> known =
        config_.model_of ? config_.model_of(descriptor, paths_.name()) : std::optional<Model>();
    return known && costs_of(*known) ? *known : config_.model;
  }

  ssize_t probed(const FileRequest& whole, OfDevice& memory) {
    struct stat facts{};
    if (::fstat(whole.descriptor, &facts) != 0) return steps_.unprobed(whole, memory);
    const FileRequest request = within_file(whole, facts);
    if (request.bytes == 0) return steps_.unprobed(whole, memory);
    const std::shared_ptr<OpenFile> file = files_.find(request.descriptor, facts);
    const io::DirectFile* direct = file ? file->direct() : nullptr;
    if (direct != nullptr && direct->alignment().offset <= page_bytes) {
      const auto answer = steps_.expected_absent(whole, request, facts, *file, *direct, memory);
      if (answer) return *answer;
    }
    expectation_.note_streamed_max(
        whole.descriptor,
        streamed_max(direct == nullptr ? nullptr : file.get(), config_.read_ahead_bytes));
    if (direct == nullptr || direct->alignment().offset > page_bytes) {
      return steps_.unprobed(whole, memory);
    }
    memory.channel.plan_by(file->model());
    add(counters_.probed, 1);
    return read_in_parts(
        whole, request, *file, part_bytes,
        [&](const FileRequest& part) { return steps_.probed(part, facts, *file, *direct, memory); },
        [&](const FileRequest& rest) { return steps_.buffered(rest, memory); });
  }

  static ssize_t call_kernel(const WholeCall& call, std::span<const iovec> pieces) {
    const auto count = static_cast<int>(pieces.size());
    const off_t offset = call.offset.value_or(-1);
    const ssize_t moved =
        call.write ? ::pwritev2(call.descriptor, pieces.data(), count, offset, call.flags)
                   : ::preadv2(call.descriptor, pieces.data(), count, offset, call.flags);
    return moved < 0 ? -errno : moved;
  }

  ssize_t through_host(const WholeCall& call, DeviceChannel& channel) {
    if (call.offset && *call.offset < 0) return -EINVAL;  // -1 would be the own position.
    std::vector<iovec> pieces(call.pieces.begin(), call.pieces.end());
    std::size_t bytes = 0;
    std::size_t room = io::transfer_bytes_max;  // The kernel moves no more.
    for (std::size_t at = 0; at < pieces.size(); ++at) {
      pieces[at].iov_len = std::min(pieces[at].iov_len, room);
      room -= pieces[at].iov_len;
      if (call.is_device[at]) bytes += pieces[at].iov_len;
    }
    const std::optional<std::span<std::byte>> host = channel.bounce.take(bytes);
    if (!host) return -ENOMEM;
    std::byte* next = host->data();
    for (std::size_t at = 0; at < pieces.size(); ++at) {
      if (!call.is_device[at]) continue;
      pieces[at].iov_base = std::exchange(next, next + pieces[at].iov_len);
      if (!call.write) continue;
      const int code = channel.copies.from_device(bytes_of(pieces[at]), device_of(call, at));
      if (code != 0) return -code;
    }
    const ssize_t moved = call_kernel(call, pieces);
    return call.write || moved <= 0 ? moved : scatter(call, pieces, moved, channel);
  }
  // What a read brought goes on to the device, as far as that takes it.
  static ssize_t scatter(const WholeCall& call, std::span<const iovec> pieces, ssize_t moved,
                         DeviceChannel& channel) {
    auto left = static_cast<std::size_t>(moved);
    for (std::size_t at = 0; at < pieces.size() && left > 0; ++at) {
      const std::size_t part = std::min(left, pieces[at].iov_len);
      if (call.is_device[at]) {
        const int code =
            channel.copies.to_device(device_of(call, at), bytes_of(pieces[at]).first(part));
        if (code != 0) {
          const ssize_t arrived = moved - static_cast<ssize_t>(left);
          return arrived > 0 ? arrived : -code;
        }
      }
      left -= part;
    }
    return moved;
  }
  static std::span<std::byte> bytes_of(const iovec& piece) {
    return {static_cast<std::byte*>(piece.iov_base), piece.iov_len};
  }
  static std::byte* device_of(const WholeCall& call, std::size_t at) {
    return static_cast<std::byte*>(call.pieces[at].iov_base);
  }

  const DeviceReaderConfig config_;
  const std::shared_ptr<io::DeviceMemory> memory_;
  const DevicePaths paths_;
  Expectation expectation_;
  Counters counters_;
  OpenFiles files_;
  DeviceChannels channels_;
  ReadSteps steps_;
  std::atomic<bool> is_child_{false};
};

Status check(const DeviceReaderConfig& config) {
  const Range32 ranges[] = {
      {"channels_kept", config.channels_kept, 1, 256},
      {"unprobed_bytes", config.unprobed_bytes, 1, 1u << 30},
      {"read_ahead_bytes", config.read_ahead_bytes, 0, 1u << 30},
      {"grain_pages", config.grain_pages, 1, part_pages},
  };
  if (Status status = check_ranges(ranges); !status) return status;
  const Result<Costs> costs = costs_of(config.model);
  return costs ? Status() : Status(costs.error());
}

}  // namespace

Result<std::unique_ptr<DeviceReader>> DeviceReader::create(std::shared_ptr<io::DeviceMemory> memory,
                                                           const DeviceReaderConfig& config) {
  if (Status status = check(config); !status) return status.error();
  Result<DevicePaths> paths = DevicePaths::create(*memory, config.paths);
  if (!paths) return paths.error();
  auto reader = std::make_unique<Reader>(std::move(memory), std::move(paths).value(), config);
  if (Status status = reader->try_channel(); !status) return status.error();
  return std::unique_ptr<DeviceReader>(std::move(reader));
}

}  // namespace k2k::router
