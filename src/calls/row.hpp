#pragma once
// The form of a row: one system call with a typed wrapper, its arguments, and the bytes behind each
// pointer. The rows are in calls/wrapped/, a file a family; calls/rows.hpp joins them.
//
// C++17, freestanding, constant.

#include <cstddef>
#include <cstdint>

#include "base/attributes.hpp"

namespace k2k::calls {

enum class Family : std::uint8_t {
  own,
  file,
  directory,
  network,
  memory,
  process,
  scheduling,
  device,
  time,
  event,
  ipc,
  system,
};

// Whether the call may block its thread; this decides how the server executes it
// (docs/decisions/0004).
enum class Blocking : std::uint8_t {
  never,   // Answers from memory.
  rarely,  // Answers from a cache, or waits for a disk.
  waits,   // Waits for a peer, a person or a clock.
};

// The barrier that relaxed order may drop (thesis, section 3.5.1).
enum class Role : std::uint8_t {
  consumer,  // Takes data from the group, which does not need the call's result: no barrier after
             // it.
  producer,  // Gives data to the group, and needs none from it: no barrier before it.
  both,      // Keeps both barriers; at kernel scope the caller must name a role.
};

enum class Kind : std::uint8_t {
  none,
  value,         // A number.
  length,        // A number of bytes or elements that Linux takes as an int: below 0, it is none.
  descriptor,    // A file descriptor.
  address,       // An address the call does not follow (mmap, munmap, madvise).
  opaque,        // A pointer whose meaning depends on the call (a futex); must be host-visible, at
                 // least `bytes` of it.
  path,          // A NUL-terminated string, read.
  in_bytes,      // Read; its size is the argument `size_from`, clamped to the available space.
  out_bytes,     // Written; its size as for in_bytes.
  in_struct,     // Read; `bytes` long. May be null.
  out_struct,    // Written; `bytes` long. May be null.
  in_sized,      // Read; its size is the argument `size_from`, at most `bytes`. May be null.
  out_sized,     // Written; its size is the u32 that the argument `size_from` points to, at most
                 // `bytes`. May be null.
  inout_struct,  // Read and written; `bytes` long. May be null.
  out_limited,   // As out_sized, but Linux may write all that the u32 says: a copy of more than
                 // `bytes` is refused.
  text,          // A string, read, of which Linux reads no more than `bytes`.
  in_array,      // Read; elements of `bytes` each, their number is the argument `size_from`.
  out_array,     // Written; as in_array. The call answers the number of elements that it wrote.
  inout_array,   // Read and written; as in_array.
  in_letter,     // Read; a message of System V: `bytes`, and as many as `size_from` says.
  out_letter,    // Written; as in_letter. The call answers the number of bytes beyond `bytes`.
  inout_set,     // Read and written; one bit for each of `size_from` descriptors, in whole words of
                 // 8 bytes, at most `bytes`. May be null.
  in_nodes,      // Read; one bit less than `size_from` says, in whole words of 8 bytes, at most
                 // `bytes`. May be null.
  out_pages,     // Written; one byte for each page of the `size_from` bytes.
  in_handle,     // Read; 8 bytes, and as many as their first u32 says, at most `bytes`.
  inout_handle,  // Read and written; as in_handle.
  in_self_sized,  // Read; as many bytes as its first u32 says, at most `bytes`.
  by_command,     // Its meaning depends on another argument (calls/commands.hpp).
  // Of these, pointers lead to further pointers (calls/pieces.hpp).
  in_pieces,     // Read; elements of `bytes` each, their number is the argument `size_from`. Each
                 // begins as a Piece, which is read.
  out_pieces,    // As in_pieces, but the pieces are written. The call answers the number of bytes.
  in_piece,      // One Piece, which is read. May be null.
  in_content,    // One Content, which is read.
  out_content,   // One Content, which is written. The call answers the number of bytes.
  in_message,    // One Message, all of which is read.
  out_message,   // One Message, which is written. The call answers the number of bytes.
  in_messages,   // Counted messages, their number is the argument `size_from`. The call answers the
                 // number of messages.
  out_messages,  // As in_messages, but written.
};

// A set of kinds.
K2K_HD constexpr std::uint64_t bit_of(Kind kind) {
  return std::uint64_t{1} << static_cast<unsigned>(kind);
}
template <class... Kinds>
K2K_HD constexpr bool is_one_of(Kind kind, Kinds... kinds) {
  return ((bit_of(kinds) | ...) & bit_of(kind)) != 0;
}

struct Parameter {
  Kind kind = Kind::none;
  const char* type = "";
  const char* name = "";
  std::uint8_t size_from = 0;
  std::uint16_t bytes = 0;
  const char* fallback = nullptr;  // The wrapper's default argument, if POSIX has one.
};

inline constexpr int parameters_max = 6;

// The part of a parameter that the host needs: the texts are for the generator and `k2k calls`.
struct Extent {
  Kind kind = Kind::none;
  std::uint8_t size_from = 0;
  std::uint16_t bytes = 0;
};

struct Row {
  const char* name = "";  // As in the manual, section 2.
  std::uint16_t number = 0;
  Family family = Family::own;
  Blocking blocking = Blocking::never;
  Role role = Role::consumer;
  Parameter parameters[parameters_max] = {};
};

// The number of bytes or elements that an argument of kind value or length gives.
K2K_HD constexpr std::uint64_t number_in(Kind kind, std::uint64_t word) {
  if (kind != Kind::length) return word;
  const auto number = static_cast<std::int32_t>(static_cast<std::uint32_t>(word));
  return number < 0 ? 0 : static_cast<std::uint64_t>(number);
}

K2K_HD constexpr bool is_array(Kind kind) {
  return is_one_of(kind, Kind::in_array, Kind::out_array, Kind::inout_array);
}

// Does the pointer lead to further pointers?
K2K_HD constexpr bool is_nested(Kind kind) {
  return is_one_of(kind, Kind::in_pieces, Kind::out_pieces, Kind::in_piece, Kind::in_content,
                   Kind::out_content, Kind::in_message, Kind::out_message, Kind::in_messages,
                   Kind::out_messages);
}

// Bytes of `number` elements, at most 2^62: behind any address, the sum with that does not wrap.
K2K_HD constexpr std::uint64_t bytes_of(std::uint64_t number, std::uint64_t bytes_each) {
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  return bytes_each != 0 && number > most / bytes_each ? most : number * bytes_each;
}

// Bytes of `number` bits in whole words of 8 bytes.
K2K_HD constexpr std::uint64_t bytes_of_bits(std::uint64_t number) {
  return (number / 64 + (number % 64 == 0 ? 0 : 1)) * 8;
}

// Pages of a range of `bytes`: one byte each, in the answer of mincore.
K2K_HD constexpr std::uint64_t pages_of(std::uint64_t bytes) {
  return bytes / 4096 + (bytes % 4096 == 0 ? 0 : 1);
}

// The part of a row that the host needs: a tenth of its bytes. Every process with libk2k loads it.
struct Shape {
  const char* name = "";
  std::uint16_t number = 0;
  Family family = Family::own;
  Blocking blocking = Blocking::never;
  Extent parameters[parameters_max] = {};
};

// K2K's own call: has no effect; the server answers it. For measurements and tests.
inline constexpr std::uint16_t nop_number = 0xffff;
// K2K's own call: runs a function of the host program (calls/host_call.hpp describes the words).
inline constexpr std::uint16_t host_call_number = 0xfffc;
// K2K's own call: fills the pages of demand-paged regions in [address, address + count), at most
// fault_bytes_max bytes. Returns the number of bytes from `address` on that are now present, or
// -EFAULT outside of regions, and other errors (backend/demand_pages.hpp). The handler of a fault
// makes this call; from a kernel, it is a prefetch.
inline constexpr std::uint16_t fault_in_number = 0xfffd;
inline constexpr std::size_t fault_bytes_max = std::size_t{256} << 10;

// Parameters that many rows share.
namespace parts {
K2K_HD constexpr Parameter value(const char* type, const char* name,
                                 const char* fallback = nullptr) {
  return {Kind::value, type, name, 0, 0, fallback};
}
K2K_HD constexpr Parameter in_struct(const char* name, std::uint16_t bytes) {
  return {Kind::in_struct, "const void*", name, 0, bytes};
}
K2K_HD constexpr Parameter out_struct(const char* name, std::uint16_t bytes,
                                      const char* fallback = nullptr) {
  return {Kind::out_struct, "void*", name, 0, bytes, fallback};
}
K2K_HD constexpr Parameter inout_struct(const char* name, std::uint16_t bytes) {
  return {Kind::inout_struct, "void*", name, 0, bytes};
}
K2K_HD constexpr Parameter length(const char* name) { return {Kind::length, "int", name, 0, 0}; }
K2K_HD constexpr Parameter descriptor(const char* name) {
  return {Kind::descriptor, "int", name, 0, 0};
}
K2K_HD constexpr Parameter text(const char* name, std::uint16_t bytes) {
  return {Kind::text, "const char*", name, 0, bytes};
}
K2K_HD constexpr Parameter path_of(const char* name) {
  return {Kind::path, "const char*", name, 0, 0};
}
K2K_HD constexpr Parameter in_sized(const char* name, std::uint8_t size_from, std::uint16_t bytes) {
  return {Kind::in_sized, "const void*", name, size_from, bytes};
}
K2K_HD constexpr Parameter out_sized(const char* name, std::uint8_t size_from,
                                     std::uint16_t bytes) {
  return {Kind::out_sized, "void*", name, size_from, bytes};
}
K2K_HD constexpr Parameter out_limited(const char* name, std::uint8_t size_from,
                                       std::uint16_t bytes) {
  return {Kind::out_limited, "void*", name, size_from, bytes};
}
K2K_HD constexpr Parameter in_array(const char* name, std::uint8_t size_from, std::uint16_t bytes) {
  return {Kind::in_array, "const void*", name, size_from, bytes};
}
K2K_HD constexpr Parameter out_array(const char* name, std::uint8_t size_from,
                                     std::uint16_t bytes) {
  return {Kind::out_array, "void*", name, size_from, bytes};
}
K2K_HD constexpr Parameter inout_array(const char* name, std::uint8_t size_from,
                                       std::uint16_t bytes) {
  return {Kind::inout_array, "void*", name, size_from, bytes};
}
K2K_HD constexpr Parameter in_pieces(const char* name, std::uint8_t size_from,
                                     std::uint16_t bytes = 16) {
  return {Kind::in_pieces, "const void*", name, size_from, bytes};
}
K2K_HD constexpr Parameter out_pieces(const char* name, std::uint8_t size_from) {
  return {Kind::out_pieces, "const void*", name, size_from, 16};
}
K2K_HD constexpr Parameter inout_set(const char* name, std::uint8_t size_from) {
  return {Kind::inout_set, "void*", name, size_from, 1024};
}
// An argument that a command makes a number or a pointer.
K2K_HD constexpr Parameter by_command(const char* name, const char* fallback = nullptr) {
  return {Kind::by_command, "device::Argument", name, 0, 0, fallback};
}
inline constexpr Parameter fd = {Kind::descriptor, "int", "fd", 0, 0};
inline constexpr Parameter directory = {Kind::descriptor, "int", "directory", 0, 0};
inline constexpr Parameter address = {Kind::address, "void*", "address", 0, 0};
inline constexpr Parameter path = {Kind::path, "const char*", "path", 0, 0};
inline constexpr Parameter count = {Kind::value, "std::size_t", "count", 0, 0};
inline constexpr Parameter mode = {Kind::value, "std::uint32_t", "mode", 0, 0, "0"};
inline constexpr Parameter offset = {Kind::value, "std::int64_t", "offset", 0, 0};
K2K_HD constexpr Parameter in(const char* name, std::uint8_t size_from) {
  return {Kind::in_bytes, "const void*", name, size_from, 0};
}
K2K_HD constexpr Parameter out(const char* name, std::uint8_t size_from) {
  return {Kind::out_bytes, "void*", name, size_from, 0};
}
}  // namespace parts

K2K_HD constexpr int parameter_count(const Row& row) {
  int count = 0;
  while (count < parameters_max && row.parameters[count].kind != Kind::none) ++count;
  return count;
}

}  // namespace k2k::calls
