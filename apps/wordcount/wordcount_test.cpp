// Goal: the kernel, the relaunch baseline, the direct floor and OpenMP count the same occurrences
// as a naive search, for any chunk, group and schedule; a file that cannot be read is told and
// costs no other file its counts. Method: seeded strings and texts over small alphabets, so that
// occurrences overlap and cross the borders of chunks and parts.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>

#include "apps/wordcount/count.hpp"
#include "apps/wordcount/generate.hpp"
#include "base/temporary_folder.hpp"

namespace k2k::wordcount {
namespace {

namespace fs = std::filesystem;
using Random = std::mt19937_64;

std::uint64_t naive_count(const std::string& text, const std::string& string) {
  std::uint64_t count = 0;
  for (std::size_t at = text.find(string); at != std::string::npos;
       at = text.find(string, at + 1)) {
    ++count;
  }
  return count;
}

std::string random_text(Random& random, std::size_t bytes, unsigned letters) {
  std::string text(bytes, ' ');
  for (char& letter : text) letter = static_cast<char>('a' + random() % letters);
  return text;
}

class Wordcount : public testing::Test {
 protected:
  std::string add(const std::string& text) {
    files_.push_back((folder_ / std::to_string(files_.size())).string());
    std::ofstream(files_.back(), std::ios::binary) << text;
    texts_.push_back(text);
    return files_.back();
  }
  [[nodiscard]] std::vector<std::uint64_t> expected(const Strings& strings) const {
    std::vector<std::uint64_t> counts(strings.counters());
    for (std::size_t place = 0; place < strings.given().size(); ++place) {
      std::uint64_t& count = counts[strings.counter_of(place)];
      count = 0;
      for (const std::string& text : texts_) count += naive_count(text, strings.given()[place]);
    }
    return counts;
  }
  static RuntimeConfig config() {
    RuntimeConfig config;
    config.backend = "cpu";
    config.device.compute_units = 2;
    return config;
  }

  const TemporaryFolder own_ = TemporaryFolder::create("k2k-wordcount").value();
  const fs::path folder_ = own_.path();
  std::vector<std::string> files_;
  std::vector<std::string> texts_;
};

constexpr By every_way[] = {By::kernel, By::relaunch, By::direct, By::openmp};

TEST_F(Wordcount, counts_as_a_naive_search_in_every_way) {
  Random random(1);
  for (const std::size_t bytes : {0u, 1u, 2u, 63u, 64u, 65u, 4096u, 9000u, 20000u}) {
    add(random_text(random, bytes, 2));
    add(random_text(random, bytes, 5));
  }
  std::vector<std::string> given;
  for (std::size_t length = 1; length <= 12; ++length) {
    given.push_back(random_text(random, length, 2));
    given.push_back(random_text(random, length, 5));
  }
  given.push_back(given.front());  // Twice: one counter.
  given.push_back("aaaa");         // Overlaps itself.
  const auto strings = Strings::build(given);
  ASSERT_TRUE(strings) << strings.error().message;
  const std::vector<std::uint64_t> right = expected(*strings);
  for (const By by : every_way) {
    for (const std::uint32_t chunk : {7u, 64u, 4096u, 65536u}) {
      Settings settings{.by = by, .groups = 3, .items = 5, .threads = 3, .chunk_bytes = chunk};
      const auto counts = count(*strings, files_, settings, config());
      ASSERT_TRUE(counts) << counts.error().message;
      EXPECT_EQ(counts->of_strings, right) << static_cast<int>(by) << " by " << chunk;
      EXPECT_EQ(counts->errors, std::vector<std::int32_t>(files_.size()));
    }
  }
}

TEST_F(Wordcount, counts_with_long_strings_alone) {
  Random random(2);
  for (int file = 0; file < 4; ++file) add(random_text(random, 30000, 3));
  const auto strings = Strings::build({texts_[0].substr(5, 9), texts_[1].substr(4090, 200),
                                       texts_[2].substr(77, 256), texts_[3].substr(29990),
                                       std::string(40, 'a'), "abcabc"});
  ASSERT_TRUE(strings) << strings.error().message;
  for (const By by : every_way) {
    for (const std::uint32_t items : {1u, 4u, 64u}) {
      Settings settings{.by = by, .groups = 2, .items = items, .chunk_bytes = 1000};
      const auto counts = count(*strings, files_, settings, config());
      ASSERT_TRUE(counts) << counts.error().message;
      EXPECT_EQ(counts->of_strings, expected(*strings)) << static_cast<int>(by);
      EXPECT_EQ(counts->bytes, 4 * 30000u);
    }
  }
}

TEST_F(Wordcount, keeps_its_counts_under_every_schedule_and_on_a_strict_device) {
  Random random(3);
  for (int file = 0; file < 9; ++file) add(random_text(random, 5000, 2));
  const auto strings = Strings::build({"abba", "bab", "aaaaaaa"});
  ASSERT_TRUE(strings);
  for (const auto schedule : {backend::Schedule::round_robin, backend::Schedule::random,
                              backend::Schedule::adversarial}) {
    for (const By by : {By::kernel, By::relaunch, By::direct}) {
      RuntimeConfig scheduled = config();
      scheduled.device.schedule = schedule;
      scheduled.device.strict = by != By::direct;
      Settings settings{.by = by, .groups = 2, .items = 4, .chunk_bytes = 512};
      const auto counts = count(*strings, files_, settings, scheduled);
      ASSERT_TRUE(counts) << counts.error().message;
      EXPECT_EQ(counts->of_strings, expected(*strings));
    }
  }
}

TEST_F(Wordcount, tells_a_file_that_cannot_be_read_and_counts_the_others) {
  add("one abcd two");
  files_.push_back((folder_ / "vanished").string());
  files_.push_back(folder_.string());  // Opens, and refuses to be read.
  texts_.resize(3);
  add("abcdabcd");
  const auto strings = Strings::build({"abcd"});
  ASSERT_TRUE(strings);
  for (const By by : every_way) {
    const auto counts = count(*strings, files_, {.by = by, .groups = 2, .items = 2}, config());
    ASSERT_TRUE(counts) << counts.error().message;
    EXPECT_EQ(counts->of_strings, std::vector<std::uint64_t>{3}) << static_cast<int>(by);
    EXPECT_EQ(counts->errors, (std::vector<std::int32_t>{0, ENOENT, EISDIR, 0}));
  }
}

TEST_F(Wordcount, tells_a_launch_that_the_device_refuses) {
  add("abcd");
  const auto strings = Strings::build({"abcd"});
  ASSERT_TRUE(strings);
  for (const By by : {By::kernel, By::relaunch, By::direct}) {
    const auto counts = count(*strings, files_, {.by = by, .items = 1u << 20}, config());
    ASSERT_FALSE(counts);
    EXPECT_EQ(counts.error().code, EINVAL);
  }
}

TEST_F(Wordcount, counts_nothing_without_files) {
  const auto strings = Strings::build({"abcd"});
  ASSERT_TRUE(strings);
  for (const By by : every_way) {
    const auto counts = count(*strings, {}, {.by = by}, config());
    ASSERT_TRUE(counts) << counts.error().message;
    EXPECT_EQ(counts->of_strings, std::vector<std::uint64_t>{0});
  }
}

TEST_F(Wordcount, relaunches_three_times_a_file_and_makes_the_same_calls) {
  for (int file = 0; file < 5; ++file) add("abcd");
  const auto strings = Strings::build({"abcd"});
  ASSERT_TRUE(strings);
  const auto counts = count(*strings, files_, {.by = By::relaunch, .groups = 1}, config());
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(counts->host_calls, 15u);
  EXPECT_EQ(counts->launches, 16u);
}

TEST_F(Wordcount, has_rates_if_they_are_wanted) {
  add("abcd");
  const auto strings = Strings::build({"abcd"});
  ASSERT_TRUE(strings);
  for (const By by : {By::kernel, By::openmp}) {
    EXPECT_FALSE(count(*strings, files_, {.by = by, .rates = true}, config())->rates.empty());
    EXPECT_TRUE(count(*strings, files_, {.by = by}, config())->rates.empty());
  }
}

TEST_F(Wordcount, knows_the_counts_of_generated_files) {
  const std::string made = (folder_ / "in").string();
  const Inputs inputs{.files = 20, .file_bytes = 3000, .strings = 64, .seed = 7};
  ASSERT_TRUE(generate(made, inputs));
  const Status again = generate(made, inputs);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, EEXIST);
  ASSERT_TRUE(generate(made + "2", inputs));
  const auto list = read_strings(made + "/strings");
  ASSERT_TRUE(list);
  const auto strings = Strings::build(*list);
  ASSERT_TRUE(strings);
  const FileList files = list_files({made + "/files"});
  EXPECT_EQ(files.paths.size(), 20u);
  EXPECT_TRUE(files.messages.empty());
  const auto counts = count(*strings, files.paths, {}, config());
  ASSERT_TRUE(counts);
  std::ifstream answers(made + "/counts");
  std::ifstream equal(made + "2/counts");
  std::uint64_t total = 0;
  for (std::size_t place = 0; place < strings->given().size(); ++place) {
    std::uint64_t number = 0, same = 0;
    std::string string, same_string;
    answers >> number >> string;
    equal >> same >> same_string;
    EXPECT_EQ(string, strings->given()[place]);
    EXPECT_EQ(number, counts->of_strings[strings->counter_of(place)]) << string;
    EXPECT_EQ(same, number);
    total += number;
  }
  EXPECT_GT(total, 64u);
}

}  // namespace
}  // namespace k2k::wordcount
