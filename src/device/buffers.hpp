#pragma once
// The buffers of one call: which arguments are buffers, and how many bytes of a block each may
// take.
//
// Threading: values.

#include <cstddef>
#include <cstdint>

#include "calls/pieces.hpp"
#include "calls/reach.hpp"
#include "calls/rows.hpp"
#include "device/platform/platform.hpp"
#include "device/reply.hpp"
#include "protocol/claim.hpp"

namespace k2k::device {

inline constexpr std::uint32_t no_block = 0xffffffff;
inline constexpr std::uint64_t path_bytes_max = calls::path_bytes_most;
// The bulk argument leaves room for all small arguments that a row can have beside it.
inline constexpr std::uint64_t bulk_bytes_max = protocol::arena_block_bytes - 512;

K2K_HD constexpr bool is_read(calls::Kind kind) {
  using calls::Kind;
  return calls::is_one_of(kind, Kind::path, Kind::text, Kind::in_bytes, Kind::in_struct,
                          Kind::in_sized, Kind::in_array, Kind::inout_array, Kind::inout_struct,
                          Kind::in_letter, Kind::inout_set, Kind::in_nodes, Kind::in_handle,
                          Kind::inout_handle, Kind::in_self_sized);
}
// Its size is where another argument points to.
K2K_HD constexpr bool is_sized_by_pointer(calls::Kind kind) {
  return calls::is_one_of(kind, calls::Kind::out_sized, calls::Kind::out_limited);
}
K2K_HD constexpr bool is_written(calls::Kind kind) {
  using calls::Kind;
  return calls::is_one_of(kind, Kind::out_bytes, Kind::out_struct, Kind::out_array,
                          Kind::inout_array, Kind::out_sized, Kind::out_limited, Kind::inout_struct,
                          Kind::out_letter, Kind::inout_set, Kind::out_pages, Kind::inout_handle);
}
K2K_HD constexpr bool is_letter(calls::Kind kind) {
  return calls::is_one_of(kind, calls::Kind::in_letter, calls::Kind::out_letter);
}
K2K_HD constexpr bool is_bulk(calls::Kind kind) {
  using calls::Kind;
  return calls::is_one_of(kind, Kind::in_bytes, Kind::out_bytes, Kind::in_array, Kind::out_array,
                          Kind::inout_array, Kind::in_letter, Kind::out_letter, Kind::out_pages);
}
// Whether the call is made with a part of a buffer that does not fit.
K2K_HD constexpr bool may_be_part(const calls::Row& row, calls::Kind kind) {
  using calls::Kind;
  if (row.family == calls::Family::network) return false;
  if (calls::is_one_of(kind, Kind::out_bytes, Kind::out_array, Kind::out_letter, Kind::out_pieces,
                       Kind::out_content)) {
    return true;
  }
  if (kind == Kind::in_pieces) return row.family == calls::Family::file;
  return kind == Kind::in_bytes && calls::takes_registered_memory(row.number);
}

K2K_HD constexpr std::uint64_t rounded(std::uint64_t bytes) {
  return (bytes + 15) & ~std::uint64_t{15};
}

// The most bytes of a block that the arguments of one call can need, but for bulk.
K2K_HD constexpr std::uint64_t small_bytes_of(const calls::Row& row) {
  std::uint64_t sum = 0;
  for (int index = 0; index < calls::parameter_count(row); ++index) {
    const calls::Parameter& parameter = row.parameters[index];
    if (is_bulk(parameter.kind) || calls::is_nested(parameter.kind)) continue;
    sum += rounded(parameter.kind == calls::Kind::path ? path_bytes_max : parameter.bytes);
  }
  return sum;
}

// The arguments that share the rest of a block.
K2K_HD constexpr std::uint64_t bulk_count_of(const calls::Row& row) {
  std::uint64_t count = 0;
  for (int index = 0; index < calls::parameter_count(row); ++index) {
    const calls::Kind kind = row.parameters[index].kind;
    if (is_bulk(kind) || calls::is_nested(kind)) ++count;
  }
  return count;
}

// The most bytes of one bulk argument.
K2K_HD constexpr std::uint64_t bulk_room_of(const calls::Row& row) {
  const std::uint64_t count = bulk_count_of(row);
  const std::uint64_t small = small_bytes_of(row);
  if (count == 0 || small >= protocol::arena_block_bytes) return 0;
  const std::uint64_t share = (protocol::arena_block_bytes - small) / count / 16 * 16;
  return share < bulk_bytes_max ? share : bulk_bytes_max;
}

// Of these, whole elements of `parameter`.
K2K_HD constexpr std::uint64_t whole(std::uint64_t bytes, const calls::Parameter& parameter) {
  return calls::is_array(parameter.kind) ? bytes / parameter.bytes * parameter.bytes : bytes;
}

// Whether the copies of all arguments fit a block together, however long their texts are.
K2K_HD constexpr bool fits_a_block(const calls::Row& row) {
  constexpr std::uint64_t least = 1024;  // Of a bulk argument.
  return small_bytes_of(row) + bulk_count_of(row) * least <= protocol::arena_block_bytes;
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

}  // namespace k2k::device
