// Goal: any text that is not a residency is refused with line and column, without any other effect.
// Method: examples, then random changes of valid text, compared with a minimal reader.

#include "router/plan/residency_text.hpp"

#include <gtest/gtest.h>

#include <random>

#include "router/plan/model.hpp"

namespace k2k::router {
namespace {

std::string message(std::string_view text) { return residencies_of(text).error().message; }

const std::string form = "; each line is a request, each character a page: 1 cached, 0 not";

TEST(ResidencyText, is_a_request_a_line) {
  using Lines = std::vector<std::vector<std::uint8_t>>;
  EXPECT_EQ(residencies_of("0110\n1\n").value(), (Lines{{0, 1, 1, 0}, {1}}));
  EXPECT_EQ(residencies_of("0").value(), (Lines{{0}}));
}

TEST(ResidencyText, of_another_form_is_refused) {
  EXPECT_EQ(message(""), "no line" + form);
  EXPECT_EQ(message("\n"), "line 1 is empty" + form);
  EXPECT_EQ(message("01\n\n10\n"), "line 2 is empty" + form);
  EXPECT_EQ(message("01\n0x1\n"), "line 2, column 2: 'x'" + form);
  EXPECT_EQ(message("01\r\n"), "line 1, column 3: the byte 0x0d" + form);
  EXPECT_EQ(message(" 01"), "line 1, column 1: the byte 0x20" + form);
  EXPECT_EQ(message(std::string_view("1\0", 2)), "line 1, column 2: the byte 0x00" + form);
  EXPECT_EQ(message("\xff"), "line 1, column 1: the byte 0xff" + form);
}

TEST(ResidencyText, longer_than_a_request_is_refused) {
  EXPECT_EQ(residencies_of(std::string(pages_max, '1')).value()[0].size(), pages_max);
  EXPECT_EQ(message("0\n" + std::string(pages_max + 1, '1')),
            "line 2 has 524289 pages; at most 524288 (2 GiB) make a request");
}

// Valid text is "[01]+" on every line: text that was read can be written again unchanged.
TEST(ResidencyText, is_read_as_written_or_refused_for_any_text) {
  std::mt19937_64 random(1);
  int refused = 0;
  constexpr int rounds = 20'000;
  for (int round = 0; round < rounds; ++round) {
    std::string text;
    for (std::size_t left = random() % 200; left > 0; --left) text += "01010111\n"[random() % 9];
    for (std::size_t left = random() % 3; left > 0 && !text.empty(); --left) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    const auto read = residencies_of(text);
    if (!read) {
      ++refused;
      EXPECT_FALSE(read.error().message.empty());
      const bool plain = text.find_first_not_of("01\n") == text.npos;
      const bool lines = !text.empty() && text[0] != '\n' && text.find("\n\n") == text.npos;
      EXPECT_FALSE(plain && lines) << text;
      continue;
    }
    std::string again;
    for (const auto& line : read.value()) {
      for (const std::uint8_t page : line) again += page != 0 ? '1' : '0';
      again += '\n';
    }
    if (text.back() != '\n') again.pop_back();
    EXPECT_EQ(again, text);
  }
  EXPECT_GT(refused, rounds / 10);
  EXPECT_LT(refused, rounds);
}

}  // namespace
}  // namespace k2k::router
