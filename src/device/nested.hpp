#pragma once
// Pointers within arguments: vectors (readv), messages of sockets (sendmsg), contents of extended
// attributes. The parts that the host cannot address are copied into the call's block, behind the
// copies of its plain arguments:
//
//   elements, as the host gets them │ elements, as the caller passed them │ parts …
//
// An element in the block is read from the caller once: data is copied back to the addresses in the
// second copy, whatever the call has written over the caller's elements. Nothing is read where the
// host can address all memory (the call itself refuses a wrong pointer), or of more elements than
// Linux takes.
//
// Threading: one work-item.

#include <cstddef>
#include <cstdint>

#include "calls/pieces.hpp"
#include "calls/row.hpp"
#include "device/buffers.hpp"
#include "device/platform/platform.hpp"
#include "device/wide_copy.hpp"

namespace k2k::device {

// The rest of a block.
struct Space {
  std::byte* block;
  std::uint64_t at;

  [[nodiscard]] K2K_DEVICE std::uint64_t left() const { return protocol::arena_block_bytes - at; }
  // `bytes` of it, at most left().
  K2K_DEVICE std::byte* take(std::uint64_t bytes) {
    std::byte* const place = block + at;
    const std::uint64_t end = at + rounded(bytes);
    at = end < protocol::arena_block_bytes ? end : protocol::arena_block_bytes;
    return place;
  }
};

// How the parts of one argument are copied.
struct PartRules {
  bool reads = false;       // The call reads the parts; otherwise it writes them.
  bool takes_part = false;  // The call may be made with fewer pieces, or a part of the last.
  bool detached = false;
  bool registered = false;  // The host serves pieces of registered memory by their addresses.
  bool content = false;     // Elements are Contents.
  std::uint64_t stride = sizeof(calls::Piece);
};

K2K_DEVICE inline const void* pointer(std::uint64_t address) {
  return reinterpret_cast<const void*>(address);
}

template <class Structure>
K2K_DEVICE inline Structure load(const void* from) {
  Structure loaded;
  copy_bytes(&loaded, from, sizeof(Structure));
  return loaded;
}
template <class Structure>
K2K_DEVICE inline void store(void* to, const Structure& stored) {
  copy_bytes(to, &stored, sizeof(Structure));
}

K2K_DEVICE inline calls::Piece piece_at(const void* elements, std::uint64_t index,
                                        const PartRules& rules) {
  const std::byte* const at = static_cast<const std::byte*>(elements) + index * rules.stride;
  if (!rules.content) return load<calls::Piece>(at);
  const auto content = load<calls::Content>(at);
  return {content.address, content.bytes};
}
K2K_DEVICE inline void set_piece(std::byte* elements, std::uint64_t index, const PartRules& rules,
                                 const calls::Piece& piece) {
  std::byte* const at = elements + index * rules.stride;
  if (!rules.content) {
    store(at, piece);
    return;
  }
  auto content = load<calls::Content>(at);
  content.address = piece.address;
  content.bytes = static_cast<std::uint32_t>(piece.bytes);
  store(at, content);
}

K2K_DEVICE inline bool is_hidden(std::uint64_t address, std::uint64_t bytes) {
  if (address == 0 || bytes == 0) return false;
  return !platform::host_visible(pointer(address), calls::bytes_of(bytes, 1));
}

// Can the host address all memory, the stack of this work-item among it?
K2K_DEVICE inline bool hides_nothing() {
  const char probe = 0;
  return platform::host_visible(&probe, 1);
}

// Linux refuses the whole vector, before it looks at any address.
K2K_DEVICE inline bool has_wrong_length(const void* elements, std::uint64_t count,
                                        const PartRules& rules) {
  for (std::uint64_t index = 0; index < count; ++index) {
    if (static_cast<std::int64_t>(piece_at(elements, index, rules).bytes) < 0) return true;
  }
  return false;
}

K2K_DEVICE inline bool must_move(const calls::Piece& piece, const PartRules& rules) {
  if (!is_hidden(piece.address, piece.bytes)) return false;
  return rules.detached || !rules.registered || !platform::is_registered(pointer(piece.address));
}

K2K_DEVICE inline bool hides_a_piece(std::uint64_t address, std::uint64_t count,
                                     const PartRules& rules) {
  if (address == 0 || count == 0) return false;
  if (is_hidden(address, count * rules.stride)) return true;
  for (std::uint64_t index = 0; index < count; ++index) {
    if (must_move(piece_at(pointer(address), index, rules), rules)) return true;
  }
  return false;
}

K2K_DEVICE inline std::uint64_t pieces_of(const calls::Message& message) {
  // Linux refuses more of them, unread.
  return message.pieces == 0 || message.piece_count > calls::pieces_max ? 0 : message.piece_count;
}
K2K_DEVICE inline std::uint64_t name_bytes_of(const calls::Message& message) {
  const auto bytes = static_cast<std::int32_t>(message.name_bytes);
  if (message.name == 0 || bytes < 0) return 0;
  const auto counted = static_cast<std::uint64_t>(bytes);
  return counted < calls::name_bytes_max ? counted : calls::name_bytes_max;
}
K2K_DEVICE inline std::uint64_t control_bytes_of(const calls::Message& message) {
  return message.control == 0 ? 0 : message.control_bytes;
}

K2K_DEVICE inline bool hides_a_part_of(const calls::Message& message, const PartRules& rules) {
  return is_hidden(message.name, name_bytes_of(message)) ||
         is_hidden(message.control, control_bytes_of(message)) ||
         hides_a_piece(message.pieces, pieces_of(message), rules);
}

K2K_HD constexpr bool is_message(calls::Kind kind) {
  using calls::Kind;
  return calls::is_one_of(kind, Kind::in_message, Kind::out_message, Kind::in_messages,
                          Kind::out_messages);
}
K2K_HD constexpr bool is_counted(calls::Kind kind) {
  return calls::is_one_of(kind, calls::Kind::in_messages, calls::Kind::out_messages);
}

K2K_DEVICE inline PartRules rules_of(const calls::Row& row, const calls::Parameter& parameter,
                                     bool detached) {
  using calls::Kind;
  PartRules rules;
  rules.reads = calls::is_one_of(parameter.kind, Kind::in_pieces, Kind::in_piece, Kind::in_content,
                                 Kind::in_message, Kind::in_messages);
  rules.takes_part = may_be_part(row, parameter.kind);
  rules.detached = detached;
  rules.registered = row.family == calls::Family::file;
  rules.content = calls::is_one_of(parameter.kind, Kind::in_content, Kind::out_content);
  // Pieces of messages are plain ones.
  if (!is_message(parameter.kind)) rules.stride = calls::stride_of(parameter.kind, parameter.bytes);
  return rules;
}

K2K_DEVICE inline std::uint64_t elements_behind(const calls::Row& row, const Words& arguments,
                                                int index) {
  const calls::Parameter& parameter = row.parameters[index];
  if (arguments.word[index] == 0) return 0;
  return calls::elements_of(parameter.kind, arguments.word[parameter.size_from]);
}

// Must a nested argument be copied?
K2K_DEVICE inline bool hides_a_part(const calls::Row& row, const Words& arguments, bool detached) {
  if (!detached && hides_nothing()) return false;
  for (int index = 0; index < calls::parameters_max; ++index) {
    const calls::Parameter& parameter = row.parameters[index];
    if (!calls::is_nested(parameter.kind)) continue;
    const std::uint64_t count = elements_behind(row, arguments, index);
    if (count == 0) continue;
    const PartRules rules = rules_of(row, parameter, detached);
    if (detached && rules.reads) return true;
    const std::uint64_t address = arguments.word[index];
    const std::uint64_t stride = calls::stride_of(parameter.kind, parameter.bytes);
    if (is_hidden(address, count * stride)) return true;
    if (!is_message(parameter.kind)) {
      if (hides_a_piece(address, count, rules)) return true;
      continue;
    }
    for (std::uint64_t at = 0; at < count; ++at) {
      if (hides_a_part_of(load<calls::Message>(pointer(address + at * stride)), rules)) return true;
    }
  }
  return false;
}

// Two copies of `count` elements: the second one stays as it is.
K2K_DEVICE inline std::byte* take_elements(Space& space, std::uint64_t address, std::uint64_t count,
                                           std::uint64_t stride) {
  const std::uint64_t bytes = count * stride;
  std::byte* const first = space.take(bytes);
  copy_bytes(first, pointer(address), bytes);
  copy_bytes(space.take(bytes), first, bytes);
  return first;
}
K2K_DEVICE inline const std::byte* originals_of(const std::byte* elements, std::uint64_t bytes) {
  return elements + rounded(bytes);
}

// Copies the pieces of elements in the block. Returns the number of elements that the call may be
// made with, or -EMSGSIZE.
K2K_DEVICE inline std::int64_t move_pieces_in(Space& space, std::byte* elements,
                                              std::uint64_t count, const PartRules& rules) {
  if (has_wrong_length(elements, count, rules)) return static_cast<std::int64_t>(count);
  for (std::uint64_t index = 0; index < count; ++index) {
    calls::Piece piece = piece_at(elements, index, rules);
    const bool lends =
        rules.detached && rules.reads && piece.address != 0 && piece.bytes <= space.left();
    if (piece.bytes == 0 || (!must_move(piece, rules) && !lends)) continue;
    const bool fits = piece.bytes <= space.left();
    if (!fits && (rules.detached || !rules.takes_part)) return -error::message_size;
    if (space.left() == 0) return static_cast<std::int64_t>(index);
    if (!fits) piece.bytes = space.left();
    std::byte* const copy = space.take(piece.bytes);
    if (rules.reads) copy_to_block(copy, pointer(piece.address), piece.bytes);
    set_piece(elements, index, rules, {reinterpret_cast<std::uint64_t>(copy), piece.bytes});
    if (!fits) return static_cast<std::int64_t>(index) + 1;
  }
  return static_cast<std::int64_t>(count);
}

// Copies `written` bytes back, from the pieces of `elements` to those of the caller.
K2K_DEVICE inline void move_pieces_out(const std::byte* elements, std::uint64_t count,
                                       const PartRules& rules, std::uint64_t written) {
  const std::byte* const originals = originals_of(elements, count * rules.stride);
  for (std::uint64_t index = 0; index < count && written != 0; ++index) {
    const calls::Piece piece = piece_at(elements, index, rules);
    const std::uint64_t address = piece_at(originals, index, rules).address;
    const std::uint64_t bytes = piece.bytes < written ? piece.bytes : written;
    if (piece.address != address) {
      copy_from_block(reinterpret_cast<void*>(address),
                      static_cast<const std::byte*>(pointer(piece.address)), bytes);
    }
    written -= bytes;
  }
}

// A small part of a message, copied in and, if the call writes it, back as a whole.
K2K_DEVICE inline bool move_small_in(Space& space, std::uint64_t& address, std::uint64_t bytes,
                                     const PartRules& rules) {
  const bool lends = rules.detached && rules.reads && bytes != 0;
  if (!is_hidden(address, bytes) && !lends) return true;
  if (bytes > space.left()) return false;
  std::byte* const copy = space.take(bytes);
  copy_bytes(copy, pointer(address), bytes);
  address = reinterpret_cast<std::uint64_t>(copy);
  return true;
}

// 0 or -EMSGSIZE. `element` is in the block.
K2K_DEVICE inline std::int64_t move_message_in(Space& space, std::byte* element,
                                               const PartRules& rules) {
  auto message = load<calls::Message>(element);
  const std::uint64_t count = pieces_of(message);
  if (!move_small_in(space, message.name, name_bytes_of(message), rules) ||
      !move_small_in(space, message.control, control_bytes_of(message), rules)) {
    return -error::message_size;
  }
  if (count != 0) {
    if (2 * rounded(count * rules.stride) > space.left()) return -error::message_size;
    std::byte* const pieces = take_elements(space, message.pieces, count, rules.stride);
    message.pieces = reinterpret_cast<std::uint64_t>(pieces);
    const std::int64_t moved = move_pieces_in(space, pieces, count, rules);
    if (moved < 0) return moved;
  }
  store(element, message);
  return 0;
}

// Copies back the parts of a message that the call has written: its sizes and flags, name, control
// and pieces. `received`: bytes of the pieces.
K2K_DEVICE inline void move_message_out(const std::byte* element, const std::byte* original,
                                        std::uint64_t address, const PartRules& rules,
                                        std::uint64_t received) {
  const auto message = load<calls::Message>(element);
  const auto before = load<calls::Message>(original);
  auto shown = before;
  shown.name_bytes = message.name_bytes;
  shown.control_bytes = message.control_bytes;
  shown.flags = message.flags;
  store(reinterpret_cast<void*>(address), shown);
  if (message.name != before.name) {
    copy_bytes(reinterpret_cast<void*>(before.name), pointer(message.name), name_bytes_of(before));
  }
  if (message.control != before.control) {
    copy_bytes(reinterpret_cast<void*>(before.control), pointer(message.control),
               before.control_bytes);
  }
  if (message.pieces != before.pieces) {
    move_pieces_out(reinterpret_cast<const std::byte*>(message.pieces), pieces_of(before), rules,
                    received);
  }
}

// Copies nested arguments behind the plain ones, and points `arguments` at the copies. 0 or
// -EMSGSIZE.
K2K_DEVICE inline std::int64_t move_parts_in(const calls::Row& row, Space space, bool detached,
                                             Transfer& transfer, Words& arguments) {
  for (int index = 0; index < calls::parameters_max; ++index) {
    const calls::Parameter& parameter = row.parameters[index];
    if (!calls::is_nested(parameter.kind)) continue;
    std::uint64_t count = elements_behind(row, transfer.original, index);
    if (count == 0) continue;
    const PartRules rules = rules_of(row, parameter, detached);
    const std::uint64_t stride = calls::stride_of(parameter.kind, parameter.bytes);
    // Half of the space is for the parts.
    const bool fewer = (rules.takes_part || is_counted(parameter.kind)) && !detached;
    const std::uint64_t most = space.left() / 2 / (2 * stride);
    if (count > most && !fewer) return -error::message_size;
    if (count > most) count = most;
    transfer.offset[index] = static_cast<std::uint32_t>(space.at);
    std::byte* const elements = take_elements(space, transfer.original.word[index], count, stride);
    transfer.bytes[index] = count * stride;
    arguments.word[index] = reinterpret_cast<std::uint64_t>(elements);
    std::int64_t moved = 0;
    if (is_message(parameter.kind)) {
      std::uint64_t at = 0;
      for (; at < count; ++at) {
        moved = move_message_in(space, elements + at * stride, rules);
        if (moved != 0) break;
      }
      if (moved != 0 && (at == 0 || !fewer)) return moved;
      moved = static_cast<std::int64_t>(at);
    } else {
      moved = move_pieces_in(space, elements, count, rules);
      if (moved < 0) return moved;
    }
    const bool told =
        calls::is_one_of(parameter.kind, calls::Kind::in_pieces, calls::Kind::out_pieces) ||
        is_counted(parameter.kind);
    if (told) arguments.word[parameter.size_from] = static_cast<std::uint64_t>(moved);
  }
  return 0;
}

// Copies the bytes back that the call has written. `value` is its answer.
K2K_DEVICE inline void move_parts_out(const calls::Row& row, std::byte* block,
                                      const Transfer& transfer, std::int64_t value) {
  if (value < 0) return;
  const auto answer = static_cast<std::uint64_t>(value);
  for (int index = 0; index < calls::parameters_max; ++index) {
    const calls::Parameter& parameter = row.parameters[index];
    if (!calls::is_nested(parameter.kind) || transfer.bytes[index] == 0) continue;
    const PartRules rules = rules_of(row, parameter, false);
    const std::uint64_t stride = calls::stride_of(parameter.kind, parameter.bytes);
    const std::byte* const elements = block + transfer.offset[index];
    const std::byte* const originals = originals_of(elements, transfer.bytes[index]);
    const std::uint64_t address = transfer.original.word[index];
    if (!is_message(parameter.kind)) {
      if (!rules.reads) move_pieces_out(elements, transfer.bytes[index] / stride, rules, answer);
      continue;
    }
    if (!is_counted(parameter.kind)) {
      if (!rules.reads) move_message_out(elements, originals, address, rules, answer);
      continue;
    }
    for (std::uint64_t at = 0; at < answer && at < transfer.bytes[index] / stride; ++at) {
      const auto counted = load<calls::CountedMessage>(elements + at * stride);
      const std::uint64_t place = address + at * stride;
      if (!rules.reads) {
        move_message_out(elements + at * stride, originals + at * stride, place, rules,
                         counted.bytes);
      }
      store(reinterpret_cast<void*>(place + offsetof(calls::CountedMessage, bytes)), counted.bytes);
    }
  }
}

}  // namespace k2k::device
