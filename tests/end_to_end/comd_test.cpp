// Goal: k2k-comd prints the same atoms in every mode and order, the energies of the serial program,
// and one line for what it cannot do; Ctrl-C ends it at once, and its generator leaves a whole
// folder or none. Method: runs the program beside the binary named by K2K_CLI.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/application.hpp"

namespace k2k::end_to_end::comd_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class ComdProgram : public Application {
 protected:
  ComdProgram() : Application("comd", "comd") {}
  void SetUp() override {
    Application::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(app("--generate in --unit-cells 4 --seed 5").status, 0);
  }
  [[nodiscard]] json result(const std::string& arguments) const {
    return json_of("--steps 4 --every 2 " + arguments);
  }
};

TEST_F(ComdProgram, has_the_same_atoms_in_every_mode_and_order) {
  const json right = result("in/sorted");
  EXPECT_EQ(right["atoms"], 256);
  EXPECT_EQ(right["sorted"], true);
  EXPECT_EQ(right["mode"], "demand");
  EXPECT_EQ(right["demand_pages"], 4);
  EXPECT_EQ(right["sums"].size(), 3u);
  EXPECT_LT(right["drift"].get<double>(), 1e-4);
  EXPECT_LT(right["momentum_most"].get<double>(), 1e-11);
  EXPECT_GT(right["end"]["resident_bytes"].get<std::uint64_t>(),
            right["begin"]["resident_bytes"].get<std::uint64_t>());
  EXPECT_GT(right["end"]["linux_faults"].get<std::uint64_t>(),
            right["begin"]["linux_faults"].get<std::uint64_t>());
  EXPECT_GE(right["seconds"].get<double>(), right["kernel_seconds"].get<double>());
  const json pinned = result("--mode pinned in/unsorted");
  EXPECT_EQ(pinned["bits"], right["bits"]);
  EXPECT_EQ(pinned["sorted"], false);
  EXPECT_EQ(pinned["demand_pages"], 0);
  EXPECT_EQ(result("in/unsorted")["bits"], right["bits"]);
  const json serial = result("--by serial in/sorted");
  EXPECT_NEAR(serial["sums"][2]["energy"].get<double>() / right["sums"][2]["energy"].get<double>(),
              1, 1e-12);
}

TEST_F(ComdProgram, prints_a_table_for_people) {
  const CommandOutcome outcome = app("--steps 2 --every 1 in/sorted");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(
      outcome.out.rfind("    step      potential        kinetic         energy   an atom\n", 0), 0u)
      << outcome.out;
  EXPECT_NE(outcome.out.find("\n256 atoms, drift "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("; 4 pages on demand, "), std::string::npos) << outcome.out;
}

TEST_F(ComdProgram, tells_its_options) {
  const CommandOutcome outcome = app("--help");
  EXPECT_EQ(outcome.status, 0);
  for (const char* word :
       {"--generate", "--mode", "--dt", "--unit-cells", "--by", "Usage: k2k-comd [OPTIONS]"}) {
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word;
  }
}

TEST_F(ComdProgram, tells_wrong_inputs_in_one_line) {
  std::ofstream(folder_ / "text") << std::string(5000, 'x');
  fs::copy(folder_ / "in/sorted", folder_ / "cut");
  fs::resize_file(folder_ / "cut", 10'000);
  const struct {
    const char* arguments;
    int status;
    const char* message;
  } cases[] = {
      {"", 2, "name a FILE of atoms; --generate FOLDER makes two\n"},
      {"nowhere", 1, "nowhere: No such file or directory; name a file that --generate made\n"},
      {"text", 1, "text: no file of atoms, which begins with K2KCoMD; make one with --generate\n"},
      {"cut", 1,
       "cut: the file has 10000 bytes, but 256 atoms take 20480; make the file anew with "
       "--generate\n"},
      {"--generate new in/sorted", 2,
       "--generate makes files and computes nothing; leave out FILE\n"},
      {"--generate in", 1,
       "in: File exists; name a path that does not exist, in a folder that may be written to\n"},
      {"--generate new --unit-cells 2", 1,
       "the cutoff of 2.5 is larger than half the box's side of 3.123; take more --unit-cells or a "
       "larger --lattice\n"},
      {"--dt 0 in/sorted", 2, "--dt 0; permitted are 1e-09 to 1\n"},
      {"--dt nan in/sorted", 2, "--dt nan; permitted are 1e-09 to 1\n"},
      {"--lattice -1 --generate new", 2, "--lattice -1; permitted are 0.5 to 100\n"},
      {"--temperature 101 --generate new", 2, "--temperature 101; permitted are 0 to 100\n"},
  };
  for (const auto& each : cases) {
    const CommandOutcome outcome = app(std::string(each.arguments) + " 2>&1 >/dev/null");
    EXPECT_EQ(outcome.status, each.status) << each.arguments;
    EXPECT_EQ(outcome.out, std::string("k2k-comd: ") + each.message) << each.arguments;
  }
  for (const char* arguments :
       {"--mode magic in/sorted", "--by magic in/sorted", "--steps 0 in/sorted",
        "--unit-cells 0 --generate new", "--seed -1 --generate new"}) {
    EXPECT_EQ(app(std::string(arguments) + " 2>/dev/null").status, 2) << arguments;
  }
}

TEST_F(ComdProgram, tells_atoms_that_fly_away) {
  const CommandOutcome outcome = app("--dt 1 in/sorted 2>&1 >/dev/null");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out.rfind("k2k-comd: in/sorted: step ", 0), 0u) << outcome.out;
  EXPECT_NE(outcome.out.find("take a smaller --dt"), std::string::npos) << outcome.out;
}

TEST_F(ComdProgram, tells_a_generator_without_memory) {
#if defined(K2K_TSAN) || defined(K2K_ASAN)
  GTEST_SKIP() << "sanitizers need more address space than the limit leaves";
#endif
  const CommandOutcome outcome =
      in_folder("ulimit -v 300000; '" + program() + "' --generate large --unit-cells 300 2>&1");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out,
            "k2k-comd: no memory for 300 unit cells a side; take fewer --unit-cells\n");
  EXPECT_FALSE(fs::exists(folder_ / "large"));
}

TEST_F(ComdProgram, ends_at_a_signal) {
  const CommandOutcome outcome =
      in_folder("timeout -s INT 0.3 '" + program() + "' --steps 1000000 in/sorted");
  EXPECT_EQ(outcome.status, 124);  // As timeout tells it: the signal ended the program in time.
}

TEST_F(ComdProgram, generates_both_files_or_no_folder) {
  generates_both_files_or_no_folder(
      "--unit-cells 20", [](std::uintmax_t bytes) { EXPECT_EQ(bytes, 4096u + 32'000u * 64u); });
}

}  // namespace
}  // namespace k2k::end_to_end::comd_test
