#include "io/memory/host_copies.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "io/engine/look_wait.hpp"

namespace k2k::io {

Result<HostCopies> HostCopies::create(DeviceMemory& memory, std::uint32_t buffers,
                                      std::size_t buffer_bytes) {
  Result<std::unique_ptr<CopyQueue>> queue = memory.make_queue(buffers, buffer_bytes);
  if (!queue) return queue.error();
  return HostCopies(std::move(queue).value(), buffers, buffer_bytes);
}

int HostCopies::wait(std::uint32_t buffer) {
  for (int looks = 0;; ++looks) {
    const CopyQueue::Look look = queue_->look(buffer);
    if (look.done) return look.code;
    wait_after_look(looks);
  }
}

template <class Begin, class End>
int HostCopies::move(std::size_t bytes, Begin begin, End end) {
  const auto buffers = static_cast<std::uint32_t>(parts_.size());
  K2K_EXPECT(buffers > 0);
  std::uint32_t oldest = 0;
  std::uint32_t under_way = 0;
  std::size_t begun = 0;
  int code = 0;
  while (under_way > 0 || (begun < bytes && code == 0)) {
    if (begun < bytes && code == 0 && under_way < buffers) {
      const std::uint32_t buffer = (oldest + under_way) % buffers;
      parts_[buffer] = {begun, std::min(bytes - begun, buffer_bytes_)};
      code = begin(buffer, parts_[buffer]);
      if (code == 0) ++under_way;
      begun += parts_[buffer].bytes;
      continue;
    }
    const int failed = wait(oldest);
    if (failed == 0) end(oldest, parts_[oldest]);
    if (code == 0) code = failed;
    oldest = (oldest + 1) % buffers;
    --under_way;
  }
  return code;
}

int HostCopies::to_device(std::byte* device, std::span<const std::byte> from) {
  return move(
      from.size(),
      [&](std::uint32_t buffer, const Part& part) {
        std::memcpy(queue_->buffer(buffer).data(), from.data() + part.at, part.bytes);
        return queue_->copy_in(buffer, device + part.at, part.bytes);
      },
      [](std::uint32_t, const Part&) {});
}

int HostCopies::from_device(std::span<std::byte> into, const std::byte* device) {
  return move(
      into.size(),
      [&](std::uint32_t buffer, const Part& part) {
        return queue_->copy_out(buffer, device + part.at, part.bytes);
      },
      [&](std::uint32_t buffer, const Part& part) {
        std::memcpy(into.data() + part.at, queue_->buffer(buffer).data(), part.bytes);
      });
}

int HostCopies::fetch(std::span<const Place> places) {
  K2K_EXPECT(places.size() <= parts_.size());
  int code = 0;
  std::uint32_t begun = 0;
  for (; begun < places.size() && code == 0; ++begun) {
    code = queue_->copy_out(begun, places[begun].device, places[begun].bytes);
  }
  if (code != 0) --begun;  // The last one was refused.
  for (std::uint32_t buffer = 0; buffer < begun; ++buffer) {
    const int failed = wait(buffer);
    if (code == 0) code = failed;
  }
  return code;
}

int HostCopies::store(std::byte* device, std::size_t bytes) {
  K2K_EXPECT(bytes <= buffer_bytes_);
  const int code = queue_->copy_in(0, device, bytes);
  return code != 0 ? code : wait(0);
}

}  // namespace k2k::io
