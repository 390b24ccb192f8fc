// Goal: an operator sees what Linux' device paths cost, in each form of output, and every
// failure is one line.

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "cli/watch/tree_fixture.hpp"
#include "control/http_fixture.hpp"
#include "io/file/refused_calls_fixture.hpp"
#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::watch_test {
namespace {

using nlohmann::json;

class WatchCommand : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    std::string pattern = testing::TempDir() + "k2k_watch_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  static std::vector<json> lines_of(const Outcome& outcome) {
    std::vector<json> lines;
    std::istringstream text(outcome.out);
    for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
    return lines;
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

TEST_F(WatchCommand, measures_this_machine_and_itself) {
  const Outcome outcome = run("watch --no-bpf --seconds 0.3 --json");
  ASSERT_EQ(outcome.status, 0) << outcome.out;
  const std::vector<json> lines = lines_of(outcome);
  ASSERT_EQ(lines.size(), 1u);
  const json& report = lines[0];
  EXPECT_EQ(report["schema"], 1);
  EXPECT_EQ(report["event"], "summary");
  EXPECT_EQ(report["measured_by"], "counters");
  EXPECT_EQ(report["no_bpf"], "not wanted");
  EXPECT_GT(report["classes"]["total_s"], 0);
  EXPECT_GT(report["own"]["cpu_s"], 0);
  EXPECT_FALSE(report["rows"].empty());
}

TEST_F(WatchCommand, uses_tracepoints_or_says_why_it_cannot) {
  const json report = lines_of(run("watch --seconds 0.3 --json")).at(0);
  if (report["measured_by"] == "bpf") {
    EXPECT_EQ(report["no_bpf"], "");
    EXPECT_TRUE(report["classes"].contains("programs_s"));
  } else {
    EXPECT_NE(report["no_bpf"], "");
  }
}

TEST_F(WatchCommand, without_rights_uses_counters_and_says_so) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give up its rights";
  const Outcome outcome =
      run_command("setpriv --bounding-set=-all --inh-caps=-all --reuid=65534 --clear-groups '" +
                  std::string(std::getenv("K2K_CLI")) + "' watch --seconds 0.1 2>&1");
  if (outcome.out.find("setpriv:") == 0 || outcome.status == 126 || outcome.status == 127) {
    GTEST_SKIP() << outcome.out;
  }
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_NE(outcome.out.find("no BPF: "), std::string::npos) << outcome.out;
}

TEST_F(WatchCommand, where_bpf_is_forbidden_uses_counters_and_says_so) {
  const json free_report = lines_of(run("watch --seconds 0.1 --json")).at(0);
  if (free_report["measured_by"] != "bpf") GTEST_SKIP() << free_report["no_bpf"];
  const int status = io::where_refused(SYS_bpf, EPERM, [&] {
    const json report = lines_of(run("watch --seconds 0.1 --json")).at(0);
    return report["measured_by"] == "counters" &&
                   report["no_bpf"] ==
                       "Linux refused the programs: Operation not permitted; "
                       "a container or kernel lockdown forbids bpf(2)"
               ? 0
               : 1;
  });
  EXPECT_EQ(status, 0);
}

TEST_F(WatchCommand, prints_a_line_each_interval_and_a_summary) {
  const std::vector<json> lines =
      lines_of(run("watch --no-bpf --watch --interval 0.1 --seconds 0.35 --json"));
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines.front()["event"], "interval");
  EXPECT_EQ(lines.back()["event"], "summary");
  EXPECT_GT(lines.back()["seconds"], lines.front()["seconds"]);
}

TEST_F(WatchCommand, interrupted_by_the_user_ends_with_a_whole_summary) {
  const Outcome outcome =
      run_command("timeout --foreground --signal INT 0.7 '" + std::string(std::getenv("K2K_CLI")) +
                  "' watch --no-bpf --watch --interval 0.2 --json; true");
  const std::vector<json> lines = lines_of(outcome);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back()["event"], "summary");
}

TEST_F(WatchCommand, shows_another_machines_tree_as_a_table) {
  const char* const sources = std::getenv("K2K_SOURCE_DIR");
  if (sources == nullptr) GTEST_SKIP() << "K2K_SOURCE_DIR names no sources";
  const watch::Tree tree(sources, "nvidia");
  const Outcome outcome = run("watch --seconds 0.1 --root '" + tree.path("") + "'");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_NE(outcome.out.find("on 2 cores, by counters"), std::string::npos) << outcome.out;
}

TEST_F(WatchCommand, writes_a_page_of_its_own) {
  const Outcome outcome = run("watch --seconds 0.2 --html '" + path("page.html") + "'");
  ASSERT_EQ(outcome.status, 0) << outcome.out;
  const std::string page = text_of(path("page.html"));
  EXPECT_EQ(page.find("<!doctype html>"), 0u);
  EXPECT_NE(page.find("</html>"), std::string::npos);
  EXPECT_NE(page.find("<svg"), std::string::npos);
  for (const char* other : {"http://", "https://", "<script", "src=", "@import"}) {
    EXPECT_EQ(page.find(other), std::string::npos) << other;
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);  // No draft.
}

TEST_F(WatchCommand, prints_prometheus_text) {
  const Outcome outcome = run("watch --no-bpf --seconds 0.2 --prometheus");
  ASSERT_EQ(outcome.status, 0);
  std::istringstream text(outcome.out);
  std::size_t samples = 0;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) continue;
    EXPECT_TRUE(line.starts_with("k2k_watch_")) << line;
    const std::string value = line.substr(line.rfind(' ') + 1);
    EXPECT_NO_THROW(std::stod(value)) << line;
    ++samples;
  }
  EXPECT_GT(samples, 10u);
  EXPECT_NE(outcome.out.find("k2k_watch_class_seconds_total{class=\"idle\"}"), std::string::npos);
}

TEST_F(WatchCommand, serves_prometheus_meanwhile) {
  const std::uint32_t port = control::free_port();
  Outcome outcome;
  std::thread program([&] {
    outcome = run_command("'" + std::string(std::getenv("K2K_CLI")) +
                          "' watch --no-bpf --watch --interval 0.1 --json --seconds 60 --port " +
                          std::to_string(port) + " & echo $! > '" + path("pid") + "'; wait $!");
  });
  std::string page;
  for (int attempt = 0; attempt < 300 && page.find("k2k_watch_bpf") == std::string::npos;
       ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    page = control::send_request(port, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  const int number = std::atoi(text_of(path("pid")).c_str());
  ASSERT_GT(number, 1);
  ::kill(number, SIGTERM);
  program.join();
  EXPECT_NE(page.find("200 OK"), std::string::npos) << page;
  EXPECT_NE(page.find("k2k_watch_bpf 0"), std::string::npos) << page;
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(lines_of(outcome).back()["event"], "summary");
}

TEST_F(WatchCommand, each_mistake_is_one_line) {
  std::ofstream(path("rules.toml")) << "[[rule]]\nwhere='moon'\n";
  const std::pair<std::string, std::string> mistakes[] = {
      {"--interval 0", "k2k: --interval is 0; permitted are 0.1 to 86400 seconds\n"},
      {"--seconds -1", "k2k: --seconds is -1; permitted are 0 to 86400\n"},
      {"--json --prometheus",
       "k2k: --prometheus and --json are two forms of one output; give one\n"},
      {"--rules '" + path("rules.toml") + "'",
       "k2k: " + path("rules.toml") +
           ": rule 1 has where = 'moon'; there are interrupt, driver, softirq, thread, workqueue, "
           "function\n"},
      {"--steer 0-", "k2k: --steer 0- is no list of cores such as 0-1,4\n"},
      {"--cap 99", "k2k: --cap 99 is no cap; permitted are 0.1 to 90 % of one core\n"},
      {"--cap 5 --steer 0",
       "k2k: --steer and --cap exclude each other: SCHED_DEADLINE needs threads that may use every "
       "core\n"},
      {"--undo --cap 5", "k2k: --undo excludes --steer and --cap\n"}};
  for (const auto& [arguments, said] : mistakes) {
    const Outcome outcome = run("watch " + arguments + " 2>&1");
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_EQ(outcome.out, said) << arguments;
  }
  const std::string there = "--state '" + path("state.json") + "'";
  const std::pair<std::string, std::string> failures[] = {
      {"--rules '" + path("none.toml") + "'",
       "k2k: cannot open " + path("none.toml") + ": No such file or directory\n"},
      {"--root '" + folder_ + "'",
       "k2k: cannot open " + folder_ + "/proc/stat: No such file or directory\n"},
      {"--steer 0 --part none " + there,
       "k2k: no thread serves none here; k2k watch lists the parts, and --rules adds threads\n"},
      {"--seconds 0.1 --html /dev/full",
       "k2k: cannot write /dev/full: No space left on device; name another file, or make room\n"},
      {"--seconds 0.1 --html '" + path("none/page.html") + "'",
       "k2k: cannot write " + path("none/page.html") +
           ": No such file or directory; name another file, or make room\n"},
      {"--seconds 0.1 > /dev/full",
       "k2k: cannot write to standard output: No space left on device; send it elsewhere with > "
       "FILE\n"}};
  for (const auto& [arguments, said] : failures) {
    const Outcome outcome = run("watch --no-bpf 2>&1 " + arguments);
    EXPECT_EQ(outcome.status, 1) << arguments;
    EXPECT_EQ(outcome.out, said) << arguments;
  }
}

// A process of the test's own, found by a rule of its own.
TEST_F(WatchCommand, steers_a_thread_and_undoes_it) {
  if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "steering needs two cores";
  std::filesystem::copy_file("/bin/sleep", path("k2k-sleeper"));
  std::ofstream(path("rules.toml")) << "[[rule]]\nwhere='thread'\nmatch=['k2k-sleeper']\n"
                                       "part='sleeper'\nkind='accelerator'\nprograms=true\n";
  const std::string cli = "'" + std::string(std::getenv("K2K_CLI")) + "' watch --part sleeper";
  const std::string with =
      " --rules '" + path("rules.toml") + "' --state '" + path("state.json") + "'";
  const std::string cores = "grep Cpus_allowed_list /proc/$!/status; ";
  const Outcome outcome = run_command("'" + path("k2k-sleeper") + "' 60 & sleep 0.2; " + cores +
                                      cli + " --steer 0" + with + "; " + cores + cli + " --undo" +
                                      with + "; " + cores + "kill $!; " + cli + " --undo" + with);
  std::istringstream text(outcome.out);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 7u) << outcome.out;
  EXPECT_NE(lines[1].find("k2k-sleeper (thread "), std::string::npos);
  EXPECT_NE(lines[1].find("): cores 0 instead of "), std::string::npos);
  EXPECT_EQ(lines[2].find("hard interrupts and softirqs have no thread and are not reached"), 0u);
  EXPECT_EQ(lines[3], "Cpus_allowed_list:\t0");
  EXPECT_NE(lines[4].find(" is as it was"), std::string::npos);
  EXPECT_EQ(lines[5], lines[0]);
  EXPECT_EQ(lines[6], "nothing to undo: there is no " + path("state.json"));
}

}  // namespace
}  // namespace k2k::end_to_end::watch_test
