#pragma once
// Copies the frame of a host call, and the buffers that it names, to the arena and back.
//
// If the host can address frame and buffers, nothing is copied. Otherwise the block holds the frame
// and behind it each buffer that the host cannot address; the copied frame names the copies. Of a
// detached call the frame is always copied, and so are buffers that fit.
//
// Limit: one block (8 KiB) a call for everything that is copied.

#include <cstddef>
#include <cstdint>

#include "calls/host_call.hpp"
#include "device/transfer.hpp"

namespace k2k::device {

// Calls visit(buffer's place in the frame, buffer, offset of its copy) for each buffer that is
// copied, and returns the bytes of the block that are used.
template <class Visit>
K2K_DEVICE inline std::uint64_t visit_copies(const std::byte* frame, std::size_t buffers,
                                             std::uint64_t frame_bytes, bool detached,
                                             const Visit& visit) {
  std::uint64_t offset = calls::whole_words(frame_bytes);
  for (std::size_t index = 0; index < buffers; ++index) {
    calls::HostBuffer buffer;
    copy_bytes(&buffer, frame + index * sizeof(buffer), sizeof(buffer));
    if (buffer.bytes() == 0) continue;
    const auto* const memory = reinterpret_cast<const void*>(buffer.address);
    const std::uint64_t padded = (buffer.bytes() + 15) & ~std::uint64_t{15};
    if (platform::host_visible(memory, buffer.bytes())) {
      // Larger ones stay valid until drain(), as with every detached call.
      if (!detached || offset + padded > protocol::arena_block_bytes) continue;
    }
    // A size beyond a block would be added to until it wraps.
    if (padded > protocol::arena_block_bytes) return protocol::arena_block_bytes + 1;
    visit(index, buffer, offset);
    offset += padded;
  }
  return offset;
}

// As the general one, and -EMSGSIZE where frame and buffers do not fit into a block.
template <>
K2K_SHARED_CODE K2K_DEVICE inline std::int64_t move_in<calls::host_call_number>(
    const protocol::AreaView& area, Words& arguments, bool detached, Transfer& transfer,
    bool waits) {
  transfer.original = arguments;
  const std::uint64_t shape = arguments.word[calls::host_shape_word];
  if (!calls::is_framed(shape)) return 0;
  const std::uint64_t bytes = arguments.word[calls::host_frame_bytes_word];
  const auto* const frame =
      reinterpret_cast<const std::byte*>(arguments.word[calls::host_frame_word]);
  const std::size_t buffers = calls::layout_of(shape, bytes).buffers;
  bool any = detached || !platform::host_visible(frame, bytes);
  const std::uint64_t used =
      visit_copies(frame, buffers, bytes, detached,
                   [&](std::size_t, const calls::HostBuffer&, std::uint64_t) { any = true; });
  if (used > protocol::arena_block_bytes) return -error::message_size;
  if (!any) return 0;
  if (const std::int64_t refusal = take_block(area, transfer, waits); refusal != 0) return refusal;
  std::byte* const block = block_of(area, transfer);
  copy_bytes(block, frame, bytes);
  visit_copies(
      frame, buffers, bytes, detached,
      [&](std::size_t index, const calls::HostBuffer& buffer, std::uint64_t offset) {
        if (buffer.direction() != calls::Direction::out) {
          copy_bytes(block + offset, reinterpret_cast<const void*>(buffer.address), buffer.bytes());
        }
        const calls::HostBuffer copy{reinterpret_cast<std::uint64_t>(block + offset), buffer.size};
        copy_bytes(block + index * sizeof(copy), &copy, sizeof(copy));
      });
  arguments.word[calls::host_frame_word] = reinterpret_cast<std::uint64_t>(block);
  return 0;
}

template <>
K2K_SHARED_CODE K2K_DEVICE inline void move_out<calls::host_call_number>(
    const protocol::AreaView& area, const Transfer& transfer, std::int64_t value) {
  if (transfer.block == no_block) return;
  const Words& original = transfer.original;
  const std::uint64_t bytes = original.word[calls::host_frame_bytes_word];
  const calls::HostLayout layout = calls::layout_of(original.word[calls::host_shape_word], bytes);
  auto* const frame = reinterpret_cast<std::byte*>(original.word[calls::host_frame_word]);
  const std::byte* const block = block_of(area, transfer);
  if (value >= 0) {
    copy_bytes(frame + layout.reply_at(), block + layout.reply_at(), bytes - layout.reply_at());
    visit_copies(frame, layout.buffers, bytes, false,
                 [&](std::size_t, const calls::HostBuffer& buffer, std::uint64_t offset) {
                   if (buffer.direction() == calls::Direction::in) return;
                   copy_bytes(reinterpret_cast<void*>(buffer.address), block + offset,
                              buffer.bytes());
                 });
  }
  protocol::give_block(area, transfer.block, protocol::block_free);
}

}  // namespace k2k::device
