// Goal: k2k-minife prints the same solution in every mode, the residuals of the serial program, and
// one line for what it cannot do; Ctrl-C ends it at once, and its generator leaves a whole folder
// or none. Method: runs the program beside the binary named by K2K_CLI.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/application.hpp"

namespace k2k::end_to_end::minife_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class MinifeProgram : public Application {
 protected:
  MinifeProgram() : Application("minife", "minife") {}
  void SetUp() override {
    Application::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(app("--generate in --elements 8 --seed 5").status, 0);
  }
};

TEST_F(MinifeProgram, has_the_same_solution_in_every_mode) {
  const json right = json_of("in/sorted");
  EXPECT_EQ(right["rows"], 343);
  EXPECT_EQ(right["sorted"], true);
  EXPECT_EQ(right["mode"], "demand");
  EXPECT_EQ(right["converged"], true);
  EXPECT_GT(right["demand_pages"], 20);
  EXPECT_LT(right["true_residual"].get<double>(), 1e-9);
  EXPECT_LT(right["error"].get<double>(), 0.01);
  EXPECT_EQ(right["residuals"].size(), right["iterations"].get<std::size_t>());
  EXPECT_GT(right["end"]["resident_bytes"].get<std::uint64_t>(),
            right["begin"]["resident_bytes"].get<std::uint64_t>());
  EXPECT_GE(right["seconds"].get<double>(), right["kernel_seconds"].get<double>());
  const json pinned = json_of("--mode pinned in/sorted");
  EXPECT_EQ(pinned["bits"], right["bits"]);
  EXPECT_EQ(pinned["demand_pages"], 0);
  const json unsorted = json_of("in/unsorted");
  EXPECT_EQ(unsorted["sorted"], false);
  const json serial = json_of("--by serial in/sorted");
  for (const json* const other : {&unsorted, &serial}) {
    EXPECT_EQ((*other)["iterations"], right["iterations"]);
    EXPECT_NEAR((*other)["error"].get<double>() / right["error"].get<double>(), 1, 1e-6);
    EXPECT_NEAR((*other)["residuals"][9].get<double>() / right["residuals"][9].get<double>(), 1,
                1e-9);
  }
}

TEST_F(MinifeProgram, prints_a_table_for_people) {
  const CommandOutcome outcome = app("in/sorted");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out.rfind("343 rows, 6859 entries\n", 0), 0u) << outcome.out;
  EXPECT_NE(outcome.out.find(" iterations, residual "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(" pages on demand, "), std::string::npos) << outcome.out;
}

TEST_F(MinifeProgram, tells_its_options) {
  const CommandOutcome outcome = app("--help");
  EXPECT_EQ(outcome.status, 0);
  for (const char* word : {"--generate", "--mode", "--tolerance", "--elements", "--by",
                           "Usage: k2k-minife [OPTIONS]"}) {
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word;
  }
}

TEST_F(MinifeProgram, tells_wrong_inputs_in_one_line) {
  std::ofstream(folder_ / "text") << std::string(5000, 'x');
  fs::copy(folder_ / "in/sorted", folder_ / "cut");
  fs::resize_file(folder_ / "cut", 10'000);
  const struct {
    const char* arguments;
    int status;
    const char* message;
  } cases[] = {
      {"", 2, "name a FILE of a matrix; --generate FOLDER makes two\n"},
      {"nowhere", 1, "nowhere: No such file or directory; name a file that --generate made\n"},
      {"text", 1, "text: no matrix file, which begins with K2KmFE; make one with --generate\n"},
      {"--generate new in/sorted", 2,
       "--generate makes files and computes nothing; leave out FILE\n"},
      {"--generate in", 1,
       "in: File exists; name a path that does not exist, in a folder that may be written to\n"},
      {"--tolerance 0 in/sorted", 2, "--tolerance 0; permitted are 1e-15 to 1\n"},
      {"--tolerance nan in/sorted", 2, "--tolerance nan; permitted are 1e-15 to 1\n"},
      {"--iterations 3 in/sorted", 1,
       "in/sorted: not solved in 3 iterations; allow more with --iterations, or a larger "
       "--tolerance\n"},
  };
  for (const auto& each : cases) {
    const CommandOutcome outcome = app(std::string(each.arguments) + " 2>&1 >/dev/null");
    EXPECT_EQ(outcome.status, each.status) << each.arguments;
    EXPECT_EQ(outcome.out, std::string("k2k-minife: ") + each.message) << each.arguments;
  }
  const CommandOutcome cut = app("cut 2>&1");
  EXPECT_EQ(cut.status, 1);
  EXPECT_EQ(cut.out.rfind("k2k-minife: cut: the file has 10000 bytes, but 343 rows with ", 0), 0u)
      << cut.out;
  for (const char* arguments :
       {"--mode magic in/sorted", "--by magic in/sorted", "--iterations 0 in/sorted",
        "--elements 1 --generate new", "--seed -1 --generate new"}) {
    EXPECT_EQ(app(std::string(arguments) + " 2>/dev/null").status, 2) << arguments;
  }
}

TEST_F(MinifeProgram, tells_a_generator_without_memory) {
#if defined(K2K_TSAN) || defined(K2K_ASAN)
  GTEST_SKIP() << "sanitizers need more address space than the limit leaves";
#endif
  const CommandOutcome outcome =
      in_folder("ulimit -v 300000; '" + program() + "' --generate large --elements 256 2>&1");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out, "k2k-minife: no memory for 256 elements a side; take fewer --elements\n");
  EXPECT_FALSE(fs::exists(folder_ / "large"));
}

TEST_F(MinifeProgram, ends_at_a_signal) {
  // Long enough for the signal to come meanwhile, with one work-item.
  ASSERT_EQ(app("--generate large --elements 28").status, 0);
  const CommandOutcome outcome = in_folder("timeout -s INT 0.05 '" + program() +
                                           "' --groups 1 --items 1 large/sorted; echo $?");
  EXPECT_EQ(outcome.out, "124\n");  // As timeout tells it: the signal ended the program in time.
}

TEST_F(MinifeProgram, generates_both_files_or_no_folder) {
  generates_both_files_or_no_folder("--elements 16",
                                    [](std::uintmax_t bytes) { EXPECT_GT(bytes, 900'000u); });
}

}  // namespace
}  // namespace k2k::end_to_end::minife_test
