#pragma once
// Copies buffers that the host cannot address to the arena and back.
//
// The call's row describes what each argument points to. Buffers that are not host-visible (stacks,
// local and device memory) are copied into a block before publication and, if the call writes them,
// copied back after completion. A detached call returns before the host reads its buffers, so its
// input is always copied if it fits a block; larger buffers must stay valid until drain().
//
// Registered memory (Backend::set_registered()) is not copied: the host serves reads and writes of
// files with it by its address. Registered memory of a detached call is copied.
//
// Limits: one block (8 KiB) a call. Of larger buffers read, write, pread, pwrite and outputs of the
// other calls use a part: the call answers a short count, as POSIX allows, or that the space is too
// small (ERANGE). Calls of sockets and inputs of the other calls answer -EMSGSIZE.
//
// Pointers within an argument (vectors, messages) are device/nested.hpp.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "calls/commands.hpp"
#include "calls/reach.hpp"
#include "calls/rows.hpp"
#include "device/buffers.hpp"
#include "device/nested.hpp"
#include "device/platform/platform.hpp"
#include "device/reply.hpp"
#include "device/wide_copy.hpp"
#include "protocol/claim.hpp"

namespace k2k::device {

// Bytes behind a pointer of a measured kind: read from the caller's own memory.
K2K_DEVICE inline std::uint64_t measured_bytes(const calls::Parameter& parameter,
                                               const Words& arguments, std::uint64_t address) {
  switch (parameter.kind) {
    case calls::Kind::path:
      return text_bytes(reinterpret_cast<const char*>(address), path_bytes_max);
    case calls::Kind::text: {
      const std::uint64_t bytes =
          text_bytes(reinterpret_cast<const char*>(address), parameter.bytes);
      return bytes < parameter.bytes ? bytes : parameter.bytes;
    }
    case calls::Kind::out_limited:
    case calls::Kind::out_sized: {
      const auto* room =
          reinterpret_cast<const std::uint32_t*>(arguments.word[parameter.size_from]);
      if (room == nullptr) return 0;
      if (parameter.kind == calls::Kind::out_limited) return *room;
      return *room < parameter.bytes ? *room : parameter.bytes;
    }
    default: {  // The first u32 says it.
      const std::uint64_t head = parameter.kind == calls::Kind::in_self_sized ? 0 : 8;
      const std::uint64_t bytes = *reinterpret_cast<const std::uint32_t*>(address) + head;
      return bytes < parameter.bytes ? bytes : parameter.bytes;
    }
  }
}

// Bytes behind argument `index` of the row; 0 for null, for arguments that are not buffers, and for
// nested ones, which device/nested.hpp copies.
K2K_DEVICE inline std::uint64_t bytes_behind(const calls::Row& row, const Words& arguments,
                                             int index) {
  const std::uint64_t address = arguments.word[index];
  const calls::Parameter& parameter = row.parameters[index];
  if (address == 0 || calls::is_nested(parameter.kind)) return 0;
  if (calls::is_measured(parameter.kind)) return measured_bytes(parameter, arguments, address);
  const std::uint64_t number = calls::number_in(row.parameters[parameter.size_from].kind,
                                                arguments.word[parameter.size_from]);
  return calls::told_bytes({parameter.kind, parameter.size_from, parameter.bytes}, number);
}

// Gives the size of a copy of a bulk argument to the argument that tells it.
K2K_DEVICE inline void set_number(const calls::Row& row, int index, std::uint64_t bytes,
                                  Words& arguments) {
  const calls::Parameter& parameter = row.parameters[index];
  std::uint64_t& number = arguments.word[parameter.size_from];
  if (parameter.kind == calls::Kind::out_pages) {
    return;  // All of them or none.
  }
  number = is_letter(parameter.kind)         ? bytes - parameter.bytes
           : calls::is_array(parameter.kind) ? bytes / parameter.bytes
                                             : bytes;
}

// Bytes of a bulk output that a call has written whose answer is `value`.
K2K_DEVICE inline std::uint64_t written_bytes(const calls::Parameter& parameter,
                                              std::uint64_t value) {
  switch (parameter.kind) {
    case calls::Kind::inout_array:
    case calls::Kind::out_pages:
      return ~std::uint64_t{0};
    case calls::Kind::out_letter:
      return value + parameter.bytes;
    case calls::Kind::out_array:
      return calls::bytes_of(value, parameter.bytes);
    default:
      return value;
  }
}

struct NoRow {};

// The row of a call whose arguments a command decides.
template <std::uint16_t number>
K2K_DEVICE inline calls::Row row_by_command(const Words& arguments) {
  constexpr auto mine = calls::commands_of<number>();
  calls::Row row = calls::row_with(number);
  for (int index = 0; index < calls::parameters_max; ++index) {
    calls::Parameter& parameter = row.parameters[index];
    if (parameter.kind != calls::Kind::by_command) continue;
    const calls::Extent extent = calls::extent_by(mine.command, calls::count_commands(number),
                                                  number, index, arguments.word);
    parameter.kind = extent.kind;
    parameter.size_from = extent.size_from;
    parameter.bytes = extent.bytes;
  }
  return row;
}

template <std::uint16_t number>
K2K_DEVICE inline auto chosen_row([[maybe_unused]] const Words& arguments) {
  if constexpr (calls::is_by_command(calls::row_with(number))) {
    return row_by_command<number>(arguments);
  } else {
    return NoRow{};
  }
}
template <bool by_command, class Chosen>
K2K_DEVICE inline const calls::Row& row_of([[maybe_unused]] const calls::Row& fixed,
                                           [[maybe_unused]] const Chosen& chosen) {
  if constexpr (by_command) {
    return chosen;
  } else {
    return fixed;
  }
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
  constexpr calls::Row fixed = calls::row_with(number);
  constexpr int count = calls::parameter_count(fixed);
  constexpr bool by_command = calls::is_by_command(fixed);
  constexpr bool nested = calls::may_be_nested(fixed);
  // Texts, and arguments that a command decides, may be too long together; only their sizes at run
  // time tell.
  constexpr bool counted = by_command || !fits_a_block(fixed);
  static_assert(small_bytes_of(fixed) < 3 * protocol::arena_block_bytes &&
                    (!counted || by_command || bulk_count_of(fixed) == 0 || nested),
                "the copies of all arguments of this row do not fit a block together");
  constexpr std::uint64_t fixed_room = bulk_room_of(fixed);
  const auto chosen = chosen_row<number>(arguments);
  const calls::Row& row = row_of<by_command>(fixed, chosen);
  transfer.original = arguments;
  bool moved[protocol::argument_count] = {};
  bool any = false;
  for (int index = 0; index < count; ++index) {
    const calls::Parameter& parameter = row.parameters[index];
    const calls::Kind kind = parameter.kind;
    if (!is_read(kind) && !is_written(kind) && kind != calls::Kind::opaque) continue;
    // A pointer to a length is read here only if the host cannot read it: the call itself refuses a
    // wrong pointer.
    if (!detached && calls::is_measured(kind) &&
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
    const std::uint64_t share = by_command ? bulk_room_of(row) : fixed_room;
    const std::uint64_t room = is_bulk(kind)            ? whole(share, parameter)
                               : calls::is_capped(kind) ? parameter.bytes
                                                        : bytes;
    const bool fits = bytes <= room;
    if (visible && !(detached && is_read(kind) && fits)) continue;
    if (kind == calls::Kind::path && bytes > path_bytes_max) return -error::name_too_long;
    if (!fits && (detached || !may_be_part(row, kind))) return -error::message_size;
    transfer.bytes[index] = fits ? bytes : room;
    moved[index] = any = true;
  }
  if constexpr (nested) any = any || hides_a_part(row, arguments, detached);
  if (!any) return 0;
  if constexpr (counted) {
    std::uint64_t sum = 0;
    for (int index = 0; index < count; ++index) sum += rounded(transfer.bytes[index]);
    if (sum > protocol::arena_block_bytes) return -error::message_size;
  }

  if (const std::int64_t refusal = take_block(area, transfer, waits); refusal != 0) return refusal;
  std::byte* const block = block_of(area, transfer);
  std::uint64_t offset = 0;
  for (int index = 0; index < count; ++index) {
    if (!moved[index]) continue;
    const calls::Parameter& parameter = row.parameters[index];
    // Copies small outputs in, too: the call may write only a part of them, and all bytes are
    // copied back.
    if (!is_bulk(parameter.kind) || is_read(parameter.kind)) {
      copy_to_block(block + offset, reinterpret_cast<const void*>(arguments.word[index]),
                    transfer.bytes[index]);
    }
    transfer.offset[index] = static_cast<std::uint32_t>(offset);
    if (is_bulk(parameter.kind)) {
      set_number(row, index, transfer.bytes[index], arguments);
    }
    offset += rounded(transfer.bytes[index]);
  }
  if constexpr (nested) {
    const std::int64_t refusal = move_parts_in(row, {block, offset}, detached, transfer, arguments);
    if (refusal != 0) {
      protocol::give_block(area, transfer.block, protocol::block_free);
      transfer.block = no_block;
      return refusal;
    }
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
  constexpr calls::Row fixed = calls::row_with(number);
  constexpr int count = calls::parameter_count(fixed);
  constexpr bool by_command = calls::is_by_command(fixed);
  const auto chosen = chosen_row<number>(transfer.original);
  const calls::Row& row = row_of<by_command>(fixed, chosen);
  const std::byte* const block = block_of(area, transfer);
  // At its end the runtime answers for calls that may still be under way.
  const bool ended = value != -error::cancelled && value != -error::timed_out;
  for (int index = 0; index < count && ended; ++index) {
    std::uint64_t bytes = transfer.bytes[index];
    if (bytes == 0 || !is_written(row.parameters[index].kind)) continue;
    const calls::Parameter& parameter = row.parameters[index];
    if (is_bulk(parameter.kind)) {
      if (value < 0) continue;
      const std::uint64_t written = written_bytes(parameter, static_cast<std::uint64_t>(value));
      if (written < bytes) bytes = written;
    }
    copy_from_block(reinterpret_cast<void*>(transfer.original.word[index]),
                    block + transfer.offset[index], bytes);
  }
  if constexpr (calls::may_be_nested(fixed)) {
    if (ended) move_parts_out(row, block_of(area, transfer), transfer, value);
  }
  protocol::give_block(area, transfer.block, protocol::block_free);
}

}  // namespace k2k::device
