// Goal: a generator's folder has all of its files or does not exist, and no file is replaced; an
// input that becomes shorter is told at the next read.

#include "apps/common/input_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "apps/common/check_words.hpp"
#include "base/temporary_folder.hpp"

namespace k2k::apps {
namespace {

class InputFiles : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return own_.path() + "/" + name; }
  static std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
  }
  static std::string content(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(name, std::ios::binary).rdbuf();
    return text.str();
  }

  const std::string head_ = "head";
  const std::string body_ = "body and more";

 private:
  const TemporaryFolder own_ = TemporaryFolder::create("k2k-inputs").value();
};

TEST_F(InputFiles, are_written_with_their_header_first) {
  ASSERT_TRUE(write_new_file({path("one"), bytes_of(head_), bytes_of(body_)}));
  EXPECT_EQ(content(path("one")), "headbody and more");
}

TEST_F(InputFiles, do_not_replace_a_file) {
  std::ofstream(path("one")) << "mine";
  const Status refused = write_new_file({path("one"), bytes_of(head_), bytes_of(body_)});
  EXPECT_EQ(refused.error().message, path("one") + ": File exists");
  EXPECT_EQ(content(path("one")), "mine");
}

TEST_F(InputFiles, are_all_in_their_folder_or_there_is_none) {
  const NewFile good{"good", bytes_of(head_), bytes_of(body_)};
  const NewFile other{"other", bytes_of(head_), {}};
  const NewFile bad{"no/where", bytes_of(head_), {}};
  const NewFile both[] = {good, other};
  ASSERT_TRUE(write_new_folder(path("both"), both));
  EXPECT_EQ(content(path("both/other")), "head");
  EXPECT_EQ(write_new_folder(path("both"), both).error().code, EEXIST);
  const NewFile some[] = {good, other, bad};
  EXPECT_EQ(write_new_folder(path("some"), some).error().message,
            path("some/no/where") + ": No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(path("some")));
}

TEST_F(InputFiles, that_become_shorter_are_told) {
  std::ofstream(path("one")) << std::string(100, 'x');
  const auto file = open_input(path("one"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->bytes, 100u);
  std::string read(100, 0);
  EXPECT_TRUE(read_at(*file, read.data(), 100, 0));
  EXPECT_EQ(read, std::string(100, 'x'));
  EXPECT_TRUE(still_whole(*file));
  ASSERT_EQ(::truncate(path("one").c_str(), 99), 0);
  const std::string told = path("one") +
                           ": the file became shorter while it was in use: 99 of 100 bytes; make "
                           "the file anew with --generate";
  EXPECT_EQ(read_at(*file, read.data(), 100, 0).error().message, told);
  EXPECT_EQ(still_whole(*file).error().message, told);
  EXPECT_EQ(still_whole(*file).error().code, EIO);
}

TEST(CheckOfWords, differs_for_zeros_for_one_bit_and_for_another_order) {
  const std::uint64_t zeros[3] = {};
  const std::uint64_t some[3] = {1, 2, 3};
  const std::uint64_t swapped[3] = {2, 1, 3};
  const std::uint64_t bit[3] = {1, 2, 3 | std::uint64_t{1} << 63};
  EXPECT_NE(check_of_words(zeros, 3), 0u);
  EXPECT_NE(check_of_words(zeros, 3), check_of_words(zeros, 2));
  EXPECT_NE(check_of_words(some, 3), check_of_words(swapped, 3));
  EXPECT_NE(check_of_words(some, 3), check_of_words(bit, 3));
}

}  // namespace
}  // namespace k2k::apps
