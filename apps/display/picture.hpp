#pragma once
// A picture in a BMP file: uncompressed, 24 or 32 bits a pixel. The header is judged before a pixel
// is read, because every number in it may be wrong.
//
// Threading: pure functions, host and device. C++17, freestanding.

#include <cstddef>
#include <cstdint>

#include "base/attributes.hpp"

namespace k2k::display {

inline constexpr std::uint32_t head_bytes = 54;  // BITMAPFILEHEADER and BITMAPINFOHEADER
inline constexpr std::uint32_t side_most = 1u << 15;

enum class PictureFault : std::uint8_t {
  none,
  no_file,       // Neither a pipe nor a folder is a picture.
  no_bmp,        // Also a file that is shorter than a header.
  old_header,    // Of OS/2: shorter.
  sides,         // A side of 0 or beyond side_most.
  planes,        // Not 1.
  depth,         // Neither 24 nor 32 bits.
  compression,   // Any, and masks.
  size,          // The file does not have the size that it names.
  pixels_start,  // Within the header.
  pixels_end,    // Beyond the file.
};

struct Picture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t bits = 0;
  std::uint32_t row_bytes = 0;  // Of a row, with the bytes that fill the last word.
  bool top_down = false;
  std::uint64_t first = 0;  // The place of the first pixel in the file.
  // As the header has them, for messages.
  std::uint64_t named_bytes = 0;
  std::uint32_t compression = 0;

  // The place of a row in the file; row 0 is the upper one.
  [[nodiscard]] K2K_HD std::uint64_t row_at(std::uint32_t row) const {
    return first + std::uint64_t{row_bytes} * (top_down ? row : height - 1 - row);
  }
};

namespace detail {
K2K_HD inline std::uint32_t word16(const unsigned char* at) {
  return static_cast<std::uint32_t>(at[0] | at[1] << 8);
}
K2K_HD inline std::uint32_t word32(const unsigned char* at) {
  return word16(at) | word16(at + 2) << 16;
}
}  // namespace detail

// `head`: the file's first `count` bytes, at most head_bytes; `file_bytes`: its size. `picture` has
// the header's numbers also if they are at fault.
K2K_HD inline PictureFault judge_picture(const unsigned char* head, std::int64_t count,
                                         std::uint64_t file_bytes, Picture& picture) {
  using detail::word16;
  using detail::word32;
  if (count < head_bytes || head[0] != 'B' || head[1] != 'M') return PictureFault::no_bmp;
  picture.named_bytes = word32(head + 2);
  picture.first = word32(head + 10);
  const std::uint32_t info_bytes = word32(head + 14);
  if (info_bytes < 40) return PictureFault::old_header;
  picture.width = word32(head + 18);
  const std::uint32_t height = word32(head + 22);
  picture.top_down = height >> 31 != 0;  // The height is negative there.
  picture.height = picture.top_down ? 0u - height : height;
  picture.bits = word16(head + 28);
  picture.compression = word32(head + 30);
  if (picture.width == 0 || picture.width > side_most || picture.height == 0 ||
      picture.height > side_most) {
    return PictureFault::sides;
  }
  if (word16(head + 26) != 1) return PictureFault::planes;
  if (picture.bits != 24 && picture.bits != 32) return PictureFault::depth;
  if (picture.compression != 0) return PictureFault::compression;
  picture.row_bytes = (picture.width * picture.bits + 31) / 32 * 4;
  if (picture.named_bytes != file_bytes) return PictureFault::size;
  if (picture.first < 14 + std::uint64_t{info_bytes}) return PictureFault::pixels_start;
  const std::uint64_t pixels = std::uint64_t{picture.row_bytes} * picture.height;
  if (picture.first > file_bytes || pixels > file_bytes - picture.first) {
    return PictureFault::pixels_end;
  }
  return PictureFault::none;
}

}  // namespace k2k::display
