#pragma once
// The port of FileReader (file_reader.hpp) to one device's memory that the CPU cannot address.
//
//   cached pieces, unaligned heads and tails   by DevicePaths' engine for the page cache
//   direct pieces                              by its direct engine
//   a write, a whole call, a read at once      one call of Linux, through memory of the host
//
// An address that the device refuses is EFAULT, a lack of pinned or host memory ENOMEM, as the
// kernel would say. A write needs as much host memory as it is long, because it must be one call;
// so ReaderConfig::exclusive changes nothing here (decision 0031). Up to 16 pinned buffers Linux
// writes from these; a longer write, or one of many pieces, is copied once more (decision 0095).
//
// Each request has a channel from its begin, because a read of cached pages already needs pinned
// buffers. In a child of fork() requests are answered with EFAULT: the device is the parent's.
//
// Threading: DevicePort from any thread; a Use has one owner.

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "io/file/direct_file.hpp"
#include "router/file/open_files.hpp"
#include "router/read/device_channels.hpp"
#include "router/read/execution.hpp"
#include "router/read/file_reader.hpp"
#include "router/read/reader_parts.hpp"

namespace k2k::router {

class DevicePort {
 public:
  // A device's copy is seen up to 20 us late, and a read is several.
  static constexpr double slow_ns = 80'000;
  // Longer reads are faster by pread(), whose copies to the device overlap with its reads.
  static constexpr std::size_t at_once_bytes_max = 256 * 1024;

  // Makes the first channel, or all of them: shows whether there can be any. Errors:
  // DevicePaths::create()'s, and its engines'.
  static Result<std::unique_ptr<DevicePort>> create(std::shared_ptr<io::DeviceMemory> memory,
                                                    const Model& model,
                                                    const DeviceChannelsConfig& config);

  [[nodiscard]] const std::string& engine_name() const { return paths_.name(); }
  static std::uint64_t direct_write_bytes(const ReaderConfig&) { return 0; }
  static std::size_t bytes_at_once(const void*, std::size_t bytes) {
    return std::min(bytes, io::transfer_bytes_max);
  }
  static ssize_t read_without_memory(const FileRequest&) { return -ENOMEM; }
  static ssize_t write_without_memory(const FileRequest&) { return -ENOMEM; }
  // -EAGAIN as well if no channel is free: making one pins memory.
  template <class Read>
  ssize_t read_at_once(const FileRequest& request, Read read) {
    if (is_child_) return -EFAULT;
    if (request.bytes > at_once_bytes_max) return -EAGAIN;
    Use use(*this, channels_.take_free());
    return use.refusal() != 0 ? use.refusal() : use.read_through_host(request, read);
  }
  void ending(const OpenFile& file) const;
  void after_fork_child();

  class Use {
   public:
    explicit Use(DevicePort& port);
    ~Use() {
      if (channel_) channels_.give_back(std::move(channel_));
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    [[nodiscard]] ssize_t refusal() const { return refusal_; }
    [[nodiscard]] ssize_t read(const FileRequest& request) const {
      return read_all(request, *channel_->cached);
    }
    // Any address will do.
    static bool is_transfer(const FileRequest& request, const io::Alignment& alignment);
    [[nodiscard]] Outcome transfer(const FileRequest& request, const OpenFile& file,
                                   const io::DirectFile& direct) const;
    [[nodiscard]] bool prepare(const FileRequest& request, const OpenFile& file,
                               const io::DirectFile& direct, Counters& counters) const;
    static constexpr std::size_t part_bytes_max() { return part_bytes; }
    [[nodiscard]] std::span<std::uint8_t> residency(std::size_t pages) const {
      return {channel_->residency.data(), pages};
    }
    [[nodiscard]] Outcome run(const FileRequest& part, Residency residency, const OpenFile& file,
                              const io::DirectFile& direct) const;
    [[nodiscard]] ssize_t write(const FileRequest& request) const;
    [[nodiscard]] ssize_t whole(const WholeCall& call) const;

   private:
    friend class DevicePort;
    // A null channel: -EAGAIN.
    Use(DevicePort& port, std::unique_ptr<DeviceChannel> channel)
        : channels_(port.channels_),
          channel_(std::move(channel)),
          refusal_(channel_ ? 0 : -EAGAIN) {}
    [[nodiscard]] Outcome run_plan(const FileRequest& part, const Plan& plan, const OpenFile& file,
                                   const io::DirectFile& direct) const;
    template <class Read>
    ssize_t read_through_host(const FileRequest& request, Read read) {
      if (request.bytes <= channel_->copies.buffer_bytes()) {
        const ssize_t count = read(channel_->copies.buffer(0).data());
        return count <= 0 ? count : from_pinned(request, static_cast<std::size_t>(count));
      }
      const auto host = channel_->bounce.take(request.bytes);
      if (!host) return -EAGAIN;
      const ssize_t count = read(host->data());
      return count <= 0 ? count : to_device(request, host->first(static_cast<std::size_t>(count)));
    }
    [[nodiscard]] ssize_t to_device(const FileRequest& request,
                                    std::span<const std::byte> bytes) const;
    // The first bytes of the first pinned buffer.
    [[nodiscard]] ssize_t from_pinned(const FileRequest& request, std::size_t bytes) const;

    DeviceChannels& channels_;
    std::unique_ptr<DeviceChannel> channel_;
    ssize_t refusal_ = 0;
  };

 private:
  DevicePort(std::shared_ptr<io::DeviceMemory> memory, DevicePaths paths, const Model& model,
             std::uint32_t channels_kept)
      : memory_(std::move(memory)),
        paths_(std::move(paths)),
        channels_(paths_, model, channels_kept) {}
  Status try_channel(bool fixed);

  const std::shared_ptr<io::DeviceMemory> memory_;
  const DevicePaths paths_;
  DeviceChannels channels_;
  std::atomic<bool> is_child_{false};
};

}  // namespace k2k::router
