#pragma once
// Synchronous copies between a device's memory and host memory: for transfers that must be one
// Linux call and cannot be divided into an engine's parts.
//
//   to_device     host ──memcpy──▶ pinned buffer ──copy_in──▶ device
//   from_device   host ◀──memcpy── pinned buffer ◀──copy_out── device
//
// Several buffers are in flight at a time. fetch() leaves the bytes in the pinned buffers: a call
// of Linux can write them from there, without a copy by the CPU.
//
// Threading: one owner. A child of fork() must not destroy its parent's. The device memory must
// outlive it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "io/memory/device_memory.hpp"

namespace k2k::io {

class HostCopies {
 public:
  // Errors: as DeviceMemory::make_queue(). Expects at least one buffer, of whole pages.
  static Result<HostCopies> create(DeviceMemory& memory, std::uint32_t buffers,
                                   std::size_t buffer_bytes);

  // Copies all bytes and returns 0, or the errno of the first failed copy: then some bytes may have
  // arrived. On return no copy is in flight.
  [[nodiscard]] int to_device(std::byte* device, std::span<const std::byte> from);
  [[nodiscard]] int from_device(std::span<std::byte> into, const std::byte* device);

  // The pinned buffers themselves, valid until the next copy.
  [[nodiscard]] std::uint32_t buffers() const { return static_cast<std::uint32_t>(parts_.size()); }
  [[nodiscard]] std::size_t buffer_bytes() const { return buffer_bytes_; }
  [[nodiscard]] std::span<std::byte> buffer(std::uint32_t index) { return queue_->buffer(index); }
  // Device memory, of at most buffer_bytes().
  struct Place {
    const std::byte* device = nullptr;
    std::size_t bytes = 0;
  };
  // Copies place n into buffer n, all at the same time, and returns as from_device(). Expects at
  // most buffers() places.
  [[nodiscard]] int fetch(std::span<const Place> places);
  // Copies the first bytes of buffer 0 to the device, and returns as to_device(). Expects at most
  // buffer_bytes().
  [[nodiscard]] int store(std::byte* device, std::size_t bytes);

 private:
  struct Part {
    std::size_t at = 0;
    std::size_t bytes = 0;
  };

  HostCopies(std::unique_ptr<CopyQueue> queue, std::uint32_t buffers, std::size_t buffer_bytes)
      : queue_(std::move(queue)), buffer_bytes_(buffer_bytes), parts_(buffers) {}

  // begin(buffer, part) starts a part's copy and returns its errno; end(buffer, part) receives its
  // bytes.
  template <class Begin, class End>
  int move(std::size_t bytes, Begin begin, End end);
  [[nodiscard]] int wait(std::uint32_t buffer);

  std::unique_ptr<CopyQueue> queue_;
  std::size_t buffer_bytes_;
  std::vector<Part> parts_;  // The part in each buffer.
};

}  // namespace k2k::io
