#pragma once
// The resources of one request in progress with a device's memory (device_port.hpp), reused between
// requests: engines, copies with their pinned buffers, a planner, scratch memory.
//
// A request that finds no free channel makes one; a few are kept. A file system that hangs
// therefore delays only requests for its own files. If a device's driver can pin memory only
// between kernels, all channels are made at the start, and requests wait for a free one.
//
// Threading: DeviceChannels from any thread; one owner a channel.

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "router/plan/planner.hpp"
#include "router/read/device_execution.hpp"
#include "router/read/device_paths.hpp"
#include "router/read/reader_parts.hpp"

namespace k2k::router {

// Host memory for transfers that must be one call of Linux and have no room in pinned buffers; in
// huge pages if it is long, and kept if it is short.
class Bounce {
 public:
  Bounce() = default;
  Bounce(const Bounce&) = delete;
  Bounce& operator=(const Bounce&) = delete;

  // At a page boundary; null if the memory is not available.
  std::optional<std::span<std::byte>> take(std::size_t bytes);
  void give_back();

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

// The numbers of a reader of a device's memory beside ReaderConfig.
struct DeviceChannelsConfig {
  DevicePathsConfig paths{};
  // Channels that stay when their requests have ended: each pins buffers + 5 times buffer_bytes,
  // and 16 times more with its first write of more than two buffers. 1 to 256. Requests without a
  // free channel make one.
  std::uint32_t channels_kept = 4;
  // All of them are made at once and no more: further requests wait for a free channel. For devices
  // that pin no memory while a kernel runs that waits for its requests. One channel pins the
  // buffers of long writes at the start; long writes beside each other are copied once more.
  bool channels_fixed = false;
};

struct DeviceChannel {
  // Expects a model that costs_of() takes. Errors: DevicePaths' engines'.
  static Result<std::unique_ptr<DeviceChannel>> create(const DevicePaths& paths,
                                                       const Model& model);
  // With as many pinned buffers; null: there are not so many, and no more can be pinned.
  io::HostCopies* copies_with(std::size_t buffers);

  std::unique_ptr<io::Engine> cached;
  std::unique_ptr<io::Engine> direct;
  io::HostCopies copies;
  Planner planner;
  const DevicePaths* paths = nullptr;           // Null: no more are pinned.
  std::optional<io::HostCopies> long_copies{};  // Made when first needed.
  Bounce bounce{};
  DeviceExecution execution{part_pages + 1};
  std::vector<std::uint8_t> residency = std::vector<std::uint8_t>(part_pages + 1);
};

class DeviceChannels {
 public:
  // The paths outlive it.
  DeviceChannels(const DevicePaths& paths, const Model& model, std::uint32_t kept);

  Result<std::unique_ptr<DeviceChannel>> take();
  // Null: none is free.
  std::unique_ptr<DeviceChannel> take_free();
  void give_back(std::unique_ptr<DeviceChannel> channel);
  // Makes all channels that are kept, one of them with buffers for long writes if they can be
  // pinned; no more are made later. Errors: DeviceChannel::create()'s.
  Status make_all();
  // In the child of fork(): leaves the parent's channels alone, because their copies belong to the
  // parent.
  void abandon();

 private:
  // Null: none is free.
  std::unique_ptr<DeviceChannel> pop_locked();

  const DevicePaths& paths_;
  const Model model_;
  const std::uint32_t kept_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<std::unique_ptr<DeviceChannel>> free_;
  bool all_made_ = false;  // Set before the first request.
};

}  // namespace k2k::router
