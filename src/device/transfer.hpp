#pragma once
// Copies buffers that the host cannot address to the arena and back.
//
// The call's row describes what each argument points to. Buffers that are not host-visible (stacks,
// local and device memory) are copied into a block before publication and, if the call writes them,
// copied back after completion. A detached call returns before the host reads its buffers, so its
// input is always copied if it fits a block; larger buffers must stay valid until drain().
//
// Registered memory (Backend::set_registered()) is not copied: the host serves reads and writes of
// files with it by its address. Of a detached call it is.
//
// Limits: one block (8 KiB) a call. read, write, pread, pwrite and getdents64 on larger buffers
// are clamped and answer a short count, as POSIX allows; sendto and recvfrom answer -EMSGSIZE.

#include <cstddef>
#include <cstdint>

#include "calls/rows.hpp"
#include "device/platform/platform.hpp"
#include "device/reply.hpp"
#include "protocol/claim.hpp"

namespace k2k::device {

inline constexpr std::uint32_t no_block = 0xffffffff;
inline constexpr std::uint64_t path_bytes_max = 4096;  // PATH_MAX, including the terminator.
// The bulk argument leaves room for all small arguments that a row can have beside it.
inline constexpr std::uint64_t bulk_bytes_max = protocol::arena_block_bytes - 512;

K2K_HD constexpr bool is_read(calls::Kind kind) {
  return kind == calls::Kind::path || kind == calls::Kind::in_bytes ||
         kind == calls::Kind::in_struct || kind == calls::Kind::in_sized ||
         kind == calls::Kind::inout_struct;
}
K2K_HD constexpr bool is_written(calls::Kind kind) {
  return kind == calls::Kind::out_bytes || kind == calls::Kind::out_struct ||
         kind == calls::Kind::out_sized || kind == calls::Kind::inout_struct;
}
K2K_HD constexpr bool is_bulk(calls::Kind kind) {
  return kind == calls::Kind::in_bytes || kind == calls::Kind::out_bytes;
}

// The most bytes of a block that one call can need.
K2K_HD constexpr std::uint64_t block_bytes_of(const calls::Row& row) {
  std::uint64_t sum = 0;
  for (int index = 0; index < calls::parameter_count(row); ++index) {
    const calls::Parameter& parameter = row.parameters[index];
    std::uint64_t bytes = parameter.bytes;
    if (parameter.kind == calls::Kind::path) bytes = path_bytes_max;
    if (is_bulk(parameter.kind)) bytes = bulk_bytes_max;
    sum += (bytes + 15) & ~std::uint64_t{15};
  }
  return sum;
}

struct Words {
  std::uint64_t word[protocol::argument_count] = {};
};

// The places of one call's arguments while the host serves it.
struct Transfer {
  std::uint32_t block = no_block;
  Words original;                                       // As the caller passed them.
  std::uint64_t bytes[protocol::argument_count] = {};   // Bytes copied in or to copy back.
  std::uint32_t offset[protocol::argument_count] = {};  // Within the block.
};

K2K_DEVICE inline void copy_bytes(void* to, const void* from, std::uint64_t bytes) {
  __builtin_memcpy(to, from, bytes);
}

K2K_DEVICE inline std::uint64_t path_length(const char* path) {
  std::uint64_t length = 0;
  while (length < path_bytes_max && path[length] != '\0') ++length;
  return length + 1;
}

// Bytes behind argument `index` of the row; 0 for null and for arguments that are not buffers.
K2K_DEVICE inline std::uint64_t bytes_behind(const calls::Parameter& parameter,
                                             const Words& arguments, int index) {
  const std::uint64_t address = arguments.word[index];
  if (address == 0) return 0;
  switch (parameter.kind) {
    case calls::Kind::path:
      return path_length(reinterpret_cast<const char*>(address));
    case calls::Kind::in_bytes:
    case calls::Kind::out_bytes:
      return arguments.word[parameter.size_from];
    case calls::Kind::in_struct:
    case calls::Kind::out_struct:
    case calls::Kind::inout_struct:
    case calls::Kind::opaque:
      return parameter.kind == calls::Kind::opaque ? 1 : parameter.bytes;
    case calls::Kind::in_sized: {
      const std::uint64_t size = arguments.word[parameter.size_from];
      return size < parameter.bytes ? size : parameter.bytes;
    }
    case calls::Kind::out_sized: {
      const auto* size =
          reinterpret_cast<const std::uint32_t*>(arguments.word[parameter.size_from]);
      if (size == nullptr) return 0;
      return *size < parameter.bytes ? *size : parameter.bytes;
    }
    default:
      return 0;
  }
}

// A block for `transfer`: 0, or -EAGAIN and -ECANCELED as move_in().
K2K_DEVICE inline std::int64_t take_block(const protocol::AreaView& area, Transfer& transfer,
                                          bool waits) {
  const std::uint32_t hint = platform::current().wave;
  while ((transfer.block = protocol::try_take_block(area, hint)) == area.arena_blocks) {
    const bool closed = protocol::load_acquire(area.closed) != 0;
    if (closed || !waits) {
      transfer.block = no_block;
      return closed ? -error::cancelled : -error::again;
    }
    platform::yield();
  }
  return 0;
}

K2K_DEVICE inline std::byte* block_of(const protocol::AreaView& area, const Transfer& transfer) {
  return area.arena + static_cast<std::uint64_t>(transfer.block) * protocol::arena_block_bytes;
}

// Copies the buffers that the host cannot address and points `arguments` at the copies. Returns 0
// or a negative errno:
//   -EFAULT        an opaque argument (ioctl) that the host cannot address
//   -ENAMETOOLONG  a path without a terminator in 4,096 bytes
//   -EMSGSIZE      a datagram larger than a block, or a detached transfer that could be short
//                  without any caller to notice
//   -ECANCELED     the runtime shut down while all blocks were taken
//   -EAGAIN        all blocks are taken, and `waits` is false
template <std::uint16_t number>
K2K_SHARED_CODE K2K_DEVICE inline std::int64_t move_in(const protocol::AreaView& area,
                                                       Words& arguments, bool detached,
                                                       Transfer& transfer, bool waits = true) {
  constexpr calls::Row row = calls::rows[calls::find(number)];
  constexpr int count = calls::parameter_count(row);
  static_assert(block_bytes_of(row) <= protocol::arena_block_bytes,
                "the copies of all arguments of this row do not fit a block together");
  transfer.original = arguments;
  bool moved[protocol::argument_count] = {};
  bool any = false;
  for (int index = 0; index < count; ++index) {
    const calls::Kind kind = row.parameters[index].kind;
    if (!is_read(kind) && !is_written(kind) && kind != calls::Kind::opaque) continue;
    // A pointer to a length is read here only if the host cannot read it: the call itself refuses a
    // wrong pointer.
    if (!detached && (kind == calls::Kind::path || kind == calls::Kind::out_sized) &&
        platform::host_visible(reinterpret_cast<const void*>(arguments.word[index]), 1)) {
      continue;
    }
    const std::uint64_t bytes = bytes_behind(row.parameters[index], arguments, index);
    if (bytes == 0) continue;
    const bool visible =
        platform::host_visible(reinterpret_cast<const void*>(arguments.word[index]), bytes);
    if (kind == calls::Kind::opaque) {
      if (!visible) return -error::bad_address;
      continue;
    }
    // The host reads and writes registered memory by its address, however long it is.
    if (!visible && !detached && is_bulk(kind) && calls::takes_registered_memory(number) &&
        platform::is_registered(reinterpret_cast<const void*>(arguments.word[index]))) {
      continue;
    }
    const bool fits = !is_bulk(kind) || bytes <= bulk_bytes_max;
    if (visible && !(detached && is_read(kind) && fits)) continue;
    if (kind == calls::Kind::path && bytes > path_bytes_max) return -error::name_too_long;
    if (!fits && (detached || row.family == calls::Family::network)) return -error::message_size;
    transfer.bytes[index] = fits ? bytes : bulk_bytes_max;
    moved[index] = any = true;
  }
  if (!any) return 0;

  if (const std::int64_t refusal = take_block(area, transfer, waits); refusal != 0) return refusal;
  std::byte* const block = block_of(area, transfer);
  std::uint64_t offset = 0;
  for (int index = 0; index < count; ++index) {
    if (!moved[index]) continue;
    const calls::Parameter& parameter = row.parameters[index];
    // Copies small outputs in, too: the call may write only a part of them, and all bytes are
    // copied back.
    if (!is_bulk(parameter.kind) || is_read(parameter.kind)) {
      copy_bytes(block + offset, reinterpret_cast<const void*>(arguments.word[index]),
                 transfer.bytes[index]);
    }
    transfer.offset[index] = static_cast<std::uint32_t>(offset);
    if (is_bulk(parameter.kind)) arguments.word[parameter.size_from] = transfer.bytes[index];
    offset += (transfer.bytes[index] + 15) & ~std::uint64_t{15};
  }
  // Only now: bytes_behind() follows original pointers.
  for (int index = 0; index < count; ++index) {
    if (moved[index]) {
      arguments.word[index] = reinterpret_cast<std::uint64_t>(block + transfer.offset[index]);
    }
  }
  return 0;
}

// Copies the call's outputs back and releases the block. `value` is the call's answer. A call that
// failed may have written small outputs (the time that a sleep has left, sizes); how much it wrote
// of a large buffer is not known.
template <std::uint16_t number>
K2K_SHARED_CODE K2K_DEVICE inline void move_out(const protocol::AreaView& area,
                                                const Transfer& transfer, std::int64_t value) {
  if (transfer.block == no_block) return;
  constexpr calls::Row row = calls::rows[calls::find(number)];
  constexpr int count = calls::parameter_count(row);
  const std::byte* const block = block_of(area, transfer);
  // At its end the runtime answers for calls that may still be under way.
  const bool ended = value != -error::cancelled && value != -error::timed_out;
  for (int index = 0; index < count && ended; ++index) {
    std::uint64_t bytes = transfer.bytes[index];
    if (bytes == 0 || !is_written(row.parameters[index].kind)) continue;
    if (is_bulk(row.parameters[index].kind)) {
      if (value < 0) continue;
      if (static_cast<std::uint64_t>(value) < bytes) bytes = static_cast<std::uint64_t>(value);
    }
    copy_bytes(reinterpret_cast<void*>(transfer.original.word[index]),
               block + transfer.offset[index], bytes);
  }
  protocol::give_block(area, transfer.block, protocol::block_free);
}

}  // namespace k2k::device
