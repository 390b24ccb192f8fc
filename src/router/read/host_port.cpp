#include "router/read/host_port.hpp"

#include <chrono>
#include <new>
#include <utility>

#include "base/huge_pages.hpp"

namespace k2k::router {

namespace {

constexpr std::chrono::milliseconds channel_wait_max{20};
// Direct transfers for misaligned memory come into a buffer of this size, a part of a request at a
// time.
constexpr std::uint32_t bounce_pages = 1024;
constexpr std::size_t bounce_bytes = std::size_t{bounce_pages} * page_bytes;

}  // namespace

std::span<std::byte> HostChannel::bounce_memory() {
  if (!bounce) {
    bounce.reset(static_cast<std::byte*>(allocate_in_huge_pages(page_bytes, bounce_bytes)));
  }
  return bounce ? std::span(bounce.get(), bounce_bytes) : std::span<std::byte>();
}

std::unique_ptr<HostChannel> HostChannels::take() {
  std::unique_lock lock(mutex_);
  const auto is_there = [&] { return !free_.empty() || made_ < channels_max_; };
  if (!is_there() && !given_back_.wait_for(lock, channel_wait_max, is_there)) return nullptr;
  if (!free_.empty()) {
    std::unique_ptr<HostChannel> channel = std::move(free_.back());
    free_.pop_back();
    return channel;
  }
  free_.reserve(made_ + std::size_t{1});  // So that giving it back takes no memory.
  ++made_;
  lock.unlock();
  std::unique_ptr<HostChannel> made = make();
  if (made) return made;
  lock.lock();
  --made_;
  given_back_.notify_one();
  return nullptr;
}

void HostChannels::give_back(std::unique_ptr<HostChannel> channel) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(channel));
  given_back_.notify_one();
}

void HostChannels::abandon() {
  new (&mutex_) std::mutex;
  new (&given_back_) std::condition_variable;
  for (std::unique_ptr<HostChannel>& channel : free_) static_cast<void>(channel.release());
  free_.clear();
  made_ = 0;
}

std::unique_ptr<HostChannel> HostChannels::make() const {
  try {
    Result<std::unique_ptr<io::Engine>> engine = io::make_direct(outstanding_);
    if (!engine) return nullptr;
    return std::unique_ptr<HostChannel>(
        new HostChannel{.engine = std::move(engine).value(), .planner = planner_of(model_)});
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

bool HostPort::can_be_memory(const void* memory, std::size_t bytes) {
  constexpr std::uint64_t end = (1ull << 47) - page_bytes;  // Of x86-64, others have no less.
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  return first < end && bytes <= end - first;
}

bool HostPort::Use::prepare(const FileRequest& request, const OpenFile& file,
                            const io::DirectFile& direct, Counters& counters) {
  channel_ = port_.channels_.take();
  if (!channel_) return false;
  if (!is_aligned(request, direct.alignment())) {
    add(counters.misaligned, 1);
    if (port_.can_bounce_) bounce_ = channel_->bounce_memory();
    const FileRequest bounced{-1, bounce_.data() + request.offset % page_bytes, 0, request.offset};
    if (bounce_.empty() || !is_aligned(bounced, direct.alignment())) return false;
  }
  plan_by(channel_->planner, file.model());
  return true;
}

std::size_t HostPort::Use::part_bytes_max() const {
  return bounce_.empty() ? part_bytes : bounce_bytes - page_bytes;
}

Outcome HostPort::Use::run(const FileRequest& part, Residency residency, const OpenFile& file,
                           const io::DirectFile& direct) const {
  return channel_->execution.run(part, channel_->planner.overlapped(residency), direct,
                                 *channel_->engine, file.has_transferred(), bounce_);
}

}  // namespace k2k::router
