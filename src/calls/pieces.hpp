#pragma once
// Structures of Linux whose pointers a wrapper follows: vectors, messages of sockets, contents of
// extended attributes. Of the same layout as in Linux' headers, which device code does not include.
//
// C++17, freestanding.

#include <cstddef>
#include <cstdint>

#include "base/attributes.hpp"
#include "calls/row.hpp"

namespace k2k::calls {

// iovec. Other structures begin with the same two words: kexec_segment, the mask of pselect6.
struct Piece {
  std::uint64_t address;
  std::uint64_t bytes;
};

// xattr_args.
struct Content {
  std::uint64_t address;
  std::uint32_t bytes;
  std::uint32_t flags;
};

// msghdr.
struct Message {
  std::uint64_t name;
  std::uint32_t name_bytes;
  std::uint32_t padding;
  std::uint64_t pieces;
  std::uint64_t piece_count;
  std::uint64_t control;
  std::uint64_t control_bytes;
  std::uint32_t flags;
  std::uint32_t more_padding;
};

// mmsghdr.
struct CountedMessage {
  Message message;
  std::uint32_t bytes;
  std::uint32_t padding;
};

inline constexpr std::uint64_t pieces_max = 1024;     // UIO_MAXIOV: more are refused, unread.
inline constexpr std::uint64_t name_bytes_max = 128;  // sockaddr_storage: Linux takes no more.

// Elements behind a nested argument, `number` as size_from says.
K2K_HD constexpr std::uint64_t elements_of(Kind kind, std::uint64_t number) {
  switch (kind) {
    case Kind::in_pieces:
    case Kind::out_pieces:
      return number > pieces_max ? 0 : number;
    case Kind::in_messages:
    case Kind::out_messages:
      return number > pieces_max ? pieces_max : number;  // Linux makes no more of them.
    default:
      return is_nested(kind) ? 1 : 0;
  }
}

// Bytes of an element.
K2K_HD constexpr std::uint64_t stride_of(Kind kind, std::uint64_t bytes) {
  switch (kind) {
    case Kind::in_pieces:
    case Kind::out_pieces:
      return bytes;
    case Kind::in_message:
    case Kind::out_message:
      return sizeof(Message);
    case Kind::in_messages:
    case Kind::out_messages:
      return sizeof(CountedMessage);
    default:
      return sizeof(Piece);
  }
}

}  // namespace k2k::calls
