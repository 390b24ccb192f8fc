#pragma once
// Copies between a call's buffers and its block of the arena.
//
// On a GPU the block is across the bus: a load takes 1 to 2 us, whatever its width, and the loads
// of one lane overlap only until the first of them is used. So the block is accessed 16 bytes at a
// time, and eight loads are under way before the first store. The other side is in the device's own
// memory, and may have any alignment.
//
// Blocks are 16-byte aligned, and so is each buffer's place in one: bytes up to the next multiple
// of 16 belong to the same block and may be read.
//
// Threading: pure functions of the caller's memory.

#include <cstddef>
#include <cstdint>

#include "base/attributes.hpp"

namespace k2k::device {

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

namespace wide {

struct alignas(16) Line {
  std::uint64_t low;
  std::uint64_t high;
};
inline constexpr std::uint64_t line_bytes = sizeof(Line);
inline constexpr int lines_at_once = 8;

// The line as its parts of `Part`'s size: for memory that is aligned for Part alone.
template <class Part>
K2K_DEVICE inline Line load_line(const std::byte* from) {
  constexpr int bits = 8 * sizeof(Part);
  constexpr int half = 8 / sizeof(Part);
  Line line{0, 0};
  for (int part = 0; part < half; ++part) {
    const std::uint64_t low = reinterpret_cast<const Part*>(from)[part];
    const std::uint64_t high = reinterpret_cast<const Part*>(from)[half + part];
    line.low |= low << (bits * part);
    line.high |= high << (bits * part);
  }
  return line;
}
template <>
K2K_DEVICE inline Line load_line<Line>(const std::byte* from) {
  return *reinterpret_cast<const Line*>(from);
}

template <class Part>
K2K_DEVICE inline void store_line(std::byte* to, const Line& line) {
  constexpr int bits = 8 * sizeof(Part);
  constexpr int half = 8 / sizeof(Part);
  for (int part = 0; part < half; ++part) {
    reinterpret_cast<Part*>(to)[part] = static_cast<Part>(line.low >> (bits * part));
    reinterpret_cast<Part*>(to)[half + part] = static_cast<Part>(line.high >> (bits * part));
  }
}
template <>
K2K_DEVICE inline void store_line<Line>(std::byte* to, const Line& line) {
  *reinterpret_cast<Line*>(to) = line;
}

template <class To, class From>
K2K_SHARED_CODE K2K_DEVICE inline void copy_lines(std::byte* to, const std::byte* from,
                                                  std::uint64_t lines) {
  Line held[lines_at_once];
  for (; lines >= lines_at_once; lines -= lines_at_once) {
#pragma unroll
    for (int line = 0; line < lines_at_once; ++line) {
      held[line] = load_line<From>(from + line * line_bytes);
    }
#pragma unroll
    for (int line = 0; line < lines_at_once; ++line) {
      store_line<To>(to + line * line_bytes, held[line]);
    }
    to += lines_at_once * line_bytes;
    from += lines_at_once * line_bytes;
  }
  for (; lines != 0; --lines, to += line_bytes, from += line_bytes) {
    store_line<To>(to, load_line<From>(from));
  }
}

K2K_DEVICE inline void store_bytes(std::byte* to, Line line, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; ++at) {
    to[at] = static_cast<std::byte>(at < 8 ? line.low >> (8 * at) : line.high >> (8 * (at - 8)));
  }
}

}  // namespace wide

// From a block, whose bytes up to the next multiple of 16 may be read.
K2K_DEVICE inline void copy_from_block(void* to, const std::byte* block, std::uint64_t bytes) {
  using namespace wide;
  auto* const out = static_cast<std::byte*>(to);
  const auto address = reinterpret_cast<std::uint64_t>(to);
  const std::uint64_t lines = bytes / line_bytes;
  if (address % 16 == 0) {
    copy_lines<Line, Line>(out, block, lines);
  } else if (address % 4 == 0) {
    copy_lines<std::uint32_t, Line>(out, block, lines);
  } else {
    copy_lines<std::uint8_t, Line>(out, block, lines);
  }
  const std::uint64_t done = lines * line_bytes;
  if (done != bytes) store_bytes(out + done, load_line<Line>(block + done), bytes - done);
}

// Into a block. Stores across the bus are not waited for.
K2K_DEVICE inline void copy_to_block(std::byte* block, const void* from, std::uint64_t bytes) {
  using namespace wide;
  const auto* const in = static_cast<const std::byte*>(from);
  const auto address = reinterpret_cast<std::uint64_t>(from);
  const std::uint64_t lines = bytes / line_bytes;
  if (address % 16 == 0) {
    copy_lines<Line, Line>(block, in, lines);
  } else if (address % 4 == 0) {
    copy_lines<Line, std::uint32_t>(block, in, lines);
  } else {
    copy_lines<Line, std::uint8_t>(block, in, lines);
  }
  for (std::uint64_t at = lines * line_bytes; at < bytes; ++at) block[at] = in[at];
}

#else

K2K_DEVICE inline void copy_from_block(void* to, const std::byte* block, std::uint64_t bytes) {
  __builtin_memcpy(to, block, bytes);
}
K2K_DEVICE inline void copy_to_block(std::byte* block, const void* from, std::uint64_t bytes) {
  __builtin_memcpy(block, from, bytes);
}

#endif

}  // namespace k2k::device
