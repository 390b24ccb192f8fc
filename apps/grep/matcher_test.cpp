// Goal: contains_word() agrees with a naive search, for any words, any text and any division of it.
// Method: seeded random words over small alphabets, so that overlaps and near misses are common.

#include "apps/grep/matcher.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "apps/grep/word_set.hpp"

namespace k2k::grep {
namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t limit) { return random() % limit; }

std::string random_bytes(Random& random, std::size_t length, unsigned letters) {
  std::string text(length, '\0');
  for (char& letter : text) {
    const auto value =
        static_cast<char>(letters == 256 ? below(random, 256) : 'a' + below(random, letters));
    letter = value == '\n' || value == '\0' ? ' ' : value;
  }
  return text;
}

// Copies the text to a heap block of its exact size, so that a sanitizer detects a read beyond it.
bool search(const WordSet& set, const std::string& text, std::size_t parts = 1) {
  const Words words = set.at(set.image());
  std::vector<unsigned char> exact(text.begin(), text.end());
  bool found = false;
  for (std::size_t part = 0; part < parts; ++part) {
    found |= contains_word(words, {exact.data(), exact.size(), exact.size() * part / parts,
                                   exact.size() * (part + 1) / parts});
  }
  return found;
}

WordSet built(std::vector<std::string> words) { return WordSet::build(std::move(words)).value(); }

bool naive(const std::vector<std::string>& words, const std::string& text) {
  for (const std::string& word : words) {
    if (text.find(word) != std::string::npos && (!word.empty() || !text.empty())) return true;
  }
  return false;
}

TEST(Matcher, agrees_with_a_naive_search_on_random_words_and_texts) {
  Random random(1);
  int hits = 0;
  for (int round = 0; round < 6000; ++round) {
    const unsigned letters = round % 3 == 0 ? 2 : round % 3 == 1 ? 4 : 256;
    const std::size_t longest = 1 + below(random, 40);
    const std::size_t shortest = 1 + below(random, longest);
    std::vector<std::string> words(1 + below(random, round % 50 == 0 ? 500 : 12));
    for (std::string& word : words) {
      word = random_bytes(random, shortest + below(random, longest - shortest + 1), letters);
    }
    std::string text = random_bytes(random, below(random, 300), letters);
    if (round % 4 == 0 && !text.empty()) {
      text.insert(below(random, text.size()), words[below(random, words.size())]);
    }
    const WordSet set = built(words);
    const bool expected = naive(words, text);
    hits += expected;
    ASSERT_EQ(search(set, text), expected) << "round " << round;
    ASSERT_EQ(search(set, text, 1 + below(random, 9)), expected) << "in parts, round " << round;
  }
  EXPECT_GT(hits, 1000);
  EXPECT_LT(hits, 5000);
}

TEST(Matcher, finds_every_length_at_every_place) {
  Random random(2);
  for (std::size_t length = 1; length <= 40; ++length) {
    const std::string word = random_bytes(random, length, 26);
    const WordSet set = built({word, "ABSENTABSENTABSENT", "QQ" + word});
    for (std::size_t place = 0; place <= 70; ++place) {
      const std::string text = std::string(place, '.') + word;
      ASSERT_TRUE(search(set, text)) << length << " at " << place;
      ASSERT_TRUE(search(set, text + std::string(33, '.'), 5)) << length << " at " << place;
      ASSERT_FALSE(search(set, text.substr(0, text.size() - 1))) << length << " at " << place;
    }
  }
}

TEST(Matcher, finds_a_word_that_shares_its_grams_with_others) {
  const WordSet set = built({"aaaaaaab", "aaaaaaac", "baaaaaaa"});
  EXPECT_FALSE(search(set, std::string(1000, 'a')));
  EXPECT_TRUE(search(set, std::string(1000, 'a').append("c")));
  EXPECT_TRUE(search(set, "b" + std::string(7, 'a')));
}

TEST(Matcher, handles_many_words) {
  Random random(3);
  std::vector<std::string> words(20000);
  for (std::string& word : words) word = random_bytes(random, 8 + below(random, 20), 26);
  const WordSet set = built(words);
  const std::string hay = random_bytes(random, 100000, 10);
  EXPECT_FALSE(search(set, hay));
  for (int round = 0; round < 50; ++round) {
    EXPECT_TRUE(search(set, hay.substr(0, 777) + words[below(random, words.size())] + "z"));
  }
}

TEST(WordSet, reads_a_list_as_grep_does) {
  const auto of_file = [](std::string_view text) {
    std::vector<std::string> words;
    add_words_of_file(text, words);
    return words;
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(of_file(""), List{});
  EXPECT_EQ(of_file("\n"), List{""});
  EXPECT_EQ(of_file("a"), List{"a"});
  EXPECT_EQ(of_file("a\n"), List{"a"});
  EXPECT_EQ(of_file("a\n\nb\r\n"), (List{"a", "", "b\r"}));
  EXPECT_EQ(of_file(std::string_view("a\0b\nc\n", 6)), (List{std::string("a\0b", 3), "c"}));
  List words;
  add_words_of_argument("", words);
  EXPECT_EQ(words, List{""});
}

TEST(WordSet, leaves_out_words_with_a_nul) {
  const WordSet set = built({std::string("a\0b", 3), "cc"});
  EXPECT_FALSE(search(set, std::string("a\0b", 3)));
  EXPECT_TRUE(search(set, "cc"));
}

TEST(WordSet, the_empty_word_matches_whatever_has_a_byte) {
  EXPECT_TRUE(search(built({"", "foo"}), "x"));
  EXPECT_FALSE(search(built({"", "foo"}), ""));
  EXPECT_FALSE(search(built({}), "x"));
}

}  // namespace
}  // namespace k2k::grep
