#pragma once
// The frame of one host call, and the buffers that it names, as the host holds them.
//
//   open() ─▶ the function runs on arguments() ─▶ give_back()
//
// The frame is copied and each of its words read once: the device may write to it at any time.
//
// Threading: an object belongs to one thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/demand_pages.hpp"
#include "calls/host_call.hpp"
#include "services/functions/caller_memory.hpp"
#include "services/functions/host_function.hpp"
#include "services/functions/host_signature.hpp"

namespace k2k::services {

// The buffers of one call of a function that may block take at most so much: they are copied.
inline constexpr std::uint64_t host_copies_bytes_max = std::uint64_t{1} << 30;

class HostFrame {
 public:
  enum class Buffers : std::uint8_t { copied, in_place };

  // Both outlive this.
  HostFrame(const CallerMemory& memory, const HostSignature& signature, Buffers buffers)
      : memory_(&memory), signature_(&signature), buffers_(buffers) {}
  HostFrame(const HostFrame&) = delete;
  HostFrame& operator=(const HostFrame&) = delete;

  // Reads frame and buffers. 0, or
  //   -EFAULT    memory that the host cannot reach
  //   -EPROTO    a buffer of another direction, or of parts of elements
  //   -EMSGSIZE  buffers beyond host_copies_bytes_max
  //   -EAGAIN    in place, and a page has to be read first, or a buffer is not aligned: copy it
  // Throws std::bad_alloc.
  std::int64_t open(std::uint64_t address);
  [[nodiscard]] HostArguments arguments();
  // Writes the results to the caller's memory: 0 or -EFAULT.
  [[nodiscard]] std::int64_t give_back() const;

 private:
  static constexpr std::size_t alignment = 64;

  [[nodiscard]] backend::Reading reading() const {
    return buffers_ == Buffers::copied ? backend::Reading::blocking : backend::Reading::cached_only;
  }
  // Describes the buffers, and adds up the bytes of copies: 0, or an error as open().
  std::int64_t find_buffers(std::uint64_t& bytes);
  std::int64_t find_buffer(const HostParameter& parameter, std::size_t index);
  void fill_buffers(std::uint64_t bytes);
  template <class Visit>
  void visit_buffers(const Visit& visit) const;

  const CallerMemory* memory_;
  const HostSignature* signature_;
  const Buffers buffers_;
  std::uint64_t address_ = 0;
  alignas(16) std::array<std::byte, calls::host_frame_bytes_max> frame_;
  std::array<HostSpan, calls::host_buffers_max> callers_;
  std::array<HostSpan, calls::host_buffers_max> spans_;  // For the function.
  std::unique_ptr<std::byte[]> copies_;
};

}  // namespace k2k::services
