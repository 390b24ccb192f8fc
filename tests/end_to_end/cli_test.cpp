// Goal: k2k prints the right text on the right stream with the right exit status, above all when it
// is used wrongly.
// Method: runs the binary named by K2K_CLI in a clean environment.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace k2k::end_to_end::cli_test {
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
    if (cli == nullptr || ::access(cli, X_OK) != 0) GTEST_SKIP() << "K2K_CLI names no program";
    cli_ = cli;
  }

  // `arguments` in shell syntax; `environment` such as "K2K_BACKEND=cpu". `redirection` such as
  // ">/dev/full" replaces the usual one. The limit ends only what hangs: `calls --verify` takes 45
  // s alone, and 100 s beside ten other programs.
  Outcome k2k(const std::string& arguments, const std::string& environment = "",
              const std::string& redirection = "") {
    const std::string command = "env -i PATH=\"$PATH\" HOME='" + folder_ + "' K2K_CLI=x " +
                                environment + " timeout 240 '" + cli_ + "' " + arguments + " >'" +
                                folder_ + "/out' 2>'" + folder_ + "/error' </dev/null " +
                                redirection;
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

// k2k finds the program of such a command beside itself, or on PATH.
TEST_F(Cli, commands_that_are_programs_are_explained_by_them) {
  for (const char* arguments :
       {"lab trace --help", "help lab trace", "--config '' lab trace --help"}) {
    const Outcome outcome = k2k(arguments);
    EXPECT_EQ(outcome.status, 0) << arguments;
    EXPECT_NE(outcome.out.find("Usage: k2k lab trace"), std::string::npos) << arguments;
  }
  EXPECT_EQ(k2k("man k2k-lab.1").out, k2k("man lab").out);
  EXPECT_NE(k2k("man lab").out.find("\\-\\-simulate"), std::string::npos);
  expect_refused("lab nonsense", "unknown command 'nonsense'; 'k2k lab --help' lists them");
}

TEST_F(Cli, names_the_package_of_a_command_that_is_not_installed) {
  const std::string whole = cli_;
  std::system(("cp '" + whole + "' '" + folder_ + "/k2k'").c_str());
  cli_ = folder_ + "/k2k";
  for (const char* arguments : {"lab governor", "help lab", "man k2k-lab"}) {
    const Outcome outcome = k2k(arguments);
    EXPECT_EQ(outcome.status, 1) << arguments;
    EXPECT_EQ(outcome.error,
              "k2k: 'k2k lab' is a program of its own, k2k-lab, and it is not installed; it is in "
              "the package k2k-lab\n");
  }
  EXPECT_EQ(k2k("man --list").out.find("k2k-lab.1"), std::string::npos);
  EXPECT_EQ(k2k("completion bash").status, 0);
  const std::string folder = whole.substr(0, whole.rfind('/'));
  EXPECT_EQ(k2k("lab --help", "PATH='" + folder + "':\"$PATH\"").status, 0);
}

TEST_F(Cli, tells_its_version) {
  const Outcome outcome = k2k("--version");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, "k2k " K2K_VERSION " (protocol 2)\n");
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

TEST_F(Cli, config_shows_the_text_of_a_policy_in_one_line) {
  const Outcome outcome = k2k("config show", "K2K_SERVER_POLICY='default = \"io\"\n[calls]\n'");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_NE(outcome.out.find("default = \"io\"\\n[calls]\\n"), std::string::npos) << outcome.out;
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

TEST_F(Cli, suggests_the_intended_word) {
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

TEST_F(Cli, refuses_unknown_words_and_wrong_values) {
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

TEST_F(Cli, names_the_build_that_has_a_backend_for_gpus) {
  const json info = json::parse(k2k("info --json").out);
  for (const std::string name : {"cuda", "hip"}) {
    if (info["backends"].dump().find(name) != std::string::npos) continue;
    const Outcome outcome = k2k("info --backend " + name);
    EXPECT_EQ(outcome.status, 2) << outcome.error;
    EXPECT_NE(outcome.error.find("there is no backend '" + name + "' in this build; backends: "),
              std::string::npos)
        << outcome.error;
    EXPECT_NE(outcome.error.find("; ./dev build --preset " + name + " has it"), std::string::npos)
        << outcome.error;
  }
  EXPECT_EQ(k2k("info --backend abacus").error.find("./dev build"), std::string::npos);
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

TEST_F(Cli, calls_are_listed_as_data) {
  const json shown = json::parse(k2k("calls --json").out);
  const json& calls = shown["calls"];
  EXPECT_EQ(calls[0]["name"], "read");
  EXPECT_EQ(calls[0]["class"], "ready");
  EXPECT_EQ(calls[0]["wrapper"]["arguments"][1], "void* buffer");
  EXPECT_EQ(shown["classes"]["calls"], calls.size());
  EXPECT_EQ(shown["linux_4_11"]["calls"], 333);
}

TEST_F(Cli, calls_are_filtered_by_family_class_and_wrapper) {
  const json shown = json::parse(k2k("calls --family scheduling --class ready --json").out);
  ASSERT_EQ(shown["calls"].size(), 3u);
  for (const json& call : shown["calls"]) {
    EXPECT_EQ(call["family"], "scheduling");
    EXPECT_EQ(call["class"], "ready");
  }
  const json wrapped = json::parse(k2k("calls --wrapped --json").out);
  for (const json& call : wrapped["calls"]) {
    EXPECT_TRUE(call["made_by"] == "wrapper" || call["made_by"] == "refused") << call;
  }
  const json basic = json::parse(k2k("calls --basic --json").out);
  EXPECT_EQ(basic["calls"].size(), 72u);
  EXPECT_GT(wrapped["calls"].size(), basic["calls"].size());
  for (const json& call : basic["calls"]) EXPECT_EQ(call["basic"], true) << call;
  const auto outcome = k2k("calls --class raedy");
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.error.find("ready"), std::string::npos) << outcome.error;
}

TEST_F(Cli, calls_of_kernels_do_what_those_of_a_thread_do) {
  // Each comparison makes a folder of its own, 8,000 in all: on ext4 that took most of the time.
  const std::string folder = ::access("/dev/shm", W_OK) == 0 ? "TMPDIR=/dev/shm" : "";
  const Outcome outcome = k2k("calls --verify --json", folder);
  const json shown = json::parse(outcome.out);
  for (const json& call : shown["calls"]) {
    EXPECT_NE(call["outcome"], "mismatched") << call;
    if (call["outcome"] == "unverifiable") {
      EXPECT_EQ(call["notes"].size(), 1u) << call;
    }
    const bool compared = call["outcome"] == "same" || call["outcome"] == "refused";
    EXPECT_EQ(call["comparisons"] > 0, compared) << call;
  }
  EXPECT_EQ(shown["ready"], shown["calls"].size());
  EXPECT_EQ(shown["mismatched"], 0);
  EXPECT_LE(shown["unverifiable"], 10);
  EXPECT_GE(shown["verified"], 281);
  EXPECT_EQ(shown["verified"].get<int>() + shown["unverifiable"].get<int>() +
                shown["without_case"].get<int>(),
            shown["ready"]);
  EXPECT_EQ(outcome.status, 0) << outcome.error;
}

TEST_F(Cli, calls_of_one_family_are_compared) {
  const json shown = json::parse(k2k("calls --verify --family scheduling --json").out);
  EXPECT_EQ(shown["ready"], 3);
  EXPECT_EQ(shown["verified"], 3);
  EXPECT_NE(shown["device"], "");
}

TEST_F(Cli, calls_of_a_gpu_need_kernels_for_one) {
  const Outcome alone = k2k("calls --gpu");
  EXPECT_EQ(alone.status, 2);
  EXPECT_EQ(alone.error, "k2k: --gpu belongs to --verify: k2k calls --verify --gpu\n");
  const Outcome none = k2k("calls --verify --gpu");
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.error.find("./dev build --preset cuda"), std::string::npos) << none.error;
}

TEST_F(Cli, every_command_says_that_its_output_cannot_be_written) {
  const std::string said = "k2k: cannot write to standard output: ";
  const std::string fix = "; send it elsewhere with > FILE\n";
  for (const char* arguments : {"",
                                "--help",
                                "--help-all",
                                "--version",
                                "info",
                                "info --json",
                                "doctor",
                                "doctor --json",
                                "calls",
                                "calls --json",
                                "config show",
                                "config show --json",
                                "config path",
                                "config explain backend",
                                "man",
                                "man --list",
                                "man k2k-info",
                                "completion bash",
                                "completion zsh",
                                "completion fish",
                                "help",
                                "help config",
                                "help info"}) {
    SCOPED_TRACE(arguments);
    const Outcome full = k2k(arguments, "", ">/dev/full");
    EXPECT_EQ(full.status, 1);
    EXPECT_EQ(full.error, said + "No space left on device" + fix);
    const Outcome closed = k2k(arguments, "", ">&-");
    EXPECT_EQ(closed.status, 1);
    EXPECT_EQ(closed.error, said + "Bad file descriptor" + fix);
  }
}

TEST_F(Cli, is_silent_about_a_closed_pipe_and_without_standard_error) {
  const std::string tail = "2>'" + folder_ + "/noise'";
  const std::string command = "bash -c \"for try in 1 2 3; do '" + cli_ + "' man " + tail +
                              " | true; done\" && test ! -s '" + folder_ + "/noise'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(k2k("inof", "", "2>&-").status, 2);
  EXPECT_EQ(k2k("info", "", "<&- 2>&-").status, 0);
}

TEST_F(Cli, prints_the_same_at_every_width_of_a_terminal) {
  for (const char* arguments : {"--help-all", "config show", "calls", "man", "help config"}) {
    const std::string usual = k2k(arguments).out;
    for (const char* columns : {"0", "1", "99999999", "-1", "wide", "''"}) {
      const Outcome outcome = k2k(arguments, std::string("COLUMNS=") + columns);
      EXPECT_EQ(outcome.out, usual) << arguments << " with COLUMNS=" << columns;
      EXPECT_EQ(outcome.error, "");
      EXPECT_EQ(outcome.status, 0);
    }
  }
}

TEST_F(Cli, refuses_files_that_are_no_configuration) {
  const std::string fix = "; fix the file or name another with --config";
  const std::string path = folder_ + "/odd";
  const auto expect_bad = [&](const std::string& message) {
    expect_refused("config show --config " + path, path + message);
    expect_refused("config show", path + message, "K2K_CONFIG='" + path + "'");
  };
  std::ofstream(path) << std::string(5 << 20, '#');
  expect_bad(": larger than 1048576 bytes" + fix);
  std::ofstream(path) << "backend" << std::string(1, '\0') << " = 'cpu'\n";
  EXPECT_EQ(k2k("info --config " + path).status, 2);
  std::ofstream(path) << "\n'\xc2\x9b\x7f\xc2\xa7' = 1\n";
  EXPECT_EQ(k2k("info --config " + path).error.find_first_of("\x9b\x7f"), std::string::npos);
  std::system(("rm '" + path + "'; mkfifo '" + path + "'").c_str());
  expect_bad(": a FIFO, socket or block device, not a configuration file" + fix);
  std::system(("rm '" + path + "'; mkdir '" + path + "'").c_str());
  expect_bad(": a directory, not a configuration file" + fix);
  EXPECT_EQ(k2k("config show --config /dev/null").status, 0);
}

TEST_F(Cli, options_end_at_two_dashes_only) {
  EXPECT_EQ(k2k("config -- show").out, k2k("config show").out);
  EXPECT_EQ(k2k("help -- info").out, k2k("help info").out);
  expect_refused("info -- -x", "unexpected argument '-x'; 'k2k info --help' shows the usage");
  expect_refused("info ++", "unexpected argument '++'; 'k2k info --help' shows the usage");
  expect_refused("completion '[zsh]'", "no completion for '[zsh]'; permitted: bash, zsh, fish");
  expect_refused("info --backend=",
                 "flag --backend: backend = ''; permitted: a name of 1 to 64 bytes");
  EXPECT_EQ(k2k("info --backend=" + std::string(65, 'x')).status, 2);
}

TEST_F(Cli, uses_no_colour_when_it_is_not_on_a_terminal) {
  for (const char* arguments : {"config show", "doctor", "calls", "help config"}) {
    EXPECT_EQ(k2k(arguments, "TERM=xterm").out.find('\x1b'), std::string::npos) << arguments;
  }
}

// The completions that each shell derives from its script.
class Completion : public Cli, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    Cli::SetUp();
    if (IsSkipped()) return;
    shell_ = GetParam();
    if (std::system(("command -v " + shell_ + " >/dev/null").c_str()) != 0) {
      GTEST_SKIP() << "there is no " << shell_ << " here";
    }
    // The scripts call the k2k of the command line.
    std::system(
        ("mkdir '" + folder_ + "/bin' && ln -s '" + cli_ + "' '" + folder_ + "/bin/k2k'").c_str());
    script_ = folder_ + "/script";
    std::ofstream(script_) << k2k("completion " + shell_).out;
  }
  // The shell's output; "failed" if it ends with an error or prints one.
  std::string shell(const std::string& arguments, const std::string& program) {
    std::ofstream(folder_ + "/program") << program;
    const std::string command = "cd '" + folder_ + "' && HOME='" + folder_ + "' PATH='" + folder_ +
                                "/bin:'\"$PATH\" " + shell_ + " " + arguments +
                                " program >words 2>noise && test ! -s noise";
    if (std::system(command.c_str()) != 0) return "failed: " + read_all(folder_ + "/noise");
    return read_all(folder_ + "/words");
  }
  // Completions of the last word, each with a space behind it.
  std::string completed(const std::string& line) {
    if (shell_ == "bash") {
      return shell("--norc", ". ./script; COMP_WORDS=(" + line +
                                 "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _k2k k2k; "
                                 "printf '%s' \"${COMPREPLY[@]/%/ }\"");
    }
    if (shell_ == "zsh") {  // The functions of zsh's completion system that the script uses.
      return shell("-f", "words=(" + line +
                             "); CURRENT=$#words; PREFIX=$words[-1]\n"
                             "offer() { for one in \"$@\"; do "
                             "[[ $one != $PREFIX* ]] || print -n -- \"$one \"; done }\n"
                             "_files() { offer * }\n"
                             "compset() { [[ $1 != -P ]] || PREFIX=${PREFIX##$~2} }\n"
                             "_describe() { offer \"${(@)offers%%:*}\" \"${(@)keys%%:*}\" }\n"
                             ". ./script\n");
    }
    return shell("--no-config", "source script; for one in (complete -C '" + line +
                                    "'); printf '%s ' (string split -f 1 \\t -- $one); end");
  }

  std::string shell_;
  std::string script_;
};

TEST_P(Completion, is_a_script_the_shell_understands) {
  EXPECT_EQ(shell("-n", read_all(script_)), "");
}

TEST_P(Completion, completes_commands_options_and_words) {
  EXPECT_EQ(completed("k2k doc"), "doctor ");
  EXPECT_EQ(completed("k2k config s"), "show ");
  EXPECT_EQ(completed("k2k --device-spin-us 5 config e"), "explain ");
  EXPECT_EQ(completed("k2k --config info con"), "config ") << "a value is no command";
  EXPECT_EQ(completed("k2k info --device-sch"), "--device-schedule ");
  EXPECT_EQ(completed("k2k info --device-schedule ro"), "round_robin ");
  EXPECT_EQ(completed("k2k config explain server.pol"), "server.policy ");
  EXPECT_EQ(completed("k2k completion z"), "zsh ");
  EXPECT_EQ(completed("k2k lab trac"), "trace ") << "a program of its own";
  EXPECT_EQ(completed("k2k lab trace --outst"), "--outstanding ");
  EXPECT_EQ(completed("k2k ctl 4711 coalesce_w"), "coalesce_window_us= ");
  EXPECT_EQ(completed("k2k ctl 4711 bottom"), "bottom_half= ") << "one completion for both values";
  if (shell_ == "bash") {  // bash splits words at an equals sign and a colon.
    EXPECT_EQ(completed("k2k lab trace poisson : 1"), "10000 ");
    EXPECT_EQ(completed("k2k ctl 4711 bottom_half = sp"), "split ");
    EXPECT_EQ(completed("k2k info --device-schedule = ro"), "round_robin ");
  } else {
    EXPECT_EQ(completed("k2k ctl 4711 bottom_half=sp"), "bottom_half=split ");
    EXPECT_EQ(completed("k2k info --device-schedule=ro"), "--device-schedule=round_robin ");
  }
}

TEST_P(Completion, leaves_everything_else_to_files) {
  std::ofstream(folder_ + "/two words.toml") << "";
  if (shell_ == "bash") {  // readline completes files where the function offers nothing.
    EXPECT_EQ(completed("k2k --config two"), "");
    EXPECT_EQ(shell("--norc", ". ./script; complete -p k2k"),
              "complete -o bashdefault -o default -F _k2k k2k\n");
  } else {
    EXPECT_EQ(completed("k2k --config two"), "two words.toml ");
  }
}

TEST_P(Completion, files_behind_an_equals_sign) {
  std::ofstream(folder_ + "/one.toml") << "";
  if (shell_ == "bash") {
    EXPECT_EQ(completed("k2k --config = on"), "");
  } else {
    EXPECT_EQ(completed("k2k --config=on"), shell_ == "fish" ? "--config=one.toml " : "one.toml ");
  }
}

TEST_F(Cli, the_completer_refuses_arguments_that_no_script_passes) {
  for (const char* arguments : {"complete", "complete tcsh 1 k2k", "complete bash 0 k2k",
                                "complete bash 3 k2k i", "complete bash x k2k i"}) {
    expect_refused(arguments, "usage: k2k complete bash|zsh|fish CURSOR WORD...");
  }
}

INSTANTIATE_TEST_SUITE_P(Shells, Completion, testing::Values("bash", "zsh", "fish"),
                         [](const auto& shell) { return std::string(shell.param); });

}  // namespace
}  // namespace k2k::end_to_end::cli_test
