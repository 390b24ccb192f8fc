#pragma once
// The interface to memory that the CPU cannot address (a GPU's). Engines obtain pinned buffers and
// copies from it, or a mapping for the CPU's own stores.
//
//   DeviceMemory   of one device: makes queues, maps memory if possible
//   CopyQueue      pinned buffers, each with at most one copy in flight
//
//   buffer: idle ──copy_in, copy_out──▶ in flight ──look(): done or failed──▶ idle
//
// An address of device memory is a std::byte* that is never dereferenced here. With unified
// addressing no other byte of host or devices has the same address.
//
// MappedMemory below is memory that the CPU can address, such as peer memory; cuda_memory.hpp
// implements CUDA's.
//
// Threading: DeviceMemory from any thread; one owner per queue.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.hpp"

namespace k2k::io {

class CopyQueue {
 public:
  struct Look {
    bool done = false;
    int code = 0;  // When done: 0, or the errno of a failed copy.
  };

  CopyQueue() = default;
  // Expects no copy in flight. A child of fork() must not destroy its parent's queue.
  virtual ~CopyQueue() = default;
  CopyQueue(const CopyQueue&) = delete;
  CopyQueue& operator=(const CopyQueue&) = delete;

  // Pinned host memory at a page boundary, for DMA by the device.
  [[nodiscard]] virtual std::span<std::byte> buffer(std::uint32_t index) = 0;
  // Begin to copy the first `bytes` of an idle buffer into device memory, or back. Return 0, or an
  // errno if no copy was begun. Copies of different buffers may end in any order.
  [[nodiscard]] virtual int copy_in(std::uint32_t index, std::byte* device, std::size_t bytes) = 0;
  [[nodiscard]] virtual int copy_out(std::uint32_t index, const std::byte* device,
                                     std::size_t bytes) = 0;
  // The state of a buffer's copy in flight. Does not wait. Polling also drives devices that make
  // progress only when polled.
  [[nodiscard]] virtual Look look(std::uint32_t index) = 0;
};

class DeviceMemory {
 public:
  DeviceMemory() = default;
  virtual ~DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  [[nodiscard]] virtual const char* name() const = 0;
  // True if read(2) can write to the memory; then every engine can.
  [[nodiscard]] virtual bool kernel_reaches() const = 0;
  // `buffers` pinned buffers of `buffer_bytes` each, a multiple of the page. Errors: ENOMEM, the
  // buffers cannot be pinned. EIO, ENODEV: from the device.
  virtual Result<std::unique_ptr<CopyQueue>> make_queue(std::uint32_t buffers,
                                                        std::size_t buffer_bytes) = 0;
  // Checks whether map() can succeed. Errors: as map().
  [[nodiscard]] virtual Status can_map() const = 0;
  // Maps [address, address + bytes) for the CPU's stores. The mapping lives as long as the memory.
  // EOPNOTSUPP: it cannot be mapped. EFAULT: not this device's memory.
  virtual Result<std::byte*> map(std::byte* address, std::size_t bytes) = 0;
};

// Memory that the CPU can address directly: a device's mapped memory (peer.hpp), the cpu backend's,
// or any. Copies are complete as soon as they are begun.
class MappedMemory final : public DeviceMemory {
 public:
  [[nodiscard]] const char* name() const override { return "mapped"; }
  [[nodiscard]] bool kernel_reaches() const override { return true; }
  Result<std::unique_ptr<CopyQueue>> make_queue(std::uint32_t buffers,
                                                std::size_t buffer_bytes) override;
  [[nodiscard]] Status can_map() const override { return {}; }
  Result<std::byte*> map(std::byte* address, std::size_t /*bytes*/) override { return address; }
};

}  // namespace k2k::io
