// The engine of the CPU's own stores: a file's bytes are read into a few pages that stay in the
// CPU's cache, and are then stored to mapped device memory in whole lines (stream_copy.hpp). A
// direct read(2) is not used, because Linux' copy guarantees nothing about write-combined memory.
//
// UNVERIFIED ON HARDWARE: tested on ordinary memory.

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "io/engine/blocking.hpp"
#include "io/engine/immediate.hpp"
#include "io/gpu/device_engines.hpp"
#include "io/gpu/stream_copy.hpp"

namespace k2k::io {

namespace {

constexpr std::size_t part_bytes = 64 * 1024;  // Of a core's second-level cache.

// Moves each transfer part by part.
class Stores {
 public:
  Stores(DeviceMemory& memory, std::byte* part) : memory_(&memory), part_(part, Unmap()) {}

  std::int64_t operator()(const Transfer& transfer) const {
    const std::size_t bytes = std::min(transfer.bytes, transfer_bytes_max);
    const Result<std::byte*> mapped = memory_->map(transfer.memory, bytes);
    if (!mapped) return -mapped.error().code;
    std::size_t done = 0;
    do {
      const std::uint64_t offset = transfer.offset + done;
      const std::size_t part = std::min(bytes - done, part_bytes - offset % part_bytes);
      const std::int64_t count = moved(transfer, mapped.value() + done, offset, part);
      if (count < 0) return done > 0 ? static_cast<std::int64_t>(done) : count;
      done += static_cast<std::size_t>(count);
      if (static_cast<std::size_t>(count) < part) break;
    } while (done < bytes);
    return static_cast<std::int64_t>(done);
  }

 private:
  struct Unmap {
    void operator()(std::byte* part) const { ::munmap(part, part_bytes); }
  };

  [[nodiscard]] std::int64_t moved(const Transfer& transfer, std::byte* device,
                                   std::uint64_t offset, std::size_t bytes) const {
    const bool read = transfer.direction == Direction::read;
    if (!read && bytes > 0) std::memcpy(part_.get(), device, bytes);
    const std::int64_t count =
        transfer_now({transfer.file, offset, part_.get(), bytes, 0, transfer.direction}).result;
    if (read && count > 0) stream_copy(device, part_.get(), static_cast<std::size_t>(count));
    return count;
  }

  DeviceMemory* memory_;
  std::unique_ptr<std::byte, Unmap> part_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_bar(DeviceMemory& memory, std::uint32_t outstanding) {
  if (Status status = check_outstanding(outstanding); !status) return status.error();
  if (Status status = memory.can_map(); !status) return status.error();
  void* const part =
      ::mmap(nullptr, part_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (part == MAP_FAILED) {
    return Error{ENOMEM,
                 fmt::format("bar: {} bytes of memory: {}", part_bytes, std::strerror(ENOMEM))};
  }
  const Capabilities capabilities{"bar", false, outstanding, true, part_bytes};
  return std::unique_ptr<Engine>(std::make_unique<Immediate<Stores>>(
      capabilities, Stores(memory, static_cast<std::byte*>(part))));
}

}  // namespace k2k::io
