// Goal: k2k-wordcount prints the counts that its generator knows, in every way; it tells wrong
// inputs in one line and by its status; a signal ends it at once.
// Method: runs the program beside the binary named by K2K_CLI.

#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/end_to_end/application.hpp"

namespace k2k::end_to_end::wordcount_test {
namespace {

namespace fs = std::filesystem;

class WordcountProgram : public Application {
 protected:
  WordcountProgram() : Application("wordcount", "wordcount") {}
  void SetUp() override {
    Application::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(app("--generate in --files 40 --bytes 3000 --seed 5").status, 0);
  }
};

TEST_F(WordcountProgram, prints_the_generators_counts_in_every_way) {
  std::ostringstream right;
  right << std::ifstream(folder_ / "in/counts").rdbuf();
  ASSERT_GT(right.str().size(), 64u);
  for (const char* way : {"kernel", "relaunch", "direct", "openmp"}) {
    const CommandOutcome outcome = app(std::string("--by ") + way + " -f in/strings in/files");
    EXPECT_EQ(outcome.status, 0) << way;
    EXPECT_EQ(outcome.out, right.str()) << way;
  }
}

TEST_F(WordcountProgram, prints_json_with_rates) {
  const CommandOutcome outcome = app("--json --rates -f in/strings in/files");
  ASSERT_EQ(outcome.status, 0);
  const auto result = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(result.is_object()) << outcome.out;
  EXPECT_EQ(result["files"], 40);
  EXPECT_EQ(result["errors"], 0);
  EXPECT_EQ(result["counts"].size(), 64u);
  ASSERT_GE(result["rates"].size(), 1u);
  EXPECT_GE(result["rates"][0]["cpu_share"], 0);
  EXPECT_TRUE(result["rates"][0].contains("disk_bytes"));
}

TEST_F(WordcountProgram, tells_wrong_inputs_in_one_line) {
  const struct {
    const char* arguments;
    int status;
    const char* message;
  } cases[] = {
      {"-e x nowhere", 1, "k2k-wordcount: nowhere: No such file or directory\n"},
      {"-f /dev/null in/files", 2,
       "k2k-wordcount: no strings to count; give them with -f FILE or -e STRING\n"},
      {"-f nowhere in/files", 2, "k2k-wordcount: nowhere: No such file or directory\n"},
      {"-e x", 2, "k2k-wordcount: no PATH; name files or directories\n"},
      {"-e '' in/files", 2, "k2k-wordcount: string 1 is empty; an empty string is everywhere\n"},
      {"--generate in", 1, "k2k-wordcount: in: File exists\n"},
      {"-e x /dev/null", 1, "k2k-wordcount: /dev/null: neither a regular file nor a directory\n"},
  };
  for (const auto& each : cases) {
    const CommandOutcome outcome = app(std::string(each.arguments) + " 2>&1 >/dev/null");
    EXPECT_EQ(outcome.status, each.status) << each.arguments;
    EXPECT_EQ(outcome.out, each.message) << each.arguments;
  }
  EXPECT_EQ(app("--by magic -e x in/files 2>/dev/null").status, 2);
  EXPECT_EQ(app("--chunk-bytes 0 -e x in/files 2>/dev/null").status, 2);
}

TEST_F(WordcountProgram, tells_no_permission_and_counts_the_rest) {
  if (as_user("--help >/dev/null 2>&1").status != 0) GTEST_SKIP() << "not for every user";
  fs::permissions(folder_ / "in/files/7", fs::perms::none);
  const CommandOutcome outcome = as_user("-f in/strings in/files 2>&1 >/dev/null");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out, "k2k-wordcount: in/files/7: Permission denied\n");
}

TEST_F(WordcountProgram, ends_at_a_signal) {
  // A file that never ends, in chunks of one byte: the kernel is at work when the signal comes.
  ASSERT_EQ(run_command("truncate -s 1G '" + (folder_ / "huge").string() + "'").status, 0);
  const CommandOutcome outcome =
      run_command("cd '" + folder_.string() + "' && timeout -s INT 0.3 '" + program() +
                  "' --chunk-bytes 1 -e zzzz huge");
  EXPECT_EQ(outcome.status, 124);  // As timeout tells it: the signal ended the program in time.
}

}  // namespace
}  // namespace k2k::end_to_end::wordcount_test
