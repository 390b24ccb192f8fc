#pragma once
// What a sub-command is to k2k, and what k2k offers it. One file of cli/ a sub-command.
//
// A sub-command is one function that returns a Command: its texts as data, and `add`, which puts
// options on its own CommandLine and returns what to run. main.cpp lists these functions.
//
//   Command info_command() {
//     return {.name = "info", .summary = "...", .add = [](CommandLine& line, Context& context) ->
//     Run {
//       auto all = std::make_shared<bool>(false);
//       line.flag("--all", *all, "Show everything");
//       return [&context, all] { ...; return exit_ok; };
//     }};
//   }
//
// From outside cli/: bench/command and labs are programs of their own, which k2k becomes
// (guest.hpp); apps/grep is a library, because it is also a program. command.cpp includes this
// header and defines, in namespace k2k::cli, `Command grep_command()` or `Command bench_command()`;
// nothing else is needed. A program of its own (grep's main.cpp) can hand such a Command to
// run_alone().
//
// A command's own options win over those of k2k (--json, --config, ...); those are understood
// before and behind the command's name. Options are parsed first, then Run is called, so nothing of
// a Run happens on a usage error. Configuration is read when a Run asks for it.
//
// Threading: the main thread.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/command_line.hpp"
#include "runtime/settings/config.hpp"

namespace k2k::cli {

inline constexpr int exit_ok = 0;
inline constexpr int exit_failure = 1;  // The world: a missing file, a failed check.
inline constexpr int exit_usage = 2;    // The caller: unknown option, wrong setting.

struct Context;
using Run = std::function<int()>;  // Returns the exit status.

struct Example {
  std::string command;  // "k2k info --json"
  std::string says;     // "Print the device as JSON."
};

struct Command {
  std::string name;
  std::string summary;           // One line without a full stop, for k2k --help.
  std::string description = {};  // Sentences, for the manual.
  std::vector<Example> examples = {};
  std::vector<std::pair<int, std::string>> exits = {};  // Beside the usual 0, 1 and 2.
  bool has_json = false;                                // Does it heed Context::json?
  Run (*add)(CommandLine& line, Context& context) = nullptr;
  bool is_guest = false;  // A program of its own, k2k-NAME (guest.hpp), which has what is missing.
};

struct Context {
  CLI::App* root = nullptr;
  const std::vector<Command>* commands = nullptr;
  ConfigInputs inputs;  // The environment, and once parsed the flags.
  bool json = false;    // --json: one JSON object or array instead of text.
  bool color = false;   // Standard output is a terminal that wants colour (NO_COLOR, TERM).
  // What an option or positional may be, for completion in the shell.
  std::map<const CLI::Option*, Words> words;
  std::map<const CLI::Option*, Words (*)()> words_now;  // The same, where only the moment knows.

  // The configuration; also sets the library's log level. Errors: those of load_config().
  [[nodiscard]] Result<LoadedConfig> load() const;
};

// A standard descriptor that is closed is opened, so that reading or writing it fails and no file
// of ours gets its number. Before anything is opened.
void keep_standard_descriptors();

// Prints to standard output. Returns exit_ok, or exit_failure after a message if it cannot be
// written; a closed pipe ends the process quietly as SIGPIPE would.
int print(std::string_view text);

// Puts spaces where a terminal might obey: control characters of ASCII, and U+0080 to U+009F as
// UTF-8 (0xc2 and the number). For what comes from outside.
void blank_control_characters(std::string& line);

// "k2k: message" on standard error as one line without control characters; returns `status`.
int complain(const std::string& message, int status = exit_failure);
// The same for a failed load() or Runtime::create(): a wrong setting is a usage error, a system
// without memory or threads to give is not.
int complain_config(const Error& error);

// Parses and runs. Never throws.
int run(int argc, const char* const* argv, const std::vector<Command>& commands);
// A program that is one command: `grep PATTERN` instead of `k2k grep PATTERN`.
int run_alone(int argc, const char* const* argv, const Command& command);

}  // namespace k2k::cli
