// Goal: wrong strings and PATHs are refused with the value and the limit; everything else is taken
// in order.

#include "apps/wordcount/inputs.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/temporary_folder.hpp"

namespace k2k::wordcount {
namespace {

namespace fs = std::filesystem;

std::string refusal(std::vector<std::string> strings) {
  const auto built = Strings::build(std::move(strings));
  return built ? "" : built.error().message;
}

TEST(Strings, refuse_what_cannot_be_counted) {
  EXPECT_EQ(refusal({}), "no strings to count; give them with -f FILE or -e STRING");
  EXPECT_EQ(refusal({"a", ""}), "string 2 is empty; an empty string is everywhere");
  EXPECT_EQ(refusal({std::string("a\0b", 3)}), "string 1 has a zero byte");
  EXPECT_EQ(refusal({std::string(257, 'a')}), "string 1 has 257 bytes; at most 256 are possible");
  EXPECT_EQ(refusal(std::vector<std::string>(1025, "a")),
            "1025 strings; at most 1024 can be counted in one run");
  EXPECT_EQ(refusal({std::string(256, 'a')}), "");
}

TEST(Strings, share_a_counter_if_they_are_equal) {
  const auto strings = Strings::build({"b", "a", "b"});
  ASSERT_TRUE(strings);
  EXPECT_EQ(strings->counters(), 2u);
  EXPECT_EQ(strings->counter_of(0), strings->counter_of(2));
  EXPECT_NE(strings->counter_of(0), strings->counter_of(1));
}

class InputFiles : public testing::Test {
 protected:
  ~InputFiles() override { fs::permissions(folder_ / "closed", fs::perms(0755), ignored_); }
  [[nodiscard]] std::string in(const std::string& name) const { return (folder_ / name).string(); }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(in(name), std::ios::binary) << text;
  }

  const TemporaryFolder own_ = TemporaryFolder::create("k2k-inputs").value();
  const fs::path folder_ = own_.path();
  std::error_code ignored_;
};

TEST_F(InputFiles, are_all_regular_files_in_order) {
  fs::create_directories(in("b/inner"));
  put("b/2", "");
  put("b/1", "");
  put("b/inner/3", "");
  put("a", "");
  fs::create_symlink("1", in("b/link"));
  ASSERT_EQ(::mkfifo(in("b/pipe").c_str(), 0666), 0);
  const FileList list = list_files({in("b"), in("a"), in("b/link")});
  EXPECT_TRUE(list.messages.empty());
  EXPECT_EQ(list.paths, (std::vector<std::string>{in("b/1"), in("b/2"), in("b/inner/3"), in("a"),
                                                  in("b/link")}));
}

TEST_F(InputFiles, tell_what_cannot_be_counted) {
  ASSERT_EQ(::mkfifo(in("pipe").c_str(), 0666), 0);
  fs::create_directory(in("closed"));
  fs::permissions(in("closed"), fs::perms::none);
  const FileList list = list_files({in("nowhere"), in("pipe"), in("closed")});
  EXPECT_TRUE(list.paths.empty());
  ASSERT_GE(list.messages.size(), 2u);
  EXPECT_EQ(list.messages[0], in("nowhere") + ": No such file or directory");
  EXPECT_EQ(list.messages[1], in("pipe") + ": neither a regular file nor a directory");
  if (::geteuid() == 0) return;  // Root may read the folder.
  ASSERT_EQ(list.messages.size(), 3u);
  EXPECT_EQ(list.messages[2], in("closed") + ": Permission denied");
}

TEST_F(InputFiles, read_strings_one_a_line) {
  put("list", "one\ntwo words\n\nlast");
  const auto strings = read_strings(in("list"));
  ASSERT_TRUE(strings);
  EXPECT_EQ(*strings, (std::vector<std::string>{"one", "two words", "", "last"}));
  put("empty", "");
  EXPECT_TRUE(read_strings(in("empty"))->empty());
  const auto none = read_strings(in("nowhere"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, in("nowhere") + ": No such file or directory");
  put("long", std::string(600'000, 'a'));
  const auto long_list = read_strings(in("long"));
  ASSERT_FALSE(long_list);
  EXPECT_EQ(long_list.error().code, EFBIG);
}

}  // namespace
}  // namespace k2k::wordcount
