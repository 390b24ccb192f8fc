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
// Limits: one block (8 KiB) a call. Of larger buffers read, write, pread, pwrite and outputs of the
// other calls use a part: the call answers a short count, as POSIX allows, or that the space is too
// small (ERANGE). sendto, recvfrom and inputs of the other calls answer -EMSGSIZE.

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
  return kind == calls::Kind::path || kind == calls::Kind::text || kind == calls::Kind::in_bytes ||
         kind == calls::Kind::in_struct || kind == calls::Kind::in_sized ||
         kind == calls::Kind::in_array || kind == calls::Kind::inout_array ||
         kind == calls::Kind::inout_struct;
}
// Its size is where another argument points to.
K2K_HD constexpr bool is_sized_by_pointer(calls::Kind kind) {
  return kind == calls::Kind::out_sized || kind == calls::Kind::out_limited;
}
K2K_HD constexpr bool is_written(calls::Kind kind) {
  return kind == calls::Kind::out_bytes || kind == calls::Kind::out_struct ||
         kind == calls::Kind::out_array || kind == calls::Kind::inout_array ||
         is_sized_by_pointer(kind) || kind == calls::Kind::inout_struct;
}
K2K_HD constexpr bool is_bulk(calls::Kind kind) {
  return kind == calls::Kind::in_bytes || kind == calls::Kind::out_bytes || calls::is_array(kind);
}
// Whether the call is made with a part of a buffer that does not fit.
K2K_HD constexpr bool may_be_part(const calls::Row& row, calls::Kind kind) {
  if (row.family == calls::Family::network) return false;
  if (kind == calls::Kind::out_bytes || kind == calls::Kind::out_array) return true;
  return kind == calls::Kind::in_bytes && calls::takes_registered_memory(row.number);
}

K2K_HD constexpr std::uint64_t rounded(std::uint64_t bytes) {
  return (bytes + 15) & ~std::uint64_t{15};
}

// The most bytes of a block that the arguments of one call can need, but for bulk.
K2K_HD constexpr std::uint64_t small_bytes_of(const calls::Row& row) {
  std::uint64_t sum = 0;
  for (int index = 0; index < calls::parameter_count(row); ++index) {
    const calls::Parameter& parameter = row.parameters[index];
    if (is_bulk(parameter.kind)) continue;
    sum += rounded(parameter.kind == calls::Kind::path ? path_bytes_max : parameter.bytes);
  }
  return sum;
}

// The most bytes of one bulk argument, in whole elements.
K2K_HD constexpr std::uint64_t bulk_bytes_of(const calls::Row& row,
                                             const calls::Parameter& parameter) {
  const std::uint64_t left = protocol::arena_block_bytes - small_bytes_of(row);
  const std::uint64_t room = left < bulk_bytes_max ? left : bulk_bytes_max;
  return calls::is_array(parameter.kind) ? room / parameter.bytes * parameter.bytes : room;
}

// Whether the copies of all arguments fit a block together.
K2K_HD constexpr bool fits_a_block(const calls::Row& row) {
  int bulk = 0;
  for (int index = 0; index < calls::parameter_count(row); ++index) {
    if (is_bulk(row.parameters[index].kind)) ++bulk;
  }
  constexpr std::uint64_t least = 1024;  // Of a bulk argument.
  return bulk <= 1 && small_bytes_of(row) + (bulk == 0 ? 0 : least) <= protocol::arena_block_bytes;
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

// The first `most` bytes of a text with its terminator; one more if it has no terminator there.
K2K_DEVICE inline std::uint64_t text_bytes(const char* text, std::uint64_t most) {
  std::uint64_t length = 0;
  while (length < most && text[length] != '\0') ++length;
  return length + 1;
}

// Bytes behind argument `index` of the row; 0 for null and for arguments that are not buffers.
K2K_DEVICE inline std::uint64_t bytes_behind(const calls::Row& row, const Words& arguments,
                                             int index) {
  const std::uint64_t address = arguments.word[index];
  if (address == 0) return 0;
  const calls::Parameter& parameter = row.parameters[index];
  const std::uint64_t size = calls::number_in(row.parameters[parameter.size_from].kind,
                                              arguments.word[parameter.size_from]);
  switch (parameter.kind) {
    case calls::Kind::path:
      return text_bytes(reinterpret_cast<const char*>(address), path_bytes_max);
    case calls::Kind::text: {
      const std::uint64_t bytes =
          text_bytes(reinterpret_cast<const char*>(address), parameter.bytes);
      return bytes < parameter.bytes ? bytes : parameter.bytes;
    }
    case calls::Kind::in_bytes:
    case calls::Kind::out_bytes:
      return size;
    case calls::Kind::in_array:
    case calls::Kind::out_array:
    case calls::Kind::inout_array:
      return calls::bytes_of(size, parameter.bytes);
    case calls::Kind::in_struct:
    case calls::Kind::out_struct:
    case calls::Kind::inout_struct:
    case calls::Kind::opaque:
      return parameter.kind == calls::Kind::opaque ? 1 : parameter.bytes;
    case calls::Kind::in_sized:
      return size < parameter.bytes ? size : parameter.bytes;
    case calls::Kind::out_limited:
    case calls::Kind::out_sized: {
      const auto* room =
          reinterpret_cast<const std::uint32_t*>(arguments.word[parameter.size_from]);
      if (room == nullptr) return 0;
      if (parameter.kind == calls::Kind::out_limited) return *room;
      return *room < parameter.bytes ? *room : parameter.bytes;
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
//   -EMSGSIZE      a datagram or an input larger than a block, or a detached transfer that could be
//                  short without any caller to notice
//   -ECANCELED     the runtime shut down while all blocks were taken
//   -EAGAIN        all blocks are taken, and `waits` is false
template <std::uint16_t number>
K2K_SHARED_CODE K2K_DEVICE inline std::int64_t move_in(const protocol::AreaView& area,
                                                       Words& arguments, bool detached,
                                                       Transfer& transfer, bool waits = true) {
  constexpr calls::Row row = calls::rows[calls::find(number)];
  constexpr int count = calls::parameter_count(row);
  static_assert(fits_a_block(row),
                "the copies of all arguments of this row do not fit a block together");
  transfer.original = arguments;
  bool moved[protocol::argument_count] = {};
  bool any = false;
  for (int index = 0; index < count; ++index) {
    const calls::Parameter& parameter = row.parameters[index];
    const calls::Kind kind = parameter.kind;
    if (!is_read(kind) && !is_written(kind) && kind != calls::Kind::opaque) continue;
    // A pointer to a length is read here only if the host cannot read it: the call itself refuses a
    // wrong pointer.
    const bool measured =
        kind == calls::Kind::path || kind == calls::Kind::text || is_sized_by_pointer(kind);
    if (!detached && measured &&
        platform::host_visible(reinterpret_cast<const void*>(arguments.word[index]), 1)) {
      continue;
    }
    const std::uint64_t bytes = bytes_behind(row, arguments, index);
    if (bytes == 0) {
      // Room for nothing has an address all the same: the call may find another error first.
      if (is_sized_by_pointer(kind) && arguments.word[index] != 0) {
        moved[index] = any =
            !platform::host_visible(reinterpret_cast<const void*>(arguments.word[index]), 1);
      }
      continue;
    }
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
    const std::uint64_t room = is_bulk(kind)                      ? bulk_bytes_of(row, parameter)
                               : kind == calls::Kind::out_limited ? parameter.bytes
                                                                  : bytes;
    const bool fits = bytes <= room;
    if (visible && !(detached && is_read(kind) && fits)) continue;
    if (kind == calls::Kind::path && bytes > path_bytes_max) return -error::name_too_long;
    if (!fits && (detached || !may_be_part(row, kind))) return -error::message_size;
    transfer.bytes[index] = fits ? bytes : room;
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
    if (is_bulk(parameter.kind)) {
      arguments.word[parameter.size_from] =
          transfer.bytes[index] / (calls::is_array(parameter.kind) ? parameter.bytes : 1);
    }
    offset += rounded(transfer.bytes[index]);
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
    const calls::Parameter& parameter = row.parameters[index];
    if (is_bulk(parameter.kind)) {
      if (value < 0) continue;
      const std::uint64_t written = calls::bytes_of(
          static_cast<std::uint64_t>(value), calls::is_array(parameter.kind) ? parameter.bytes : 1);
      if (parameter.kind != calls::Kind::inout_array && written < bytes) bytes = written;
    }
    copy_bytes(reinterpret_cast<void*>(transfer.original.word[index]),
               block + transfer.offset[index], bytes);
  }
  protocol::give_block(area, transfer.block, protocol::block_free);
}

}  // namespace k2k::device
