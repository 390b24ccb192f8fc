#include "services/functions/host_frame.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace k2k::services {

using backend::PageAccess;
using calls::Direction;

namespace {

std::uint64_t word_at(const std::byte* memory) {
  std::uint64_t word = 0;
  std::memcpy(&word, memory, sizeof(word));
  return word;
}

constexpr std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}

// The most that an element of so many bytes can be aligned to.
constexpr std::uint64_t alignment_of(std::size_t bytes) { return bytes & (~bytes + 1); }

}  // namespace

template <class Visit>
void HostFrame::visit_buffers(const Visit& visit) const {
  std::size_t index = 0;
  for (const HostParameter& parameter : signature_->parameters) {
    if (parameter.is_buffer) visit(parameter.direction, index++);
  }
}

std::int64_t HostFrame::open(std::uint64_t address) {
  address_ = address;
  const std::size_t bytes = signature_->layout.frame_bytes();
  const auto access = signature_->layout.replies_in_answer() ? PageAccess::read : PageAccess::write;
  if (const std::int64_t refusal = memory_->reach(address, bytes, access, reading());
      refusal != 0) {
    return refusal;
  }
  std::memcpy(frame_.data(), reinterpret_cast<const void*>(address), bytes);
  std::uint64_t copied = 0;
  if (const std::int64_t refusal = find_buffers(copied); refusal != 0) return refusal;
  fill_buffers(copied);
  return 0;
}

std::int64_t HostFrame::find_buffers(std::uint64_t& bytes) {
  std::size_t index = 0;
  for (const HostParameter& parameter : signature_->parameters) {
    if (!parameter.is_buffer) continue;
    if (const std::int64_t refusal = find_buffer(parameter, index); refusal != 0) return refusal;
    if (buffers_ == Buffers::copied) {
      const std::uint64_t more = callers_[index].bytes;
      if (more > host_copies_bytes_max - bytes) return -EMSGSIZE;
      bytes += rounded_up(more, alignment);  // At most host_copies_bytes_max, which is a multiple.
    }
    const auto access = parameter.direction == Direction::in ? PageAccess::read : PageAccess::write;
    if (const std::int64_t refusal =
            memory_->reach(reinterpret_cast<std::uint64_t>(callers_[index].data),
                           callers_[index].bytes, access, reading());
        refusal != 0) {
      return refusal;
    }
    ++index;
  }
  return 0;
}

std::int64_t HostFrame::find_buffer(const HostParameter& parameter, std::size_t index) {
  const std::byte* const place = frame_.data() + index * sizeof(calls::HostBuffer);
  const calls::HostBuffer buffer{word_at(place), word_at(place + sizeof(std::uint64_t))};
  if (buffer.direction() != parameter.direction || buffer.bytes() % parameter.bytes != 0) {
    return -EPROTO;
  }
  const std::uint64_t aligned = std::min<std::uint64_t>(alignment_of(parameter.bytes), alignment);
  if (buffers_ == Buffers::in_place && buffer.bytes() != 0 && buffer.address % aligned != 0) {
    return -EAGAIN;
  }
  callers_[index] = {reinterpret_cast<void*>(buffer.address), buffer.bytes()};
  spans_[index] = callers_[index];
  return 0;
}

void HostFrame::fill_buffers(std::uint64_t bytes) {
  std::byte* next = nullptr;
  if (bytes != 0) {
    copies_ = std::make_unique_for_overwrite<std::byte[]>(bytes + alignment);
    void* place = copies_.get();
    std::size_t space = bytes + alignment;
    next = static_cast<std::byte*>(std::align(alignment, bytes, place, space));
  }
  visit_buffers([&](Direction direction, std::size_t index) {
    HostSpan& span = spans_[index];
    if (span.bytes == 0) return;
    if (next != nullptr) {
      span.data = next;
      next += rounded_up(span.bytes, alignment);
    }
    if (direction == Direction::out) {
      std::memset(span.data, 0, span.bytes);
    } else if (span.data != callers_[index].data) {
      std::memcpy(span.data, callers_[index].data, span.bytes);
    }
  });
}

HostArguments HostFrame::arguments() {
  const calls::HostLayout& layout = signature_->layout;
  return {spans_.data(), frame_.data() + layout.arguments_at(), frame_.data() + layout.reply_at()};
}

std::int64_t HostFrame::give_back() const {
  const calls::HostLayout& layout = signature_->layout;
  std::int64_t refusal = 0;
  // A function may have taken long: is its caller's memory there still?
  const auto write = [&](std::uint64_t address, const std::byte* from, std::uint64_t bytes) {
    if (refusal != 0 || bytes == 0) return;
    if (buffers_ == Buffers::copied) {
      refusal = memory_->reach(address, bytes, PageAccess::write, backend::Reading::blocking);
    }
    if (refusal == 0) std::memcpy(reinterpret_cast<void*>(address), from, bytes);
  };
  if (!layout.replies_in_answer()) {
    write(address_ + layout.reply_at(), frame_.data() + layout.reply_at(),
          layout.frame_bytes() - layout.reply_at());
  }
  if (copies_ == nullptr) return refusal;
  visit_buffers([&](Direction direction, std::size_t index) {
    if (direction == Direction::in) return;
    write(reinterpret_cast<std::uint64_t>(callers_[index].data),
          static_cast<const std::byte*>(spans_[index].data), spans_[index].bytes);
  });
  return refusal;
}

}  // namespace k2k::services
