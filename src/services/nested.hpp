#pragma once
// The memory behind pointers within arguments: pieces of vectors, parts of messages. Elements are
// copied once, from memory that may be missing, and only the copy is checked.
//
// Threading: reentrant.

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "calls/pieces.hpp"
#include "calls/row.hpp"
#include "services/opens/copy_in.hpp"

namespace k2k::services {

// The elements at `address`, a few at a time: visit(const Element&), until it gives another value
// than 0. -EFAULT: they are not there.
template <class Element, class Visit>
std::int64_t for_each_element(std::uint64_t address, std::uint64_t count, std::uint64_t stride,
                              const Visit& visit) {
  for (std::uint64_t index = 0; index < count; ++index) {
    Element element;
    if (copy_in(address + index * stride, &element, sizeof(element)) != 0) return -EFAULT;
    if (const std::int64_t ended = visit(element); ended != 0) return ended;
  }
  return 0;
}

namespace detail {

template <class Visit>
std::int64_t for_each_part_of_message(const calls::Message& message, bool writes,
                                      const Visit& visit) {
  const std::uint64_t name_bytes =
      std::min<std::uint64_t>(message.name_bytes, calls::name_bytes_max);
  const std::uint64_t count = message.piece_count > calls::pieces_max ? 0 : message.piece_count;
  if (const std::int64_t ended = visit(message.name, name_bytes, writes); ended != 0) return ended;
  if (const std::int64_t ended = visit(message.control, message.control_bytes, writes); ended != 0)
    return ended;
  const std::uint64_t stride = sizeof(calls::Piece);
  if (const std::int64_t ended = visit(message.pieces, count * stride, false); ended != 0)
    return ended;
  return for_each_element<calls::Piece>(
      message.pieces, count, stride,
      [&](const calls::Piece& piece) { return visit(piece.address, piece.bytes, writes); });
}

}  // namespace detail

// Everything that the elements of a nested argument point to: visit(address, bytes, writes), until
// it gives another value than 0. `number`: as the argument says that has the number of elements.
template <class Visit>
std::int64_t for_each_part(const calls::Extent& extent, std::uint64_t address, std::uint64_t number,
                           const Visit& visit) {
  using calls::Kind;
  const std::uint64_t count = calls::elements_of(extent.kind, number);
  const std::uint64_t stride = calls::stride_of(extent.kind, extent.bytes);
  const bool writes = calls::is_one_of(extent.kind, Kind::out_pieces, Kind::out_content,
                                       Kind::out_message, Kind::out_messages);
  switch (extent.kind) {
    case Kind::in_content:
    case Kind::out_content:
      return for_each_element<calls::Content>(
          address, count, stride, [&](const calls::Content& content) {
            return visit(content.address, std::uint64_t{content.bytes}, writes);
          });
    case Kind::in_message:
    case Kind::out_message:
    case Kind::in_messages:
    case Kind::out_messages:
      return for_each_element<calls::Message>(
          address, count, stride, [&](const calls::Message& message) {
            return detail::for_each_part_of_message(message, writes, visit);
          });
    default:
      return for_each_element<calls::Piece>(address, count, stride, [&](const calls::Piece& piece) {
        return visit(piece.address, piece.bytes, writes);
      });
  }
}

}  // namespace k2k::services
