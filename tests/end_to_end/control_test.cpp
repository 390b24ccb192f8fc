// Goal: users observe and control a running process: the command line changes how it serves, no
// request is lost by that, and the figures of k2k top and of the metrics page are true.
// Method: runtimes of this process under a load of its own, and the binary named by K2K_CLI beside
// it.

#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <thread>

#include "control/folder_fixture.hpp"
#include "control/http_fixture.hpp"
#include "device/k2k.hpp"
#include "k2k/runtime.hpp"
#include "runtime/report/metrics_page_fixture.hpp"
#include "telemetry/sampler.hpp"
#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::control_test {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

class Steered : public Program {
 protected:
  static Runtime runtime(control::ControlConfig control = {}) {
    RuntimeConfig config;
    config.device.compute_units = 1;
    config.control = control;
    auto made = Runtime::create(config);
    if (!made) throw std::runtime_error(made.error().message);
    return std::move(made).value();
  }
  [[nodiscard]] static std::string self() { return std::to_string(::getpid()); }
  [[nodiscard]] json shown(const std::string& arguments) const {
    const Outcome outcome = run(arguments + " --json");
    EXPECT_EQ(outcome.status, 0) << arguments;
    return json::parse(outcome.out, nullptr, false);
  }
  // Expects that the command fails with `status` and prints `message` on standard error.
  void expect_refused(const std::string& arguments, int status, const std::string& message) const {
    const Outcome outcome = run(arguments + " 2>&1 >/dev/null");
    EXPECT_EQ(outcome.status, status) << arguments;
    EXPECT_EQ(outcome.out, "k2k: " + message + "\n");
  }

  const control::OwnFolder own_;
  const std::string folder_ = own_.path();
};

// Work-items that read without pause until they are stopped; each answer is checked: the byte at an
// offset equals the offset.
class Load {
 public:
  static constexpr std::uint32_t items = 32;

  explicit Load(Runtime& runtime) : thread_([this, &runtime] { launch(runtime); }) {}
  ~Load() { stop(); }
  void stop() {
    stop_.store(1);
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] std::uint64_t answered() const { return answered_.load(); }
  [[nodiscard]] std::uint64_t wrong() const { return wrong_.load(); }

 private:
  void launch(Runtime& runtime) {
    std::atomic<int>* const stop = &stop_;
    std::atomic<std::uint64_t>* const answered = &answered_;
    std::atomic<std::uint64_t>* const wrong = &wrong_;
    std::FILE* const file = std::tmpfile();
    for (int byte = 0; byte < 256; ++byte) std::fputc(byte, file);
    std::fflush(file);
    const int descriptor = fileno(file);
    const auto report = runtime.launch({.groups = 1, .group_items = items}, [=] K2K_DEVICE {
      long offset = 0;
      while (stop->load(std::memory_order_relaxed) == 0) {
        unsigned char byte = 0;
        const long count = k2k::pread(k2k::work_item, descriptor, &byte, 1, offset);
        const bool right = count == 1 && byte == offset;
        (right ? answered : wrong)->fetch_add(1, std::memory_order_relaxed);
        offset = (offset + 7) % 256;
      }
    });
    if (!report) wrong_.fetch_add(1);
    std::fclose(file);
  }

  std::atomic<int> stop_{0};
  std::atomic<std::uint64_t> answered_{0};
  std::atomic<std::uint64_t> wrong_{0};
  std::thread thread_;
};

TEST_F(Steered, process_is_changed_under_load_and_no_request_is_lost) {
  Runtime runtime = Steered::runtime();
  Load load(runtime);
  const std::string ctl = "ctl " + self() + " ";
  for (const char* values :
       {"cap=2% governor=budget", "bottom_half=split coalescing=adaptive", "cap=off",
        "cap=5% bottom_half=monolithic", "coalescing=fixed coalesce_window_us=100 coalesce_max=8",
        "steering=steered cores=0", "steering=spread cores=", "cap=off coalesce_window_us=0"}) {
    const Outcome outcome = run(ctl + values);
    EXPECT_EQ(outcome.status, 0) << values;
    EXPECT_NE(outcome.out.find(" -> "), std::string::npos) << values << ": " << outcome.out;
    const std::uint64_t before = load.answered();
    for (int wait = 0; wait < 500 && load.answered() == before; ++wait) {
      std::this_thread::sleep_for(10ms);
    }
    EXPECT_GT(load.answered(), before) << "the process serves on after " << values;
  }
  load.stop();
  EXPECT_EQ(load.wrong(), 0u);
  const server::Stats stats = runtime.stats();
  EXPECT_EQ(stats.requests, load.answered()) << "each was accepted once and answered once";
  EXPECT_EQ(stats.in_flight, 0u);
}

TEST_F(Steered, change_is_shown_before_and_after_and_is_in_force) {
  Runtime runtime = Steered::runtime();
  const Outcome outcome = run("ctl " + self() + " cap=5% bottom_half=split");
  EXPECT_EQ(outcome.out, "cap: off -> 5%\nbottom_half: monolithic -> split\n");
  EXPECT_EQ(runtime.server_config().cap_permille, 50u);
  EXPECT_EQ(runtime.server_config().bottom_half, server::BottomHalfMode::split);
  EXPECT_EQ(run("ctl " + self() + " cap=5%").out, "nothing changed: the values were set already\n");
  const json all = shown("ctl " + self());
  EXPECT_EQ(all["settings"]["cap"], "5%");
  EXPECT_EQ(all["config"]["server.bottom_half"], "split");
  EXPECT_EQ(all["stats"]["governor"]["cap"], 0.05);
  EXPECT_EQ(all["pid"], ::getpid());
  const Outcome text = run("ctl " + self());
  EXPECT_NE(text.out.find("  cap                 5%\n"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("  cap in force        5 %\n"), std::string::npos) << text.out;
}

TEST_F(Steered, mistake_changes_nothing_and_names_the_permitted_values) {
  Runtime runtime = Steered::runtime();
  const std::string ctl = "ctl " + self() + " ";
  expect_refused(ctl + "cap=5% bottom_half=spilt", 2,
                 "bottom_half = 'spilt'; permitted: one of monolithic, split, staged, inline; "
                 "nothing was changed");
  expect_refused(ctl + "cap=5% govenor=auto", 2,
                 "unknown key 'govenor'; did you mean 'governor'?; permitted: cap, governor, "
                 "loss_max, tenants, top_halves, steering, cores, "
                 "coalesce_window_us, coalesce_max, coalescing, coalesce_delay_us, bottom_half, "
                 "preprocess_cores, worker_cores; "
                 "nothing was changed");
  expect_refused(ctl + "cap=5% steering=steered", 2,
                 "server.steering is steered, but server.cores names no core");
  expect_refused(ctl + "cap", 2, "'cap' is not KEY=VALUE, such as cap=5%; nothing was changed");
  expect_refused(ctl + "cap=5% cap=6%", 2, "cap is given twice; nothing was changed");
  expect_refused("ctl cap=5%", 2,
                 "cap=5% needs a process: k2k ctl PID cap=5%; 'k2k ctl' lists the processes");
  expect_refused("ctl x", 2, "'x' is not a process; use a number that 'k2k ctl' lists");
  EXPECT_EQ(runtime.server_config().cap_permille, 0u);
}

TEST_F(Steered, missing_process_and_process_without_a_runtime_have_different_messages) {
  expect_refused("ctl 4194304", 1,
                 "no process 4194304; 'k2k ctl' lists the processes that use K2K");
  const Outcome outcome = run("ctl " + self() + " 2>&1");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out.find("k2k: no K2K answers in process " + self() + " ("), 0u) << outcome.out;
  EXPECT_EQ(run("ctl").out.find("no process "), 0u);
  const Outcome top = run("top --once 2>&1");
  EXPECT_EQ(top.status, 1);
  EXPECT_EQ(top.out.find("k2k: no process "), 0u) << top.out;
  EXPECT_NE(top.out.find("start one (k2k bench throughput, say)"), std::string::npos);
  EXPECT_EQ(run("top --once 4194304 2>&1").out,
            "k2k: no process 4194304; 'k2k ctl' lists the processes that use K2K\n");
}

TEST_F(Steered, process_of_another_user_is_invisible) {
  if (::geteuid() != 0 || std::system("command -v setpriv >/dev/null") != 0) {
    GTEST_SKIP() << "needs root and setpriv (util-linux)";
  }
  Runtime runtime = Steered::runtime();
  const Outcome refused =
      run("--version >/dev/null && setpriv --reuid 65534 --regid 65534 --clear-groups '" +
          std::string(std::getenv("K2K_CLI")) + "' ctl " + self() + " cap=1% 2>&1");
  if (refused.status == 126 || refused.status == 127) {
    GTEST_SKIP() << "another user cannot run the program";
  }
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.out,
            "k2k: process " + self() +
                " belongs to root; only its owner and root have access: sudo k2k ctl " + self() +
                "\n");
  EXPECT_EQ(runtime.server_config().cap_permille, 0u);
}

TEST_F(Steered, runtimes_of_one_process_have_names_of_their_own) {
  Runtime first = Steered::runtime();
  Runtime second = Steered::runtime();
  EXPECT_EQ(run("ctl --names").out, self() + "\n" + self() + "-2\n");
  EXPECT_EQ(run("complete bash 2 k2k top " + self()).out, self() + "\n" + self() + "-2\n");
  EXPECT_EQ(shown("ctl").size(), 2u);
  expect_refused("ctl " + self() + " cap=5%", 2,
                 "process " + self() + " has 2 runtimes; name one of them: " + self() + ", " +
                     self() + "-2; nothing was changed");
  EXPECT_EQ(run("ctl " + self() + "-2 cap=5%").status, 0);
  EXPECT_EQ(first.server_config().cap_permille, 0u);
  EXPECT_EQ(second.server_config().cap_permille, 50u);
}

TEST_F(Steered, impossible_socket_is_no_failure_and_has_a_reason) {
  ::chmod(folder_.c_str(), 0755);
  Runtime runtime = Steered::runtime();
  const std::string why =
      "control: " + folder_ + " has mode 0755, so it is open to others; chmod 0700 " + folder_;
  EXPECT_EQ(runtime.stats().control.absent, why);
  const Outcome doctor = run("doctor");
  EXPECT_NE(doctor.out.find(why), std::string::npos) << doctor.out;
  Runtime without = Steered::runtime({.socket = false});
  EXPECT_EQ(without.stats().control.absent, "control.socket = false");
}

TEST_F(Steered, child_of_fork_leaves_the_parents_socket_alone) {
  Runtime runtime = Steered::runtime();
  const pid_t child = ::fork();
  if (child == 0) {
    {
      const Runtime copy = std::move(runtime);
    }  // The child's copy ends and leaves the parent's socket.
    _exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(shown("ctl " + self())["pid"], ::getpid());
}

TEST_F(Steered, top_tells_rates_as_the_kernel_and_the_ledger_see_them) {
  Runtime runtime = Steered::runtime();
  Load load(runtime);
  const json rows = shown("top --once --interval 1");
  load.stop();
  ASSERT_EQ(rows.size(), 1u);
  const json& row = rows[0];
  EXPECT_EQ(row["name"], self());
  EXPECT_GT(row["requests_per_second"], 0);
  EXPECT_GT(row["p50_us"], 0);
  EXPECT_GE(row["p99_us"], row["p50_us"]);
  EXPECT_LE(row["queue"], Load::items);
  const double ledger = row["share"];
  const double seen = row["schedstat_share"];
  EXPECT_GT(seen, 0);
  EXPECT_NEAR(ledger, seen, 0.15) << "of all cores";
  EXPECT_FALSE(row["stages"].empty());
  EXPECT_EQ(row["calls"][0]["name"], "pread");
}

TEST_F(Steered, top_without_a_terminal_prints_blocks) {
  Runtime runtime = Steered::runtime();
  const std::string blocks = folder_ + "/blocks";
  const Outcome outcome =
      run("top --interval 0.2 > '" + blocks + "' & for try in $(seq 600); do " +
          "[ \"$(grep -c REQUESTS/S '" + blocks + "')\" -ge 2 ] && break; sleep 0.1; done; " +
          "kill -INT $!; wait $!; echo $?");
  EXPECT_EQ(outcome.out, "0\n") << "k2k top ends by Ctrl-C";
  std::FILE* const file = std::fopen(blocks.c_str(), "r");
  ASSERT_NE(file, nullptr);
  std::string text(65536, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  EXPECT_NE(text.find("REQUESTS/S"), std::string::npos) << text;
  EXPECT_NE(text.rfind("REQUESTS/S"), text.find("REQUESTS/S")) << "more than one block";
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << "no sequences for a terminal";
  expect_refused("top --interval 0", 2, "--interval is 0; permitted are 0.1 to 3600 seconds");
}

// The program's output to its terminal, up to `wanted` or to the program's end.
std::string read_until(int terminal, const std::string& wanted) {
  std::string text;
  char piece[4096];
  for (int wait = 0; wait < 1000 && text.find(wanted) == std::string::npos; ++wait) {
    const ssize_t count = ::read(terminal, piece, sizeof(piece));
    if (count > 0) text.append(piece, static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EAGAIN)) break;
    if (count < 0) std::this_thread::sleep_for(10ms);
  }
  return text;
}

TEST_F(Steered, top_takes_a_terminal_over_and_gives_it_back) {
  Runtime runtime = Steered::runtime();
  const winsize small{10, 60, 0, 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &small);
  if (child == 0) {
    execl(std::getenv("K2K_CLI"), "k2k", "top", "--interval", "0.2", nullptr);
    _exit(127);
  }
  ::fcntl(terminal, F_SETFL, O_NONBLOCK);
  const std::string picture = read_until(terminal, "REQUESTS/S");
  EXPECT_NE(picture.find("\x1b[?1049h"), std::string::npos);
  EXPECT_EQ(picture.find("THROTTLED"), std::string::npos) << "cut at the width";
  const winsize large{40, 200, 0, 0};
  ASSERT_EQ(::ioctl(terminal, TIOCSWINSZ, &large), 0);
  EXPECT_NE(read_until(terminal, "THROTTLED").find("THROTTLED"), std::string::npos);
  ASSERT_EQ(::write(terminal, "\x03", 1), 1);
  EXPECT_NE(read_until(terminal, "\x1b[?1049l").find("\x1b[?25h"), std::string::npos);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  ::close(terminal);
}

TEST_F(Steered, metrics_are_on_their_page_while_the_process_serves) {
  const std::uint32_t port = control::free_port();
  {
    Runtime first = Steered::runtime({.metrics_port = port});
    Runtime second = Steered::runtime({.metrics_port = port});
    Load load(first);
    while (load.answered() < 1000) std::this_thread::sleep_for(1ms);
    const MetricsPage during = parse_metrics(control::fetch_metrics(port));
    EXPECT_EQ(during.wrong, "");
    load.stop();
    const MetricsPage page = parse_metrics(control::fetch_metrics(port));
    EXPECT_EQ(page.wrong, "");
    const auto answered = static_cast<double>(load.answered());
    EXPECT_EQ(page.samples.at("k2k_requests_total{runtime=\"1\"}"), answered);
    EXPECT_EQ(page.samples.at("k2k_requests_total{runtime=\"2\"}"), 0);
    // Each service thread measures one call in a stride.
    constexpr double strides = 16.0 * telemetry::Sampler::stride;
    EXPECT_NEAR(page.samples.at("k2k_call_latency_seconds_count{runtime=\"1\",call=\"pread\"}"),
                answered, strides);
    EXPECT_LE(during.samples.at("k2k_requests_total{runtime=\"1\"}"), answered);
  }
  EXPECT_EQ(control::fetch_metrics(port), "") << "the page ends with its runtimes";
}

TEST_F(Steered, port_of_metrics_in_use_is_a_clear_refusal) {
  const std::uint32_t port = control::free_port();
  Runtime first = Steered::runtime({.metrics_port = port});
  const Outcome outcome = run("info --metrics-port " + std::to_string(port) + " 2>&1");
  EXPECT_EQ(outcome.status, 2);
  const std::string number = std::to_string(port);
  EXPECT_EQ(outcome.out, "k2k: metrics.port is " + number + ": 127.0.0.1:" + number +
                             ": Address already in use; choose another port, or 0 for none\n");
}

// A separate program, as a user runs it.
TEST_F(Steered, benchmark_is_seen_and_capped_while_it_runs) {
  const std::string cli = std::getenv("K2K_CLI");
  const Outcome outcome = run("lab governor --policy none --seconds 3 --json > '" + folder_ +
                              "/row' & pid=$(for i in $(seq "
                              "200); do n=$('" +
                              cli +
                              "' ctl --names | head -1); [ -n \"$n\" ] && echo $n && break; sleep "
                              "0.05; done); '" +
                              cli + "' ctl $pid governor=budget cap=3%; '" + cli +
                              "' top $pid --once --interval 0.5 --json; wait $!; echo $?");
  EXPECT_NE(outcome.out.find("cap: off -> 3%\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\"cap\":0.03"), std::string::npos) << outcome.out;
  EXPECT_TRUE(outcome.out.ends_with("\n0\n")) << outcome.out;
}

}  // namespace
}  // namespace k2k::end_to_end::control_test
