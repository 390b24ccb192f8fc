// Goal: an administrator sets the machine's limit by the command line, and a serving program keeps
// the limit and reports it.
// Method: a folder of the test, named by K2K_HOST_DIR.

#include <sys/stat.h>

#include <filesystem>

#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::host_test {
namespace {

using nlohmann::json;

class Host : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    if (::access("/run/k2k/limit", F_OK) == 0) {
      GTEST_SKIP() << "this machine has a limit (/run/k2k), which outranks the test's";
    }
    std::string pattern = testing::TempDir() + "k2k_host_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    place_ = folder_ + "/k2k";
    setenv("K2K_HOST_DIR", place_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("K2K_HOST_DIR");
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] json shown() const { return json::parse(run("host --json").out); }

  std::string folder_;
  std::string place_;
};

TEST_F(Host, without_a_limit_says_how_to_set_one) {
  const Outcome outcome = run("host");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out.find("no limit on this machine (" + place_ + "); 'sudo k2k host limit 5%'"),
            0u)
      << outcome.out;
  EXPECT_TRUE(shown()["limit"].is_null());
}

TEST_F(Host, limit_is_set_shown_and_taken_away) {
  EXPECT_EQ(run("host limit 2.5%").status, 0);
  EXPECT_EQ(shown()["limit"], 0.025);
  const Outcome outcome = run("host limit 5%");
  EXPECT_EQ(outcome.out.find("limit 5 % of the CPU time of all "), 0u) << outcome.out;
  EXPECT_NE(outcome.out.find("no runtime holds a part of it\n"), std::string::npos);
  EXPECT_EQ(run("host limit off").status, 0);
  EXPECT_TRUE(shown()["limit"].is_null());
}

TEST_F(Host, limit_outside_its_range_changes_nothing) {
  ASSERT_EQ(run("host limit 5").status, 0);
  for (const char* bad : {"0", "101", "-5", "0.001", "nan"}) {
    const Outcome outcome = run(std::string("host limit ") + bad + " 2>&1");
    EXPECT_EQ(outcome.status, 2) << bad;
    EXPECT_NE(outcome.out.find("permitted are 0.01 to 100 %, or off"), std::string::npos)
        << outcome.out;
  }
  EXPECT_EQ(run("host limit much 2>&1").out,
            "k2k: 'much' is no limit; a number of percent of the CPU time of all cores, 0.01 to "
            "100, or off\n");
  EXPECT_EQ(run("host limit 2>&1").status, 2);
  EXPECT_EQ(shown()["limit"], 0.05);
}

// 64 work-items read without pause for 2 s. The policy is `none`, so the limit does not come from
// the runtime.
TEST_F(Host, limit_is_kept_by_a_program_that_reads_without_pause) {
  ASSERT_EQ(run("host limit 10").status, 0);
  const Outcome outcome = run("lab governor --policy none --seconds 2 --json");
  ASSERT_EQ(outcome.status, 0) << outcome.out;
  const json row = json::parse(outcome.out)["rows"][0];
  EXPECT_LT(row["share"], 0.12);
  EXPECT_GT(row["share"], 0.01);
  EXPECT_TRUE(shown()["holders"].empty());
}

TEST_F(Host, shows_the_processes_that_hold_a_part) {
  ASSERT_EQ(run("host limit 10").status, 0);
  const Outcome outcome =
      run("lab governor --policy none --seconds 2 >/dev/null & "
          "for i in $(seq 100); do sleep 0.05; ls '" +
          place_ + "/holders' | grep -q . && break; done; '" + std::string(std::getenv("K2K_CLI")) +
          "' host --json; wait");
  const json holders = json::parse(outcome.out)["holders"];
  ASSERT_EQ(holders.size(), 1u) << outcome.out;
  EXPECT_EQ(holders[0]["command"], "k2k-lab");
  EXPECT_EQ(holders[0]["part"], 0.1);
  EXPECT_EQ(holders[0]["cap"], 1.0);
}

TEST_F(Host, with_an_untrusted_limit_stops_programs_and_the_doctor_gives_the_reason) {
  ASSERT_EQ(run("host limit 10").status, 0);
  ::chmod(place_.c_str(), 0777);
  const std::string why = place_ +
                          " has mode 0777, so others could replace what lies in it; sudo "
                          "chmod 0755 " +
                          place_;
  for (const char* command : {"host", "host limit 7", "info", "doctor"}) {
    const Outcome outcome = run(std::string(command) + " 2>&1");
    EXPECT_NE(outcome.status, 0) << command;
    EXPECT_NE(outcome.out.find(why), std::string::npos) << outcome.out;
  }
}

TEST_F(Host, limit_of_root_cannot_be_set_by_other_users) {
  if (::geteuid() != 0 || std::system("command -v setpriv >/dev/null") != 0) {
    GTEST_SKIP() << "needs root and setpriv (util-linux)";
  }
  ASSERT_EQ(run("host limit 10").status, 0);
  ::chmod(folder_.c_str(), 0755);
  const std::string cli = std::getenv("K2K_CLI");
  const std::string as_other =
      "--version >/dev/null && setpriv --reuid 65534 --regid 65534 "
      "--clear-groups '" +
      cli + "' ";
  const Outcome refused = run(as_other + "host limit 50 2>&1");
  if (refused.status == 126 || refused.status == 127) {
    GTEST_SKIP() << "another user cannot run " << cli;
  }
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.out, "k2k: host limit: " + place_ +
                             "/limit: Permission denied; it is the administrator's to set: sudo "
                             "k2k host limit\n");
  EXPECT_EQ(run(as_other + "host limit off 2>&1").status, 1);
  EXPECT_EQ(shown()["limit"], 0.1);
}

}  // namespace
}  // namespace k2k::end_to_end::host_test
