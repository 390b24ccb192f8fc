// Goal: `k2k calibrate` writes a profile, and `k2k route explain` plans with it; both report
// errors, and Ctrl-C leaves no file behind. Method: a folder for profiles (K2K_PROFILE_DIR) and one
// for files, made by the test.

#include <fcntl.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::calibrate_test {
namespace {

using nlohmann::json;

class Calibrated : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    if (IsSkipped()) return;
    std::string pattern = testing::TempDir() + "k2k_calibrated_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    top_ = pattern;
    data_ = top_ + "/data";
    profiles_ = top_ + "/profiles";
    std::filesystem::create_directory(data_);
    setenv("K2K_PROFILE_DIR", profiles_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("K2K_PROFILE_DIR");
    if (!top_.empty()) std::filesystem::remove_all(top_);
  }

  // A file of `pages` pages, all on the disk; pages `first` to `last` are cached.
  [[nodiscard]] std::string file_of(std::size_t pages, std::size_t first, std::size_t last) const {
    std::string path = data_ + "/file";
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    std::string page(4096, 'k');
    for (std::size_t at = 0; at < pages; ++at) EXPECT_EQ(write(file, page.data(), 4096), 4096);
    EXPECT_EQ(fsync(file), 0);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    for (std::size_t at = first; at < last; ++at) {
      EXPECT_EQ(pread(file, page.data(), 4096, static_cast<off_t>(at * 4096)), 4096);
    }
    close(file);
    return path;
  }
  [[nodiscard]] bool profiles_empty() const {
    return !std::filesystem::exists(profiles_) || std::filesystem::is_empty(profiles_);
  }

  std::string top_;
  std::string data_;
  std::string profiles_;
};

TEST_F(Calibrated, profile_is_stored_and_planned_with) {
  const Outcome measured = run("calibrate --json " + data_ + " 2>&1");
  if (measured.status != 0) {
    for (const char* reason : {"O_DIRECT", "wanted, of which", "give it more", "do not stay"}) {
      if (measured.out.find(reason) != std::string::npos) GTEST_SKIP() << measured.out;
    }
  }
  ASSERT_EQ(measured.status, 0) << measured.out;
  const json profile = json::parse(measured.out);
  EXPECT_EQ(profile["points"]["direct"].size(), 22u);
  EXPECT_GT(profile["model"]["call_us"], 0);
  EXPECT_LE(profile["r2"]["direct"], 1);
  EXPECT_GE(profile["rounds"], 10);
  EXPECT_LT(profile["seconds"], 60);
  EXPECT_EQ(profile["describes"],
            profile["r2"]["direct"] >= 0.98 && profile["r2"]["cache"] >= 0.98);
  const std::string path = profile["stored"];
  EXPECT_EQ(path.find(profiles_ + "/"), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(data_));

  const std::string file = file_of(64, 0, 64);
  const json plan = json::parse(run("route explain --json " + file + " 0 256K").out);
  EXPECT_EQ(plan["profile"]["state"], "measured");
  EXPECT_EQ(plan["profile"]["path"], path);
  EXPECT_EQ(plan["profile"]["call_us"], profile["model"]["call_us"]);
  EXPECT_EQ(plan["cached_pages"], 64);
  EXPECT_NE(run("route explain " + file + " 0 256K").out.find("measured: " + path),
            std::string::npos);

  // The message names a damaged profile and the fix.
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const Outcome damaged = run("route explain " + file + " 0 4K 2>&1");
  EXPECT_EQ(damaged.status, 1);
  EXPECT_EQ(damaged.out, "k2k: " + path +
                             " is damaged: it is no JSON object; remove it and run 'k2k "
                             "calibrate " +
                             data_ + "'\n");
}

TEST_F(Calibrated, dry_run_is_a_table_and_stores_nothing) {
  const Outcome measured = run("calibrate --dry-run " + data_ + " 2>&1");
  if (measured.status != 0) GTEST_SKIP() << measured.out;
  for (const char* part : {", engine ", "  C  ", "  S  ", "bandwidth direct", "R^2", "b*",
                           "stored            nothing (--dry-run)", "\n8.0 MiB"}) {
    EXPECT_NE(measured.out.find(part), std::string::npos) << part << "\n" << measured.out;
  }
  EXPECT_TRUE(profiles_empty());
}

TEST_F(Calibrated, missing_memory_is_reported_before_the_measurement) {
  const Outcome wrong = run("calibrate --memory gpu " + data_ + " 2>&1");
  EXPECT_EQ(wrong.status, 2) << wrong.out;
  EXPECT_NE(wrong.out.find("mapped"), std::string::npos) << wrong.out;
  const Outcome none = run("route engines --json");
  if (json::parse(none.out)["memories"][1]["there"]) GTEST_SKIP() << "there is a CUDA device";
  const Outcome cuda = run("calibrate --memory cuda " + data_ + " 2>&1");
  EXPECT_EQ(cuda.status, 1);
  EXPECT_EQ(cuda.out.find("k2k: CUDA memory: "), 0u) << cuda.out;
  EXPECT_TRUE(profiles_empty());
}

TEST_F(Calibrated, ctrl_c_ends_it_with_130_and_leaves_nothing) {
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    const char* const cli = std::getenv("K2K_CLI");
    execl(cli, cli, "calibrate", data_.c_str(), nullptr);
    _exit(127);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  // Before the program's main() the signal's default action ends the process.
  if (WIFEXITED(status) && WEXITSTATUS(status) == 1) GTEST_SKIP() << "cannot calibrate here";
  EXPECT_TRUE((WIFEXITED(status) && WEXITSTATUS(status) == 130) ||
              (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT))
      << status;
  EXPECT_TRUE(std::filesystem::is_empty(data_));
  EXPECT_TRUE(profiles_empty());
}

TEST_F(Calibrated, refuses_targets_that_cannot_be_measured) {
  const std::tuple<const char*, int, const char*> wrong[] = {
      {"/no/such", 1,
       "cannot calibrate /no/such: No such file or directory; name a folder on the device to "
       "measure"},
      {"/proc", 1, "/proc: cannot make a file: "},
      {"--seconds 0", 2, "a calibration of 0 s; permitted are 1 to 55"},
      {"--seconds 56", 2, "a calibration of 56 s"},
      {"--seconds nan", 2, "a calibration of nan s"},
      {"--seconds soon", 2, "--seconds"},
      {". twice", 2, "unexpected argument 'twice'"},
  };
  for (const auto& [arguments, status, why] : wrong) {
    const Outcome outcome = run(std::string("calibrate ") + arguments + " 2>&1");
    EXPECT_EQ(outcome.status, status) << outcome.out;
    EXPECT_EQ(outcome.out.find("k2k: "), 0u) << outcome.out;
    EXPECT_NE(outcome.out.find(why), std::string::npos) << outcome.out;
  }
  EXPECT_TRUE(profiles_empty());
}

TEST_F(Calibrated, explain_gives_the_way_and_the_reason_of_each_segment) {
  const std::string file = file_of(3000, 1000, 2000);
  const Outcome outcome = run("route explain --json " + file + " 0 3000000000 2>&1");
  EXPECT_EQ(outcome.status, 2);
  const json plan = json::parse(run("route explain --json " + file + " 0 11M").out);
  EXPECT_EQ(plan["profile"]["state"], "default");
  EXPECT_NE(plan["profile"]["says"].get<std::string>().find("run 'k2k calibrate " + data_ + "'"),
            std::string::npos);
  EXPECT_EQ(plan["pages"], 11 * 256);
  EXPECT_TRUE(plan["residency_trusted"]);
  if (plan["cached_pages"] != 1000) GTEST_SKIP() << "this file system caches in its own way";
  ASSERT_EQ(plan["segments"].size(), 3u);
  const json& run_of = plan["segments"][1];
  EXPECT_EQ(run_of["first_page"], 1000);
  EXPECT_EQ(run_of["pages"], 1000);
  EXPECT_EQ(run_of["way"], "cache");
  EXPECT_EQ(run_of["why"],
            "cached run of 1000 pages > b* = 338: copying saves more than another transfer costs");
  double sum = 0;
  for (const json& each : plan["segments"]) sum += each["time_us"].get<double>();
  EXPECT_NEAR(plan["time_us"], sum, 1e-6);
  EXPECT_GT(plan["all_direct_us"], plan["time_us"]);
  EXPECT_LT(plan["if_all_cached_us"], plan["time_us"]);
  const std::string text = run("route explain " + file + " 0 11M").out;
  EXPECT_NE(text.find("\n0-999      p2p "), std::string::npos) << text;
  EXPECT_NE(text.find("\npredicted "), std::string::npos) << text;
  for (const char* schedule : {"greedy", "greedy-range", "split", "overlapped"}) {
    const Outcome other = run("route explain " + file + " 0 11M --schedule " + schedule);
    EXPECT_EQ(other.status, 0);
    EXPECT_NE(other.out.find(std::string("us (") + schedule + ")"), std::string::npos) << other.out;
  }
}

TEST_F(Calibrated, explain_names_partial_pages_and_the_end_of_the_file) {
  const std::string file = file_of(10, 0, 10);
  const json ends = json::parse(run("route explain --json " + file + " 100 8200").out);
  EXPECT_EQ(ends["head"]["bytes"], 3996);
  EXPECT_EQ(ends["tail"]["bytes"], 108);
  EXPECT_EQ(ends["pages"], 1);
  EXPECT_EQ(ends["segments"][0]["first_page"], 1);
  const std::string inside = run("route explain " + file + " 100 8").out;
  EXPECT_NE(inside.find("\nhead   cache  0.0  8 bytes, no whole page: read through the page cache, "
                        "which has it\n"),
            std::string::npos)
      << inside;
  const Outcome beyond = run("route explain " + file + " 36K 1M");
  EXPECT_NE(beyond.out.find("truncated by 1044480 bytes at the end of the file"), std::string::npos)
      << beyond.out;
  std::filesystem::resize_file(file, 4097);
  const json last = json::parse(run("route explain --json " + file + " 4096 1").out);
  EXPECT_EQ(last["pages"], 1);
  EXPECT_EQ(last["tail"]["bytes"], 0);
}

TEST_F(Calibrated, explain_refuses_impossible_requests) {
  const std::string file = file_of(1, 0, 0);
  ASSERT_EQ(mkfifo((data_ + "/fifo").c_str(), 0600), 0);
  const std::tuple<std::string, int, std::string> wrong[] = {
      {"/no/such 0 1", 1, "cannot open /no/such: No such file or directory"},
      {data_ + " 0 1", 1, data_ + " is a folder; name a file"},
      {data_ + "/fifo 0 1", 1, "/fifo is not a regular file; name one"},
      {file + " 4096 1", 1,
       "offset 4096 lies beyond the end of " + file + ", which has 4096 bytes"},
      {file + " 0 0", 2, "a request of 0 bytes; permitted are 1 to 2147483648 (2 GiB)"},
      {file + " 0 3G", 2, "a request of 3221225472 bytes"},
      {file + " -- 0 -1", 2, "'-1' is not a number of bytes such as 4096, 64K, 8M, 1G"},
      {file + " 1X 1", 2, "'1X' is not a number of bytes"},
      {file + " 64iB 1", 2, "'64iB' is not a number of bytes"},
      {file + " 99999999999G 1", 2, "'99999999999G' is not a number of bytes"},
      {file + " 18446744073709551615 1", 2, "is not a number of bytes"},
      {file + " 0 '' ", 2, "'' is not a number of bytes"},
      {file + " 0", 2, "LEN"},
      {file + " 0 1 --schedule best", 2, "'best' is not a schedule; permitted: exact, greedy, "},
  };
  for (const auto& [arguments, status, why] : wrong) {
    const Outcome outcome = run("route explain " + arguments + " 2>&1");
    EXPECT_EQ(outcome.status, status) << outcome.out;
    EXPECT_EQ(outcome.out.find("k2k: "), 0u) << outcome.out;
    EXPECT_NE(outcome.out.find(why), std::string::npos) << outcome.out;
  }
}

TEST_F(Calibrated, explain_reports_that_residency_is_hidden_from_the_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const char* const cli = std::getenv("K2K_CLI");
  const std::string file = file_of(10, 0, 0);
  std::filesystem::permissions(top_, std::filesystem::perms(0755));
  std::filesystem::permissions(data_, std::filesystem::perms(0755));
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  const std::string command = "setpriv --reuid 65534 --clear-groups '" + std::string(cli) +
                              "' route explain --json " + file + " 0 4K 2>&1";
  const Outcome outcome = run_command(command);
  if (outcome.status != 0) GTEST_SKIP() << "another user cannot run it here: " << outcome.out;
  EXPECT_FALSE(json::parse(outcome.out)["residency_trusted"]);
}

}  // namespace
}  // namespace k2k::end_to_end::calibrate_test
