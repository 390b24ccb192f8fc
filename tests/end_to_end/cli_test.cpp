// Goal: k2k says the right thing on the right stream with the right exit status, above all when it
// is used wrongly.
// Method: runs the binary that K2K_CLI names in a clean environment.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace {

using nlohmann::json;

struct Outcome {
  int status = -1;
  std::string out;
  std::string error;
};

std::string read_all(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Cli : public testing::Test {
 protected:
  Cli() : folder_(testing::TempDir() + "k2k_cli_" + std::to_string(getpid())) {
    std::system(("mkdir -p '" + folder_ + "'").c_str());
  }
  ~Cli() override { std::system(("rm -r '" + folder_ + "'").c_str()); }
  void SetUp() override {
    const char* const cli = std::getenv("K2K_CLI");
    if (cli == nullptr || access(cli, X_OK) != 0) GTEST_SKIP() << "K2K_CLI names no program";
    cli_ = cli;
  }

  // `arguments` as a shell would take them; `environment` such as "K2K_LOG=info".
  Outcome k2k(const std::string& arguments, const std::string& environment = "") {
    const std::string command = "env -i PATH=\"$PATH\" HOME='" + folder_ + "' K2K_CLI=x " +
                                environment + " '" + cli_ + "' " + arguments + " >'" + folder_ +
                                "/out' 2>'" + folder_ + "/error' </dev/null";
    const int status = std::system(command.c_str());
    Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_all(folder_ + "/out"),
                    read_all(folder_ + "/error")};
    return outcome;
  }
  // One line on standard error, nothing on standard output.
  void expect_refused(const std::string& arguments, const std::string& message,
                      const std::string& environment = "") {
    SCOPED_TRACE("k2k " + arguments);
    const Outcome outcome = k2k(arguments, environment);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.error, "k2k: " + message + "\n");
    EXPECT_EQ(outcome.out, "");
  }

  std::string cli_;
  std::string folder_;
};

TEST_F(Cli, tells_its_version) {
  const Outcome outcome = k2k("--version");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, "k2k " K2K_VERSION " (protocol 1)\n");
}

TEST_F(Cli, help_lists_commands_and_keeps_settings_apart) {
  for (const char* arguments : {"", "--help", "help"}) {
    const Outcome outcome = k2k(arguments);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_NE(outcome.out.find("doctor"), std::string::npos);
    EXPECT_EQ(outcome.out.find("--device-spin-us"), std::string::npos);
  }
  EXPECT_NE(k2k("--help-all").out.find("--device-spin-us"), std::string::npos);
  EXPECT_NE(k2k("help config").out.find("K2K_DEVICE_SPIN_US"), std::string::npos);
  EXPECT_NE(k2k("config show --help").out.find("Usage: k2k config show"), std::string::npos);
}

TEST_F(Cli, info_describes_the_configured_device) {
  const Outcome outcome = k2k("info --json --device-compute-units 2 --device-wave-lanes=64");
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  const json info = json::parse(outcome.out);
  EXPECT_EQ(info["device"]["compute_units"], 2);
  EXPECT_EQ(info["device"]["wave_lanes"], 64);
  const std::uint64_t items = info["device"]["resident_work_items"];
  EXPECT_EQ(info["syscall_area"]["slots_bytes"], 64 * items);
  EXPECT_GT(info["resident_bytes"], 0);
  EXPECT_EQ(k2k("info").status, 0);
}

TEST_F(Cli, global_flags_go_before_and_behind_the_command) {
  for (const char* arguments : {"--json --server-spin-us 7 config show",
                                "config --json show "
                                "--server-spin-us 7",
                                "config show --server-spin-us=7 --json"}) {
    SCOPED_TRACE(arguments);
    const Outcome outcome = k2k(arguments);
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    bool found = false;
    for (const json& setting : json::parse(outcome.out)) {
      if (setting["key"] != "server.spin_us") continue;
      EXPECT_EQ(setting["value"], 7);
      EXPECT_EQ(setting["origin"], "flag --server-spin-us");
      found = true;
    }
    EXPECT_TRUE(found);
  }
}

TEST_F(Cli, config_shows_where_a_value_came_from) {
  const std::string path = folder_ + "/settings.toml";
  std::ofstream(path) << "[device]\n\nspin_us = 9\n";
  Outcome outcome = k2k("config show", "K2K_CONFIG='" + path + "' K2K_SERVER_SPIN_US=8");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_NE(outcome.out.find("9            file " + path + ":3"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("8            environment K2K_SERVER_SPIN_US"), std::string::npos);
  EXPECT_EQ(k2k("config path").out, folder_ + "/.config/k2k/config.toml\n");
  EXPECT_EQ(k2k("config path --config x.toml").out, "x.toml\n");
  outcome = k2k("config explain device.spin_us --json");
  EXPECT_EQ(json::parse(outcome.out)["environment"], "K2K_DEVICE_SPIN_US");
}

TEST_F(Cli, suggests_what_was_meant) {
  expect_refused("inof", "unknown command 'inof'; did you mean 'info'? 'k2k --help' lists them");
  expect_refused("config shw",
                 "unknown command 'shw'; did you mean 'show'? 'k2k config --help' lists them");
  expect_refused("info --jsn",
                 "unknown option '--jsn'; did you mean '--json'? 'k2k info --help' lists them");
  expect_refused("info --device-spin-u=5",
                 "unknown option '--device-spin-u'; did you mean '--device-spin-us'? 'k2k info "
                 "--help' lists them");
  expect_refused(
      "config explain device.spin",
      "unknown key 'device.spin'; did you mean 'device.spin_us'? 'k2k config show' lists "
      "every key");
  expect_refused("man k2k-inof",
                 "no manual page 'inof'; did you mean 'k2k-info'? 'k2k man --list' lists them");
}

TEST_F(Cli, refuses_what_it_does_not_understand) {
  expect_refused("-x", "unknown option '-x'; 'k2k --help' lists them");
  expect_refused("''", "unknown command ''; 'k2k --help' lists them");
  expect_refused("info extra", "unexpected argument 'extra'; 'k2k info --help' shows the usage");
  expect_refused("config", "'k2k config' needs a sub-command; 'k2k config --help' lists them");
  expect_refused("--device-spin-us info", "no command given; 'k2k --help' lists them");
  expect_refused("completion tcsh", "no completion for 'tcsh'; permitted: bash, zsh, fish");
  expect_refused("man --json", "'k2k man' has no JSON output; leave out --json");
}

TEST_F(Cli, refuses_wrong_settings_of_every_source) {
  const std::string permitted = "permitted: a whole number from 0 to 1000000 (microseconds)";
  expect_refused("info --device-spin-us x",
                 "flag --device-spin-us: device.spin_us = 'x'; " + permitted);
  expect_refused("info", "environment K2K_DEVICE_SPIN_US: device.spin_us = 'x'; " + permitted,
                 "K2K_DEVICE_SPIN_US=x");
  expect_refused("info",
                 "environment K2K_DEVICE_SPINUS = '1': unknown variable; did you mean "
                 "'K2K_DEVICE_SPIN_US'? unset it, or see 'k2k help config'",
                 "K2K_DEVICE_SPINUS=1");
  std::ofstream(folder_ + "/bad.toml") << "[device]\nspin_us = 'x'\n";
  expect_refused("info --config " + folder_ + "/bad.toml",
                 folder_ + "/bad.toml:2: device.spin_us = 'x' has the wrong type; " + permitted);
  expect_refused("info --config /nonexistent",
                 "/nonexistent: No such file or directory; fix the file or name another with "
                 "--config");
  EXPECT_EQ(k2k("info --backend abacus").status, 2);
  EXPECT_EQ(k2k("info --server-top-halves 2").status, 2) << "more top halves than rings";
}

TEST_F(Cli, a_broken_environment_does_not_break_the_manual) {
  EXPECT_EQ(k2k("man", "K2K_NONSENSE=1").status, 0);
  EXPECT_EQ(k2k("completion bash", "K2K_NONSENSE=1").status, 0);
}

TEST_F(Cli, every_manual_page_that_is_listed_can_be_printed) {
  std::istringstream pages(k2k("man --list").out);
  int count = 0;
  for (std::string page; std::getline(pages, page); ++count) {
    const Outcome outcome = k2k("man " + page);
    EXPECT_EQ(outcome.status, 0) << page;
    for (const char* part : {".TH", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS",
                             ".SH ENVIRONMENT", ".SH FILES", ".SH EXIT STATUS", ".SH EXAMPLES"}) {
      EXPECT_NE(outcome.out.find(part), std::string::npos) << page << " lacks " << part;
    }
  }
  EXPECT_GE(count, 8);
}

TEST_F(Cli, completes_commands_options_and_words_in_bash) {
  const std::string script = folder_ + "/completion.bash";
  std::ofstream(script) << k2k("completion bash").out;
  const auto completed = [&](const std::string& words) {
    const std::string command = "bash --norc -c '. " + script + "; COMP_WORDS=(" + words +
                                "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _k2k; printf \"%s \" "
                                "\"${COMPREPLY[@]}\"' >" +
                                folder_ + "/words";
    return std::system(command.c_str()) == 0 ? read_all(folder_ + "/words") : "failed";
  };
  EXPECT_EQ(completed("k2k doc"), "doctor ");
  EXPECT_EQ(completed("k2k config s"), "show ");
  EXPECT_EQ(completed("k2k --device-spin-us 5 config e"), "explain ");
  EXPECT_EQ(completed("k2k info --device-sch"), "--device-schedule ");
  EXPECT_EQ(completed("k2k info --device-schedule r"), "round_robin random ");
  EXPECT_EQ(completed("k2k config explain server.pol"), "server.policy ");
  EXPECT_EQ(completed("k2k completion z"), "zsh ");
}

TEST_F(Cli, doctor_grades_every_check) {
  const Outcome outcome = k2k("doctor --json");
  bool failed = false;
  for (const json& check : json::parse(outcome.out)) {
    const std::string grade = check["grade"];
    EXPECT_TRUE(grade == "ok" || grade == "warn" || grade == "fail");
    EXPECT_TRUE(grade == "ok" || check["fix"] != "") << check;
    EXPECT_NE(check["why"], "") << check;
    failed = failed || grade == "fail";
  }
  EXPECT_EQ(outcome.status, failed ? 1 : 0);
}

TEST_F(Cli, calls_are_listed_as_data) {
  const json calls = json::parse(k2k("calls --json").out);
  EXPECT_EQ(calls[0]["name"], "read");
  EXPECT_EQ(calls[0]["arguments"][1], "void* buffer");
}

TEST_F(Cli, output_that_cannot_be_written_is_an_error_and_a_closed_pipe_is_silent) {
  Outcome outcome = k2k("man >/dev/full; exit $?; :");
  EXPECT_EQ(outcome.status, 1);
  const std::string tail = "2>'" + folder_ + "/noise'";
  const std::string command = "bash -c \"for try in 1 2 3; do '" + cli_ + "' man " + tail +
                              " | true; done\" && test ! -s '" + folder_ + "/noise'";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST_F(Cli, uses_no_colour_when_it_is_not_on_a_terminal) {
  for (const char* arguments : {"config show", "doctor", "calls", "help config"}) {
    EXPECT_EQ(k2k(arguments, "TERM=xterm").out.find('\x1b'), std::string::npos) << arguments;
  }
}

}  // namespace
