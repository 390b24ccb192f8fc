#include "router/read/device_channels.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace k2k::router {

namespace {

constexpr std::size_t bounce_kept_bytes = std::size_t{4} << 20;

}  // namespace

std::optional<std::span<std::byte>> Bounce::take(std::size_t bytes) {
  if (bytes > memory_.size()) {
    drop();
    const std::size_t whole = std::max(bytes, std::size_t{page_bytes});
    void* const made =
        ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return {};
    memory_ = {static_cast<std::byte*>(made), whole};
  }
  return memory_.first(bytes);
}

void Bounce::give_back() {
  if (memory_.size() > bounce_kept_bytes) drop();
}

void Bounce::drop() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
  memory_ = {};
}

Result<std::unique_ptr<DeviceChannel>> DeviceChannel::create(const DevicePaths& paths,
                                                             const Model& model) {
  Result<std::unique_ptr<io::Engine>> cached = paths.make_cached();
  if (!cached) return cached.error();
  Result<std::unique_ptr<io::Engine>> direct = paths.make_direct();
  if (!direct) return direct.error();
  Result<io::HostCopies> copies = paths.make_copies();
  if (!copies) return copies.error();
  return std::unique_ptr<DeviceChannel>(new DeviceChannel{.cached = std::move(cached).value(),
                                                          .direct = std::move(direct).value(),
                                                          .copies = std::move(copies).value(),
                                                          .planner = planner_of(model)});
}

DeviceChannels::DeviceChannels(const DevicePaths& paths, const Model& model, std::uint32_t kept)
    : paths_(paths), model_(model), kept_(kept) {
  free_.reserve(kept);  // So that giving a channel back takes no memory.
}

Result<std::unique_ptr<DeviceChannel>> DeviceChannels::take() {
  if (all_made_) {
    std::unique_lock lock(mutex_);
    given_back_.wait(lock, [this] { return !free_.empty(); });
    return pop_locked();
  }
  if (std::unique_ptr<DeviceChannel> channel = take_free()) return channel;
  return DeviceChannel::create(paths_, model_);
}

std::unique_ptr<DeviceChannel> DeviceChannels::take_free() {
  const std::lock_guard lock(mutex_);
  return pop_locked();
}

std::unique_ptr<DeviceChannel> DeviceChannels::pop_locked() {
  if (free_.empty()) return nullptr;
  std::unique_ptr<DeviceChannel> channel = std::move(free_.back());
  free_.pop_back();
  return channel;
}

void DeviceChannels::give_back(std::unique_ptr<DeviceChannel> channel) {
  channel->bounce.give_back();
  const std::lock_guard lock(mutex_);
  if (free_.size() < kept_) free_.push_back(std::move(channel));
  given_back_.notify_one();
}

Status DeviceChannels::make_all() {
  const std::lock_guard lock(mutex_);
  while (free_.size() < kept_) {
    Result<std::unique_ptr<DeviceChannel>> channel = DeviceChannel::create(paths_, model_);
    if (!channel) return channel.error();
    free_.push_back(std::move(channel).value());
  }
  all_made_ = true;
  return {};
}

void DeviceChannels::abandon() {
  new (&mutex_) std::mutex;
  new (&given_back_) std::condition_variable;
  for (std::unique_ptr<DeviceChannel>& channel : free_) static_cast<void>(channel.release());
  free_.clear();
}

}  // namespace k2k::router
