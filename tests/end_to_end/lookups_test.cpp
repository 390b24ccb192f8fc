// Goal: k2k-bpt and k2k-xsbench print the same answers in every mode, by kernel and by threads, and
// one line for what they cannot do; Ctrl-C ends them at once, and their generators leave a whole
// folder or none. Method: runs the programs beside the binary named by K2K_CLI.

#include <sys/prctl.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/application.hpp"

namespace k2k::end_to_end::lookups_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class LookupProgram : public Application {
 protected:
  LookupProgram(const char* name, std::string sizes)
      : Application(name, name), name_(std::string("k2k-") + name), sizes_(std::move(sizes)) {}
  void SetUp() override {
    Application::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(app("--generate in --seed 5 " + sizes_).status, 0);
  }
  // Returns the result of the default way.
  json has_the_same_answers_in_every_way() {
    json right = json_of("in/sorted");
    EXPECT_EQ(right["by"], "kernel");
    EXPECT_EQ(right["mode"], "demand");
    EXPECT_EQ(right["sorted"], true);
    EXPECT_EQ(right["lookups"], 500);
    EXPECT_GT(right["demand_pages"], 10);
    EXPECT_GT(right["fault_requests"], 0);
    EXPECT_GE(right["seconds"].get<double>(), right["kernel_seconds"].get<double>());
    EXPECT_GT(right["end"]["resident_bytes"].get<std::uint64_t>(),
              right["begin"]["resident_bytes"].get<std::uint64_t>());
    for (const char* const way :
         {"--mode pinned in/sorted", "in/unsorted", "--by threads in/unsorted",
          "--by threads --mode pinned --threads 3 --groups 7 in/sorted",
          "--groups 3 --items 5 --resident in/sorted"}) {
      const json other = json_of(way);
      EXPECT_EQ(other["bits"], right["bits"]) << way;
      EXPECT_GE(other["resident"].size(), 3u) << way;
    }
    EXPECT_EQ(json_of("in/unsorted")["sorted"], false);
    EXPECT_EQ(json_of("--mode pinned in/sorted")["demand_pages"], 0);
    return right;
  }
  void tells(const std::string& arguments, int status, const std::string& message) {
    const CommandOutcome outcome = app(arguments + " 2>&1 >/dev/null");
    EXPECT_EQ(outcome.status, status) << arguments;
    EXPECT_EQ(outcome.out, name_ + ": " + message + "\n") << arguments;
  }
  void tells_wrong_files(const std::string& magic) {
    std::ofstream(folder_ / "text") << std::string(5000, 'x');
    tells("nowhere", 1, "nowhere: No such file or directory; name a file that --generate made");
    tells("text", 1, "text: no file of " + magic + "; make one with --generate");
    tells("--generate in", 1,
          "in: File exists; name a path that does not exist, in a folder that may be written to");
    fs::copy(folder_ / "in/sorted", folder_ / "cut");
    fs::resize_file(folder_ / "cut", 10'000);
    const CommandOutcome cut = app("cut 2>&1");
    EXPECT_EQ(cut.status, 1);
    EXPECT_EQ(cut.out.rfind(name_ + ": cut: the file has 10000 bytes, but ", 0), 0u) << cut.out;
    for (const char* arguments :
         {"--mode magic in/sorted", "--by serial in/sorted", "--groups 0 in/sorted",
          "--items 1025 in/sorted", "--threads 257 in/sorted", "--lookups 0 --generate new",
          "--seed -1 --generate new"}) {
      EXPECT_EQ(app(std::string(arguments) + " 2>/dev/null").status, 2) << arguments;
    }
    EXPECT_FALSE(fs::exists(folder_ / "new"));
  }
  void says_so_if_linux_gives_no_huge_pages() {
    ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // A child inherits it.
    const CommandOutcome outcome = app("--mode huge in/sorted 2>&1 >/dev/null");
    ::prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.out.find(name_ + ": Linux gave no huge page; write madvise to "), 0u)
        << outcome.out;
  }
  void ends_at_a_signal(const std::string& large) {
    // Long enough for the signal to come meanwhile, with one work-item.
    ASSERT_EQ(app("--generate long " + large).status, 0);
    const CommandOutcome outcome = in_folder("timeout -s INT 0.05 '" + program() +
                                             "' --groups 1 --items 1 long/unsorted; echo $?");
    EXPECT_EQ(outcome.out, "124\n");  // As timeout tells it: the signal ended the program in time.
  }
  void tells_a_generator_without_memory(const std::string& large, const std::string& message) {
#if defined(K2K_TSAN) || defined(K2K_ASAN)
    GTEST_SKIP() << "sanitizers need more address space than the limit leaves";
#endif
    const CommandOutcome outcome =
        in_folder("ulimit -v 300000; '" + program() + "' --generate large " + large + " 2>&1");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.out, name_ + ": " + message + "\n");
    EXPECT_FALSE(fs::exists(folder_ / "large"));
  }
  void tells_its_options(const std::vector<const char*>& more) {
    const CommandOutcome outcome = app("--help");
    EXPECT_EQ(outcome.status, 0);
    EXPECT_NE(outcome.out.find("Usage: " + name_ + " [OPTIONS] [FILE]"), std::string::npos);
    for (const char* word : {"--generate", "--mode", "--by", "--threads", "--resident"}) {
      EXPECT_NE(outcome.out.find(word), std::string::npos) << word;
    }
    for (const char* word : more) EXPECT_NE(outcome.out.find(word), std::string::npos) << word;
  }

 private:
  std::string name_;
  std::string sizes_;
};

class BptProgram : public LookupProgram {
 protected:
  BptProgram() : LookupProgram("bpt", "--keys 20000 --lookups 500") {}
};

class XsbenchProgram : public LookupProgram {
 protected:
  XsbenchProgram() : LookupProgram("xsbench", "--nuclides 20 --grid-points 50 --lookups 500") {}
};

TEST_F(BptProgram, has_the_same_answers_in_every_way) {
  const json right = has_the_same_answers_in_every_way();
  EXPECT_EQ(right["keys"], 20'000);
  EXPECT_EQ(right["nodes"], 80);
  EXPECT_EQ(right["levels"], 2);
  EXPECT_GT(right["found"], 200);
  EXPECT_LT(right["found"], 400);
}

TEST_F(XsbenchProgram, has_the_same_answers_in_every_way) {
  const json right = has_the_same_answers_in_every_way();
  EXPECT_EQ(right["nuclides"], 20);
  EXPECT_EQ(right["grid_points"], 50);
  EXPECT_EQ(right["energies"], 1'000);
}

TEST_F(BptProgram, prints_a_table_for_people) {
  const CommandOutcome outcome = app("in/sorted");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out.rfind("20000 keys in 80 nodes of 2 levels\n500 searches, ", 0), 0u)
      << outcome.out;
  EXPECT_NE(outcome.out.find(" pages on demand, "), std::string::npos) << outcome.out;
}

TEST_F(XsbenchProgram, prints_a_table_for_people) {
  const CommandOutcome outcome = app("in/sorted");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out.rfind("20 nuclides of 50 points, 1000 energies\n500 lookups, bits ", 0), 0u)
      << outcome.out;
  EXPECT_NE(outcome.out.find(" pages on demand, "), std::string::npos) << outcome.out;
}

TEST_F(BptProgram, tells_its_options) { tells_its_options({"--keys", "--lookups"}); }
TEST_F(XsbenchProgram, tells_its_options) { tells_its_options({"--nuclides", "--grid-points"}); }

TEST_F(BptProgram, tells_wrong_inputs_in_one_line) {
  tells("", 2, "name a FILE of a tree; --generate FOLDER makes two");
  tells("--generate new in/sorted", 2,
        "--generate makes files and searches nothing; leave out FILE");
  tells_wrong_files("a B+tree, which begins with K2KBPT");
}

TEST_F(XsbenchProgram, tells_wrong_inputs_in_one_line) {
  tells("", 2, "name a FILE of cross-sections; --generate FOLDER makes two");
  tells("--generate new in/sorted", 2,
        "--generate makes files and looks nothing up; leave out FILE");
  tells_wrong_files("cross-sections, which begins with K2KXSB");
}

TEST_F(BptProgram, says_so_if_linux_gives_no_huge_pages) { says_so_if_linux_gives_no_huge_pages(); }
TEST_F(XsbenchProgram, says_so_if_linux_gives_no_huge_pages) {
  says_so_if_linux_gives_no_huge_pages();
}

TEST_F(BptProgram, tells_a_generator_without_memory) {
  tells_a_generator_without_memory(
      "--keys 100000000",
      "no memory for 100000000 keys and 100000 searches; take fewer --keys or --lookups");
}

TEST_F(XsbenchProgram, tells_a_generator_without_memory) {
  tells_a_generator_without_memory(
      "--nuclides 300 --grid-points 10000",
      "no memory for 300 nuclides of 10000 points and 30000 lookups; take fewer --nuclides, "
      "--grid-points or --lookups");
}

TEST_F(BptProgram, ends_at_a_signal) { ends_at_a_signal("--lookups 2000000"); }
TEST_F(XsbenchProgram, ends_at_a_signal) { ends_at_a_signal("--lookups 1000000"); }

TEST_F(BptProgram, generates_both_files_or_no_folder) {
  generates_both_files_or_no_folder("--lookups 1000000",
                                    [](std::uintmax_t bytes) { EXPECT_GT(bytes, 1'000'000u); });
}
TEST_F(XsbenchProgram, generates_both_files_or_no_folder) {
  generates_both_files_or_no_folder("--lookups 300000",
                                    [](std::uintmax_t bytes) { EXPECT_GT(bytes, 1'000'000u); });
}

}  // namespace
}  // namespace k2k::end_to_end::lookups_test
