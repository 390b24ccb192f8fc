#include "router/read/device_channels.hpp"

#include <algorithm>
#include <new>

#include "base/huge_pages.hpp"

namespace k2k::router {

namespace {

constexpr std::size_t bounce_kept_bytes = std::size_t{4} << 20;

}  // namespace

std::optional<std::span<std::byte>> Bounce::take(std::size_t bytes) {
  if (bytes > bytes_ || !memory_) {
    memory_.reset();
    bytes_ = std::max(bytes, std::size_t{page_bytes});
    memory_.reset(static_cast<std::byte*>(allocate_in_huge_pages(page_bytes, bytes_)));
    if (!memory_) return {};
  }
  return std::span(memory_.get(), bytes);
}

void Bounce::give_back() {
  if (bytes_ > bounce_kept_bytes) memory_.reset();
}

io::HostCopies* DeviceChannel::copies_with(std::size_t buffers) {
  if (buffers <= copies.buffers()) return &copies;
  if (buffers > DevicePaths::long_copy_buffers) return nullptr;
  if (!long_copies && paths != nullptr) {
    Result<io::HostCopies> made = paths->make_long_copies();
    if (made) long_copies = std::move(made).value();
    paths = nullptr;  // Also if they cannot be pinned: trying takes long.
  }
  return long_copies ? &*long_copies : nullptr;
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
                                                          .planner = planner_of(model),
                                                          .paths = &paths});
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
  // The next request takes the last one: that which can write long ranges without a copy more.
  if (free_.size() < kept_) {
    const auto at = channel->long_copies ? free_.end() : free_.begin();
    free_.insert(at, std::move(channel));
  }
  given_back_.notify_one();
}

Status DeviceChannels::make_all() {
  const std::lock_guard lock(mutex_);
  while (free_.size() < kept_) {
    Result<std::unique_ptr<DeviceChannel>> channel = DeviceChannel::create(paths_, model_);
    if (!channel) return channel.error();
    if (free_.size() + 1 == kept_) {
      static_cast<void>(channel.value()->copies_with(DevicePaths::long_copy_buffers));
    }
    channel.value()->paths = nullptr;
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
