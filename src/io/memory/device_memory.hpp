#pragma once
// The seam to memory that the CPU cannot address (a GPU's): what brings file data there asks it for
// pinned buffers and copies, or for a place where the CPU's own stores arrive.
//
//   DeviceMemory   of one device: makes queues, maps memory where it can
//   CopyQueue      pinned buffers, each with at most one copy under way
//
//   buffer: idle ──copy_in, copy_out──▶ under way ──look() says done or failed──▶ idle
//
// An address of device memory is a std::byte* that is not followed here: with unified addressing no
// other byte of host or devices has the same number.
//
// MappedMemory below is what the CPU reaches, such as peer memory; cuda_memory.hpp is CUDA's.
//
// Threading: DeviceMemory from any thread; one owner a queue.

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
    int code = 0;  // Once done: 0, or the errno for which the bytes did not arrive.
  };

  CopyQueue() = default;
  // Expects no copy under way. A child of fork() must not destroy its parent's queue.
  virtual ~CopyQueue() = default;
  CopyQueue(const CopyQueue&) = delete;
  CopyQueue& operator=(const CopyQueue&) = delete;

  // Host memory at a page boundary that the device copies from and to by itself.
  [[nodiscard]] virtual std::span<std::byte> buffer(std::uint32_t index) = 0;
  // Begin to copy the first `bytes` of an idle buffer into device memory, or back. 0, or the errno
  // for which nothing was begun. Copies of different buffers may end in any order.
  [[nodiscard]] virtual int copy_in(std::uint32_t index, std::byte* device, std::size_t bytes) = 0;
  [[nodiscard]] virtual int copy_out(std::uint32_t index, const std::byte* device,
                                     std::size_t bytes) = 0;
  // Of a buffer whose copy was begun and not yet said to be done. Does not wait; asking is also
  // what keeps a device going that nobody interrupts.
  [[nodiscard]] virtual Look look(std::uint32_t index) = 0;
};

class DeviceMemory {
 public:
  DeviceMemory() = default;
  virtual ~DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  [[nodiscard]] virtual const char* name() const = 0;
  // Can read(2) itself write to it? Then every engine can.
  [[nodiscard]] virtual bool kernel_reaches() const = 0;
  // `buffers` pinned buffers of `buffer_bytes` each, a multiple of the page. ENOMEM: so much cannot
  // be pinned. EIO, ENODEV: as the device says.
  virtual Result<std::unique_ptr<CopyQueue>> make_queue(std::uint32_t buffers,
                                                        std::size_t buffer_bytes) = 0;
  // Can map() work at all? The errors are its.
  [[nodiscard]] virtual Status can_map() const = 0;
  // Where the CPU's stores to [address, address + bytes) arrive. It stays as long as the memory.
  // EOPNOTSUPP: no way to it. EFAULT: not this device's memory.
  virtual Result<std::byte*> map(std::byte* address, std::size_t bytes) = 0;
};

// Memory that the CPU reaches at its own address: a device's that is mapped (peer.hpp), the cpu
// backend's, or any. Copies are done when they are begun.
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
