// The engine of the CPU's own stores: a file's bytes come into a few pages that stay in its cache,
// and go on to mapped device memory in whole lines (stream_copy.hpp). Not by read(2) alone: what
// the kernel's copy does with write-combined memory is nobody's promise.
//
// UNVERIFIED ON HARDWARE: tested on ordinary memory.

#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "io/blocking.hpp"
#include "io/device_engines.hpp"
#include "io/fixed_queue.hpp"
#include "io/stream_copy.hpp"

namespace k2k::io {

namespace {

constexpr std::size_t part_bytes = 64 * 1024;  // Of a core's second-level cache.

class Bar final : public Engine {
 public:
  Bar(DeviceMemory& memory, std::byte* part, std::uint32_t outstanding)
      : capabilities_{"bar", false, outstanding, true, part_bytes},
        memory_(memory),
        part_(part),
        completed_(outstanding) {}
  ~Bar() override { ::munmap(part_, part_bytes); }

  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] std::size_t outstanding() const override { return completed_.size(); }

  std::size_t submit(std::span<const Transfer> transfers) override {
    const std::size_t room = capabilities_.outstanding_max - completed_.size();
    const std::size_t count = std::min(transfers.size(), room);
    for (const Transfer& transfer : transfers.first(count)) {
      completed_.push({transfer.tag, moved(transfer)});
    }
    return count;
  }

  std::size_t poll(std::span<Completion> into, std::size_t /*least*/) override {
    const std::size_t count = std::min(into.size(), completed_.size());
    for (Completion& completion : into.first(count)) completion = completed_.pop();
    return count;
  }

 private:
  std::int64_t moved(const Transfer& transfer) {
    const std::size_t bytes = std::min(transfer.bytes, transfer_bytes_max);
    const Result<std::byte*> mapped = memory_.map(transfer.memory, bytes);
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

  std::int64_t moved(const Transfer& transfer, std::byte* device, std::uint64_t offset,
                     std::size_t bytes) {
    const bool read = transfer.direction == Direction::read;
    if (!read && bytes > 0) std::memcpy(part_, device, bytes);
    const std::int64_t count =
        transfer_now({transfer.file, offset, part_, bytes, 0, transfer.direction}).result;
    if (read && count > 0) stream_copy(device, part_, static_cast<std::size_t>(count));
    return count;
  }

  Capabilities capabilities_;
  DeviceMemory& memory_;
  std::byte* part_;
  FixedQueue<Completion> completed_;
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
  return std::unique_ptr<Engine>(
      std::make_unique<Bar>(memory, static_cast<std::byte*>(part), outstanding));
}

}  // namespace k2k::io
