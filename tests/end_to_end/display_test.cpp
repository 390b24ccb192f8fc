// Goal: k2k-display draws a picture that it generated into a plain file, in every way the same
// bytes, tells terminals and block devices as other programs do, and wrong inputs in one line.
// Method: runs the program beside the binary named by K2K_CLI.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/application.hpp"

namespace k2k::end_to_end::display_test {
namespace {

class DisplayProgram : public Application {
 protected:
  DisplayProgram() : Application("display", "display") {}
};

TEST_F(DisplayProgram, draws_the_same_bytes_in_every_way) {
  ASSERT_EQ(app("--generate picture.bmp --width 300 --height 200").status, 0);
  for (const char* way : {"serial", "map", "write"}) {
    const CommandOutcome outcome = app(std::string("--json --by ") + way + " --screen " + way +
                                       " --geometry 320x240x32 picture.bmp");
    ASSERT_EQ(outcome.status, 0) << outcome.out;
    const auto result = nlohmann::json::parse(outcome.out, nullptr, false);
    ASSERT_TRUE(result.is_object());
    EXPECT_EQ(result["screen"]["bits"], 32);
    EXPECT_EQ(result["picture"]["width"], 300);
    EXPECT_EQ(in_folder(std::string("cmp serial ") + way).status, 0) << way;
  }
  EXPECT_EQ(in_folder("stat -c %s map").out, "307200\n");
  EXPECT_NE(in_folder("cmp map /dev/zero -n 307200").status, 0) << "all black";
}

TEST_F(DisplayProgram, tells_a_terminal_of_its_size) {
  const CommandOutcome outcome = in_folder("script -qec 'stty rows 33 cols 99 && \"" + program() +
                                           "\" --json --query /dev/tty' /dev/null </dev/null 2>&1");
  if (outcome.status == 127) GTEST_SKIP() << "no script(1) here";
  EXPECT_NE(outcome.out.find(R"("kind":"terminal","rows":33,"columns":99)"), std::string::npos)
      << outcome.out;
}

TEST_F(DisplayProgram, tells_wrong_inputs_in_one_line) {
  ASSERT_EQ(app("--generate picture.bmp").status, 0);
  ASSERT_EQ(in_folder("head -c 1000 picture.bmp >cut.bmp").status, 0);
  const struct {
    const char* arguments;
    int status;
    const char* says;
  } cases[] = {
      {"", 2, "name a BMP file"},
      {"picture.bmp cut.bmp", 2, "name one BMP file"},
      {"--geometry 5 picture.bmp", 2, "--geometry is '5'"},
      {"--screen s --geometry 9x9x32 cut.bmp", 1, "names 768054 bytes and has 1000"},
      {"--screen none picture.bmp", 1, "Linux has no framebuffer here"},
      {"--generate picture.bmp", 1, "picture.bmp"},
      {"--query picture.bmp", 1, "neither a terminal nor a block device nor a framebuffer"},
  };
  for (const auto& one : cases) {
    const CommandOutcome outcome = app(std::string(one.arguments) + " 2>&1 >/dev/null");
    EXPECT_EQ(outcome.status, one.status) << one.arguments;
    EXPECT_NE(outcome.out.find(one.says), std::string::npos) << outcome.out;
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
  }
}

// --seconds is how long the console keeps graphics; a signal ends it, and that is no error.
TEST_F(DisplayProgram, ends_its_wait_at_a_signal) {
  ASSERT_EQ(app("--generate picture.bmp").status, 0);
  const CommandOutcome outcome = in_folder(
      "{ '" + program() +
      "' --seconds 100 --screen s --geometry 64x64x32 picture.bmp >out 2>&1 & "
      "while kill -0 $! && ! grep -q shown: out; do sleep 0.05; done; kill -TERM $!; wait $!; }");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
}

}  // namespace
}  // namespace k2k::end_to_end::display_test
