// Goal: a generator's folder has all of its files or does not exist, and no file is replaced; an
// input that is too short, or that changes while it is open, is told with the remedy.

#include "apps/common/input_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "apps/common/check_words.hpp"
#include "apps/common/input_fixture.hpp"

namespace k2k::apps {
namespace {

class InputFiles : public InputTest {
 protected:
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
};

TEST_F(InputFiles, are_written_with_their_header_first) {
  ASSERT_TRUE(write_new_file({path("one"), bytes_of(head_), bytes_of(body_)}));
  EXPECT_EQ(content(path("one")), "headbody and more");
  const std::string tail = ", at the end";
  ASSERT_TRUE(write_new_file({path("two"), bytes_of(head_), bytes_of(body_), bytes_of(tail)}));
  EXPECT_EQ(content(path("two")), "headbody and more, at the end");
}

TEST_F(InputFiles, do_not_replace_a_file) {
  std::ofstream(path("one")) << "mine";
  const Status refused = write_new_file({path("one"), bytes_of(head_), bytes_of(body_)});
  EXPECT_EQ(
      refused.error().message,
      path("one") +
          ": File exists; name a path that does not exist, in a folder that may be written to");
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
            path("some/no/where") +
                ": No such file or directory; name a path that does not exist, in a folder that "
                "may be written to");
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

TEST_F(InputFiles, that_grow_or_are_written_to_are_told) {
  const std::string changed =
      ": the file was changed while it was in use: it had 4 bytes, and has ";
  const std::string anew = "; make the file anew with --generate";
  for (const std::string& now : {std::string("xxxxx"), std::string("yyyy")}) {
    std::ofstream(path("one")) << "xxxx";
    const auto file = open_input(path("one"));
    ASSERT_TRUE(file);
    EXPECT_TRUE(unchanged(*file));
    std::ofstream(path("one")) << now;
    const timespec times[2] = {{0, UTIME_OMIT}, {1'000'000'000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path("one").c_str(), times, 0), 0);
    EXPECT_TRUE(still_whole(*file));
    EXPECT_EQ(unchanged(*file).error().message,
              path("one") + changed + std::to_string(now.size()) + anew);
    EXPECT_EQ(unchanged(*file).error().code, EIO);
  }
}

TEST_F(InputFiles, have_the_size_of_their_header_and_content) {
  std::ofstream(path("one")) << "head and";
  const auto file = open_input(path("one"));
  ASSERT_TRUE(file);
  std::byte header[4];
  EXPECT_TRUE(read_header(*file, header, 8));
  EXPECT_EQ(header[3], std::byte{'d'});
  EXPECT_EQ(read_header(*file, header, 9).error().message,
            path("one") +
                ": the file has 8 bytes, fewer than its header's 9; make the file anew with "
                "--generate");
  EXPECT_TRUE(judge_size(*file, 8, "two words"));
  EXPECT_EQ(judge_size(*file, 7, "two words").error().message,
            path("one") +
                ": the file has 8 bytes, but two words take 7; make the file anew with --generate");
}

TEST_F(InputFiles, that_the_disk_has_no_room_for_tell_the_missing_bytes) {
  const Ended ended = in_child([&] {  // A limit cannot be raised again.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{8, 8};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Status cut = write_new_file({path("one"), bytes_of(head_), bytes_of(body_)});
    const Status no_tail = write_new_file({path("two"), bytes_of(head_), {}, bytes_of(body_)});
    const std::string wanted = ": File too large; the file needs 9 more bytes there";
    return !cut && cut.error().message == path("one") + wanted && !no_tail &&
                   no_tail.error().message == path("two") + wanted
               ? 0
               : 1;
  });
  EXPECT_EQ(ended.status, 0);
  EXPECT_FALSE(std::filesystem::exists(path("one")));
  EXPECT_FALSE(std::filesystem::exists(path("two")));
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
