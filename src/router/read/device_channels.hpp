#pragma once
// What one request of a DeviceReader (device_reader.hpp) in progress needs, and where it is kept
// between two of them: engines, copies and their pinned buffers, a planner, scratch.
//
// A request that finds none makes one; a few are kept. So a file system that hangs holds up the
// requests for its own files, and nobody else. Where none may be made (a device whose driver pins
// memory only between kernels), all are made at first, and requests wait for one.
//
// Threading: DeviceChannels from any thread; one owner a channel.

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
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

// Host memory for calls that must be one, kept as long as it is short.
class Bounce {
 public:
  Bounce() = default;
  ~Bounce() { drop(); }
  Bounce(const Bounce&) = delete;
  Bounce& operator=(const Bounce&) = delete;

  // At a page boundary. Nothing: so much is not to be had.
  std::optional<std::span<std::byte>> take(std::size_t bytes);
  void give_back();

 private:
  void drop();

  std::span<std::byte> memory_;
};

struct DeviceChannel {
  // Expects a model that costs_of() takes. Errors: DevicePaths' engines'.
  static Result<std::unique_ptr<DeviceChannel>> create(const DevicePaths& paths,
                                                       const Model& model);
  void plan_by(const Model& model);

  std::unique_ptr<io::Engine> cached;
  std::unique_ptr<io::Engine> direct;
  io::HostCopies copies;
  Planner planner;
  Bounce bounce{};
  DeviceExecution execution{part_pages + 1};
  std::vector<std::uint8_t> residency = std::vector<std::uint8_t>(part_pages + 1);
};

class DeviceChannels {
 public:
  // The paths outlive it.
  DeviceChannels(const DevicePaths& paths, const Model& model, std::uint32_t kept)
      : paths_(paths), model_(model), kept_(kept) {}

  Result<std::unique_ptr<DeviceChannel>> take();
  void give_back(std::unique_ptr<DeviceChannel> channel);
  // Makes as many as are kept; from now on no more. Errors: DeviceChannel::create()'s.
  Status make_all();
  // In the child of fork(): those of the parent are left as they are, their copies are its.
  void abandon();

 private:
  const DevicePaths& paths_;
  const Model model_;
  const std::uint32_t kept_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<std::unique_ptr<DeviceChannel>> free_;
  bool all_made_ = false;  // Set before the first request.
};

// One of them, for a scope; or why there is none.
class TakenChannel {
 public:
  explicit TakenChannel(DeviceChannels& channels)
      : channels_(channels), channel_(channels.take()) {}
  ~TakenChannel() {
    if (channel_) channels_.give_back(std::move(channel_).value());
  }
  TakenChannel(const TakenChannel&) = delete;
  TakenChannel& operator=(const TakenChannel&) = delete;
  explicit operator bool() const { return channel_.ok(); }
  [[nodiscard]] ssize_t refusal() const { return -channel_.error().code; }
  DeviceChannel& operator*() { return *channel_.value(); }

 private:
  DeviceChannels& channels_;
  Result<std::unique_ptr<DeviceChannel>> channel_;
};

}  // namespace k2k::router
