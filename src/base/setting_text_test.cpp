// Goal: a value is permitted or nothing, and the texts for messages name the permitted values.

#include "base/setting_text.hpp"

#include <gtest/gtest.h>

namespace k2k {
namespace {

TEST(SettingText, truth_is_one_of_eight_words) {
  for (const char* text : {"true", "on", "yes", "1"}) EXPECT_EQ(parse_truth(text), true) << text;
  for (const char* text : {"false", "off", "no", "0"}) EXPECT_EQ(parse_truth(text), false) << text;
  for (const char* text : {"", "maybe", "True", "01", "2", "off ", "n", "nope"}) {
    EXPECT_EQ(parse_truth(text), std::nullopt) << text;
  }
}

TEST(SettingText, a_whole_number_lies_within_its_bounds) {
  EXPECT_EQ(parse_whole_number("7", 7, 9), 7u);
  EXPECT_EQ(parse_whole_number("9", 7, 9), 9u);
  EXPECT_EQ(parse_whole_number("18446744073709551615", 0, UINT64_MAX), UINT64_MAX);
  for (const char* text :
       {"", "6", "10", "-7", "+7", " 7", "7 ", "7k", "0x7", "7.0", "18446744073709551616"}) {
    EXPECT_EQ(parse_whole_number(text, 7, 9), std::nullopt) << text;
  }
}

TEST(SettingText, a_word_is_its_position_or_its_number) {
  EXPECT_EQ(parse_word("auto", "auto|bounded"), 0u);
  EXPECT_EQ(parse_word("bounded", "auto|bounded"), 1u);
  EXPECT_EQ(parse_word("64", "32|64"), 64u);
  for (const char* text : {"", "aut", "auto|bounded", "Auto", "0"}) {
    EXPECT_EQ(parse_word(text, "auto|bounded"), std::nullopt) << text;
  }
}

TEST(SettingText, permitted_values_are_named) {
  EXPECT_EQ(permitted_whole_number(0, 9, ""), "a whole number from 0 to 9");
  EXPECT_EQ(permitted_whole_number(1, 9, "threads"), "a whole number from 1 to 9 (threads)");
  EXPECT_EQ(permitted_words("auto|bounded"), "one of auto, bounded");
  EXPECT_EQ(permitted_words("auto"), "one of auto");
}

}  // namespace
}  // namespace k2k
