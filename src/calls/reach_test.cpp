// Goal: of every kind of argument one rule tells how many bytes lie behind its pointer, and nothing
// that a size says makes it overflow. Method: every kind, with sizes at all edges, beside a table
// that is written out here.

#include "calls/reach.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "calls/rows.hpp"

namespace k2k::calls {
namespace {

constexpr Kind last_kind = Kind::out_messages;
constexpr std::uint64_t ceiling = std::uint64_t{1} << 62;  // Of bytes_of().
constexpr std::uint64_t sizes[] = {0,
                                   1,
                                   7,
                                   8,
                                   63,
                                   64,
                                   65,
                                   1'024,
                                   1'025,
                                   4'096,
                                   4'097,
                                   8'192,
                                   8'193,
                                   0x7fffffff,
                                   0xffffffff,
                                   ceiling,
                                   ceiling + 1,
                                   ~std::uint64_t{0} - 1,
                                   ~std::uint64_t{0}};
constexpr std::uint16_t row_bytes[] = {1, 4, 8, 16, 24, 128, 1'024, 4'096, 65'535};

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (int kind = 0; kind <= static_cast<int>(last_kind); ++kind) {
    kinds.push_back(static_cast<Kind>(kind));
  }
  return kinds;
}

bool is_no_pointer(Kind kind) {
  return is_one_of(kind, Kind::none, Kind::value, Kind::length, Kind::descriptor, Kind::address,
                   Kind::by_command);
}

// In 128 bits, so that nothing overflows.
using Wide = unsigned __int128;

Wide expected_bytes(Kind kind, Wide number, Wide bytes) {
  const auto bits = [](Wide count) { return (count + 63) / 64 * 8; };
  const auto capped = [](Wide wide) { return wide > ceiling ? Wide{ceiling} : wide; };
  const Wide pieces = number > 1'024 ? Wide{0} : number;
  const Wide messages = number > 1'024 ? Wide{1'024} : number;
  if (is_one_of(kind, Kind::in_bytes, Kind::out_bytes)) return number;
  if (is_one_of(kind, Kind::in_array, Kind::out_array, Kind::inout_array)) {
    return number > ceiling / bytes ? Wide{ceiling} : number * bytes;
  }
  if (is_one_of(kind, Kind::in_struct, Kind::out_struct, Kind::inout_struct)) return bytes;
  if (is_one_of(kind, Kind::in_letter, Kind::out_letter)) {
    return number >> 63 != 0 ? Wide{0} : capped(number) + bytes;
  }
  if (kind == Kind::opaque) return bytes == 0 ? Wide{1} : bytes;
  if (kind == Kind::in_sized) return number < bytes ? number : bytes;
  if (kind == Kind::inout_set) return bits(number);
  if (kind == Kind::in_nodes) return number == 0 ? Wide{0} : bits(number - 1);
  if (kind == Kind::out_pages) return (number + 4'095) / 4'096;
  if (is_one_of(kind, Kind::in_pieces, Kind::out_pieces)) return pieces * bytes;
  if (is_one_of(kind, Kind::in_piece, Kind::in_content, Kind::out_content)) return Wide{16};
  if (is_one_of(kind, Kind::in_message, Kind::out_message)) return Wide{56};
  if (is_one_of(kind, Kind::in_messages, Kind::out_messages)) return messages * 64;
  return 0;
}

TEST(Reach, of_every_kind_is_told_or_measured) {
  for (const Kind kind : all_kinds()) {
    const std::uint64_t told = told_bytes({kind, 0, 8}, 8);
    const int ways =
        (told != 0 ? 1 : 0) + (is_measured(kind) ? 1 : 0) + (is_no_pointer(kind) ? 1 : 0);
    EXPECT_EQ(ways, 1) << static_cast<int>(kind);
  }
}

TEST(Reach, is_what_the_words_tell_for_every_size) {
  for (const Kind kind : all_kinds()) {
    if (is_measured(kind)) continue;
    for (const std::uint64_t size : sizes) {
      for (const std::uint16_t bytes : row_bytes) {
        const Extent extent{kind, 0, bytes};
        ASSERT_TRUE(told_bytes(extent, size) == expected_bytes(kind, size, bytes))
            << static_cast<int>(kind) << ", size " << size << ", bytes " << bytes;
      }
    }
  }
}

TEST(Reach, that_the_host_checks_is_never_more_than_linux_may_touch) {
  for (const Kind kind : all_kinds()) {
    for (const std::uint64_t size : sizes) {
      for (const std::uint16_t bytes : row_bytes) {
        const Extent extent{kind, 0, bytes};
        const std::uint64_t certain = certain_bytes(extent, size);
        if (!is_one_of(kind, Kind::in_handle, Kind::inout_handle, Kind::in_self_sized)) {
          EXPECT_LE(certain, possible_bytes(extent, size)) << static_cast<int>(kind);
        }
        EXPECT_EQ(certain == 0, certain_bytes(extent, size) == 0);
        if (is_measured(kind)) {
          EXPECT_GT(certain, 0u) << "a wild pointer is refused";
        }
        if (is_capped(kind)) {
          EXPECT_LE(certain, extent.bytes);
        }
      }
    }
  }
}

TEST(Reach, of_every_row_fits_its_kind) {
  for (const Shape& shape : shapes) {
    for (const Extent& extent : shape.parameters) {
      if (!is_measured(extent.kind)) continue;
      EXPECT_LE(least_bytes(extent), most_bytes(extent)) << shape.name;
    }
  }
}

}  // namespace
}  // namespace k2k::calls
