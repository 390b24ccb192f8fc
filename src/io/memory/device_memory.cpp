#include "io/memory/device_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace k2k::io {

namespace {

class MappedQueue final : public CopyQueue {
 public:
  MappedQueue(std::span<std::byte> memory, std::size_t buffer_bytes)
      : memory_(memory), buffer_bytes_(buffer_bytes) {}
  ~MappedQueue() override { ::munmap(memory_.data(), memory_.size()); }

  [[nodiscard]] std::span<std::byte> buffer(std::uint32_t index) override {
    return memory_.subspan(index * buffer_bytes_, buffer_bytes_);
  }
  int copy_in(std::uint32_t index, std::byte* device, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(device, buffer(index).data(), bytes);
    return 0;
  }
  int copy_out(std::uint32_t index, const std::byte* device, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(buffer(index).data(), device, bytes);
    return 0;
  }
  Look look(std::uint32_t /*index*/) override { return {true, 0}; }

 private:
  std::span<std::byte> memory_;
  std::size_t buffer_bytes_;
};

}  // namespace

Result<std::unique_ptr<CopyQueue>> MappedMemory::make_queue(std::uint32_t buffers,
                                                            std::size_t buffer_bytes) {
  const std::size_t bytes = buffers * buffer_bytes;
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return Error{ENOMEM,
                 fmt::format("staging: {} bytes for its buffers: {}; take fewer or shorter ones",
                             bytes, std::strerror(ENOMEM))};
  }
  return std::unique_ptr<CopyQueue>(std::make_unique<MappedQueue>(
      std::span(static_cast<std::byte*>(memory), bytes), buffer_bytes));
}

}  // namespace k2k::io
