#pragma once
// How many bytes lie behind a pointer: the one rule for each kind of argument. Device code copies
// so many (device/transfer.hpp), and the host checks and brings in so many (services/policy.hpp).
//
// Of most kinds the words of the request tell it. Of measured kinds only the memory itself tells
// it: device code, which trusts its own memory, reads it there; the host never follows a pointer to
// measure, and knows a least and a most.
//
// C++17, freestanding, constant.

#include <cstdint>

#include "base/attributes.hpp"
#include "calls/pieces.hpp"
#include "calls/row.hpp"

namespace k2k::calls {

// Its size is where it points to, itself or by another argument that points to a length.
K2K_HD constexpr bool is_measured(Kind kind) {
  return is_one_of(kind, Kind::path, Kind::text, Kind::out_sized, Kind::out_limited,
                   Kind::in_handle, Kind::inout_handle, Kind::in_self_sized);
}

// Its size is told by another argument, but a copy has no more than the row's bytes. Linux itself
// touches less than is told where a process cannot have so many descriptors.
K2K_HD constexpr bool is_capped(Kind kind) {
  return is_one_of(kind, Kind::out_limited, Kind::inout_set, Kind::in_nodes);
}

K2K_HD constexpr bool is_negative(std::uint64_t size) { return size >> 63 != 0; }

// Bytes behind a pointer of a kind that is not measured; 0 for arguments that are no pointers.
// `number`: number_in() the argument that size_from names.
K2K_HD constexpr std::uint64_t told_bytes(const Extent& extent, std::uint64_t number) {
  switch (extent.kind) {
    case Kind::in_bytes:
    case Kind::out_bytes:
      return number;
    case Kind::in_array:
    case Kind::out_array:
    case Kind::inout_array:
      return bytes_of(number, extent.bytes);
    case Kind::in_struct:
    case Kind::out_struct:
    case Kind::inout_struct:
      return extent.bytes;
    case Kind::opaque:
      return extent.bytes == 0 ? 1 : extent.bytes;
    case Kind::in_sized:
      return number < extent.bytes ? number : extent.bytes;
    case Kind::in_letter:
    case Kind::out_letter:  // Linux refuses a negative size before it looks at the memory.
      return is_negative(number) ? 0 : bytes_of(number, 1) + extent.bytes;
    case Kind::inout_set:
      return bytes_of_bits(number);
    case Kind::in_nodes:
      return number == 0 ? 0 : bytes_of_bits(number - 1);
    case Kind::out_pages:
      return pages_of(number);
    default:
      return is_nested(extent.kind)
                 ? bytes_of(elements_of(extent.kind, number), stride_of(extent.kind, extent.bytes))
                 : 0;
  }
}

// Bytes of a measured kind that Linux touches at least, and at most. The most of out_limited is
// what a copy may have: only the call itself knows more.
K2K_HD constexpr std::uint64_t least_bytes(const Extent& extent) {
  switch (extent.kind) {
    case Kind::path:
    case Kind::text:
    case Kind::out_limited:
      return 1;
    case Kind::out_sized:
      return extent.bytes;
    case Kind::in_handle:
    case Kind::inout_handle:
      return sizeof(std::uint64_t);
    case Kind::in_self_sized:
      return sizeof(std::uint32_t);
    default:
      return 0;
  }
}
inline constexpr std::uint64_t path_bytes_most = 4096;  // PATH_MAX, including the terminator.
K2K_HD constexpr std::uint64_t most_bytes(const Extent& extent) {
  if (!is_measured(extent.kind)) return 0;
  return extent.kind == Kind::path ? path_bytes_most : extent.bytes;
}

// Bytes that the host may check before a call, whatever the memory holds.
K2K_HD constexpr std::uint64_t certain_bytes(const Extent& extent, std::uint64_t number) {
  if (is_measured(extent.kind)) return least_bytes(extent);
  const std::uint64_t told = told_bytes(extent, number);
  return is_capped(extent.kind) && told > extent.bytes ? extent.bytes : told;
}
// Bytes that Linux may touch.
K2K_HD constexpr std::uint64_t possible_bytes(const Extent& extent, std::uint64_t number) {
  return is_measured(extent.kind) ? most_bytes(extent) : certain_bytes(extent, number);
}

}  // namespace k2k::calls
