#pragma once
// The memory behind pointers within arguments: pieces of vectors, parts of messages. Elements are
// copied once, from memory that may be missing, and only the copy is checked.
//
// Threading: reentrant.

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>

#include "calls/pieces.hpp"
#include "calls/row.hpp"
#include "services/opens/copy_in.hpp"
#include "services/request.hpp"

namespace k2k::services {

// The judgement of a policy that names memory (services/rules/part_copies.hpp), made at each try of
// a call: a caller can change its structures while the call waits.
class PartJudge {
 public:
  PartJudge() = default;
  virtual ~PartJudge() = default;
  PartJudge(const PartJudge&) = delete;
  PartJudge& operator=(const PartJudge&) = delete;

  // Copies the structures of the request, judges the memory that the copies name, and calls `make`
  // with a request that leads to the copies. `make` returns the value of the call; the caller's
  // structures then have what Linux wrote into the copies. Returns that value, or the negative
  // errno of a refusal: `make` was not called. Throws std::bad_alloc.
  virtual std::int64_t make_call(const Request& request,
                                 const std::function<std::int64_t(const Request&)>& make) const = 0;
};

inline constexpr std::size_t control_bytes_max = std::size_t{1} << 20;  // Of a call that sends.

// The headers of the control data of a message, as Linux finds them: visit(header, offset of its
// content), until it gives another value than 0. Linux refuses a message with a wrong header, which
// ends the walk.
template <class Visit>
std::int64_t for_each_control(std::span<const char> control, const Visit& visit) {
  for (std::size_t at = 0; control.size() - at >= sizeof(cmsghdr);) {
    cmsghdr header{};
    std::memcpy(&header, control.data() + at, sizeof(header));
    if (header.cmsg_len < sizeof(header) || header.cmsg_len > control.size() - at) return 0;
    if (const std::int64_t ended = visit(header, at + sizeof(header)); ended != 0) return ended;
    at += std::min(CMSG_ALIGN(header.cmsg_len), control.size() - at);
  }
  return 0;
}

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
