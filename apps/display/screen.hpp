#pragma once
// A framebuffer, as its two structures describe it, and the pixels of a picture on it. The picture
// is centred; a picture that is larger shows its middle, and a smaller one lies on black.
//
// Threading: pure functions, host and device. C++17, freestanding.

#include <cstdint>

#include "apps/display/abi.hpp"
#include "apps/display/picture.hpp"
#include "base/attributes.hpp"

namespace k2k::display {

enum class ScreenFault : std::uint8_t {
  none,
  sides,       // A side of 0 or beyond side_most.
  no_colours,  // Palettes, planes, gray, or another coding.
  depth,       // Neither 16 nor 24 nor 32 bits.
  channels,    // Beyond the pixel, or with their bits in the other direction.
  line,        // A line is shorter than its pixels.
  memory,      // The memory is smaller than the screen.
};

struct Channel {
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};

struct Screen {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t pixel_bytes = 0;
  std::uint32_t line_bytes = 0;
  std::uint64_t first = 0;  // The place of the first visible pixel in the memory.
  std::uint64_t memory_bytes = 0;
  Channel red;
  Channel green;
  Channel blue;

  [[nodiscard]] K2K_HD std::uint64_t line_at(std::uint32_t line) const {
    return first + std::uint64_t{line_bytes} * line;
  }
};

namespace detail {
K2K_HD inline bool fits(const abi::BitField& field, std::uint32_t bits) {
  return field.length >= 1 && field.length <= 16 && field.offset < bits &&
         field.length <= bits - field.offset && field.most_significant_right == 0;
}
}  // namespace detail

K2K_HD inline ScreenFault judge_screen(const abi::Fixed& fixed, const abi::Variable& now,
                                       Screen& screen) {
  screen.width = now.width;
  screen.height = now.height;
  screen.pixel_bytes = now.bits_per_pixel / 8;
  screen.line_bytes = fixed.line_bytes;
  screen.memory_bytes = fixed.memory_bytes;
  screen.red = {now.red.offset, now.red.length};
  screen.green = {now.green.offset, now.green.length};
  screen.blue = {now.blue.offset, now.blue.length};
  screen.first = std::uint64_t{now.y_offset} * fixed.line_bytes +
                 std::uint64_t{now.x_offset} * screen.pixel_bytes;
  if (now.width == 0 || now.width > side_most || now.height == 0 || now.height > side_most) {
    return ScreenFault::sides;
  }
  if (fixed.type != abi::packed_pixels || fixed.visual != abi::true_colour || now.grayscale != 0 ||
      now.nonstandard != 0) {
    return ScreenFault::no_colours;
  }
  const std::uint32_t bits = now.bits_per_pixel;
  if (bits != 16 && bits != 24 && bits != 32) return ScreenFault::depth;
  if (!detail::fits(now.red, bits) || !detail::fits(now.green, bits) ||
      !detail::fits(now.blue, bits)) {
    return ScreenFault::channels;
  }
  const std::uint64_t line_end = (std::uint64_t{now.x_offset} + now.width) * screen.pixel_bytes;
  if (line_end > fixed.line_bytes) return ScreenFault::line;
  const std::uint64_t end =
      screen.line_at(now.height - 1) + std::uint64_t{now.width} * screen.pixel_bytes;
  if (end > fixed.memory_bytes) return ScreenFault::memory;
  return ScreenFault::none;
}

// The screen of a plain file: the colours as most framebuffers have them. Expects 16, 24 or 32
// bits.
K2K_HD inline Screen plain_screen(std::uint32_t width, std::uint32_t height, std::uint32_t bits) {
  Screen screen;
  screen.width = width;
  screen.height = height;
  screen.pixel_bytes = bits / 8;
  screen.line_bytes = width * screen.pixel_bytes;
  screen.memory_bytes = std::uint64_t{screen.line_bytes} * height;
  const bool small = bits == 16;
  screen.red = small ? Channel{11, 5} : Channel{16, 8};
  screen.green = small ? Channel{5, 6} : Channel{8, 8};
  screen.blue = small ? Channel{0, 5} : Channel{0, 8};
  return screen;
}

// --- Pixels

// The picture's column or row that a screen's first one shows: negative where black comes first.
K2K_HD inline std::int32_t first_shown(std::uint32_t screen_side, std::uint32_t picture_side) {
  return (static_cast<std::int32_t>(picture_side) - static_cast<std::int32_t>(screen_side)) / 2;
}

K2K_HD inline std::uint32_t in_channel(unsigned char value, const Channel& channel) {
  const std::uint32_t most = (1u << channel.length) - 1;
  return (value * most + 127) / 255 << channel.offset;
}

// `pixel` is one of a BMP: blue, green, red.
K2K_HD inline std::uint32_t colour_of(const unsigned char* pixel, const Screen& screen) {
  return in_channel(pixel[2], screen.red) | in_channel(pixel[1], screen.green) |
         in_channel(pixel[0], screen.blue);
}

K2K_HD inline void store_pixel(unsigned char* at, std::uint32_t colour, std::uint32_t bytes) {
  if (bytes == 4) {
    __builtin_memcpy(at, &colour, 4);
  } else {
    at[0] = static_cast<unsigned char>(colour);
    at[1] = static_cast<unsigned char>(colour >> 8);
    if (bytes == 3) at[2] = static_cast<unsigned char>(colour >> 16);
  }
}

// The part [begin, begin + count) of a screen's line.
struct Part {
  std::uint32_t line = 0;
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

// The columns of the picture in a part, and its row; count 0: the part is black.
struct Shown {
  std::uint32_t row = 0;
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};
K2K_HD inline Shown shown_in(const Screen& screen, const Picture& picture, const Part& part) {
  const std::int32_t row =
      static_cast<std::int32_t>(part.line) + first_shown(screen.height, picture.height);
  if (row < 0 || row >= static_cast<std::int32_t>(picture.height)) return {};
  const std::int32_t shift = first_shown(screen.width, picture.width);
  std::int32_t begin = static_cast<std::int32_t>(part.begin) + shift;
  std::int32_t end = begin + static_cast<std::int32_t>(part.count);
  if (begin < 0) begin = 0;
  if (end > static_cast<std::int32_t>(picture.width)) {
    end = static_cast<std::int32_t>(picture.width);
  }
  if (begin >= end) return {};
  return {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(begin),
          static_cast<std::uint32_t>(end - begin)};
}

// Stores the part at `to`. `pixels`: the picture's bytes from column shown.begin on. Lane `rank` of
// `lanes` stores every lanes-th pixel.
K2K_HD inline void draw_part(const Screen& screen, const Picture& picture, const Part& part,
                             const Shown& shown, const unsigned char* pixels, unsigned char* to,
                             std::uint32_t rank, std::uint32_t lanes) {
  const std::int32_t shift = first_shown(screen.width, picture.width);
  for (std::uint32_t at = rank; at < part.count; at += lanes) {
    // Below 0, the difference is larger than any count.
    const std::uint32_t place = part.begin + at + static_cast<std::uint32_t>(shift) - shown.begin;
    const std::uint32_t colour =
        place < shown.count ? colour_of(pixels + std::size_t{place} * (picture.bits / 8), screen)
                            : 0;
    store_pixel(to + std::size_t{at} * screen.pixel_bytes, colour, screen.pixel_bytes);
  }
}

// A whole line. `file` and `memory`: the picture's file and the screen, mapped.
K2K_HD inline void draw_line(const Screen& screen, const Picture& picture, std::uint32_t line,
                             const unsigned char* file, unsigned char* memory, std::uint32_t rank,
                             std::uint32_t lanes) {
  const Part part{line, 0, screen.width};
  const Shown shown = shown_in(screen, picture, part);
  const std::uint64_t from =
      picture.row_at(shown.row) + std::uint64_t{shown.begin} * (picture.bits / 8);
  draw_part(screen, picture, part, shown, file + from, memory + screen.line_at(line), rank, lanes);
}

}  // namespace k2k::display
