#pragma once
// The interface between k2k and its sub-commands. Each sub-command is one file of cli/.
//
// A sub-command is one function that returns a Command: its texts as data, and `add`, which adds
// options to its own CommandLine and returns the function to run. main.cpp lists these functions.
//
//   Command info_command() {
//     return {.name = "info", .summary = "...",
//             .add = [](CommandLine& line, Context& context) -> Run {
//       auto all = std::make_shared<bool>(false);
//       line.flag("--all", *all, "Show everything");
//       return [&context, all] { ...; return exit_ok; };
//     }};
//   }
//
// Sub-commands from other folders: bench/command and labs are programs of their own, which k2k
// executes (guest.hpp); apps/grep is a library, because it is also a program. command.cpp includes
// this header and defines, in namespace k2k::cli, `Command grep_command()` or `Command
// bench_command()`; nothing else is needed. A separate program (grep's main.cpp) passes such a
// Command to run_alone().
//
// A command's own options take precedence over k2k's options (--json, --config, ...). k2k's options
// are accepted before and behind the command's name. Options are parsed first, then Run is called,
// so a usage error runs nothing. A Run reads the configuration on demand.
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
inline constexpr int exit_failure = 1;  // An external failure: a missing file, a failed check.
inline constexpr int exit_usage = 2;    // A mistake of the caller: unknown option, wrong setting.

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
  bool has_json = false;                                // Does it observe Context::json?
  Run (*add)(CommandLine& line, Context& context) = nullptr;
  // The package of a guest: a program of its own, k2k-NAME (guest.hpp), which has the missing
  // fields. Empty: a part of this program.
  std::string guest_of_package = {};

  [[nodiscard]] bool is_guest() const { return !guest_of_package.empty(); }
};

struct Context {
  CLI::App* root = nullptr;
  const std::vector<Command>* commands = nullptr;
  ConfigInputs inputs;  // The environment and, after parsing, the flags.
  bool json = false;    // --json: one JSON object or array instead of text.
  bool color = false;   // Standard output is a terminal and permits colour (NO_COLOR, TERM).
  // The possible values of an option or operand, for completion in the shell.
  std::map<const CLI::Option*, Words> words;
  // For values that depend on the system's state: a function that lists them.
  std::map<const CLI::Option*, Words (*)()> words_now;

  // Reads the configuration; also sets the library's log level. Errors: as load_config().
  [[nodiscard]] Result<LoadedConfig> load() const;
};

// Opens every closed standard descriptor so that reads and writes on it fail, and no other file
// gets its number. Call it before any file is opened.
void keep_standard_descriptors();

// Prints to standard output. Returns exit_ok, or exit_failure after a message if the write failed;
// a closed pipe ends the process silently, as SIGPIPE would.
int print(std::string_view text);

// Replaces characters that a terminal might interpret by spaces: ASCII control characters, and
// U+0080 to U+009F in UTF-8 (0xc2 and the number). For text from other programs.
void blank_control_characters(std::string& line);

// Prints "k2k: message" on standard error as one line without control characters; returns `status`.
int complain(const std::string& message, int status = exit_failure);
// The same for a failed load() or Runtime::create(): a wrong setting is a usage error, a lack of
// memory or threads is not.
int complain_config(const Error& error);

// Parses the arguments and runs the command. Never throws.
int run(int argc, const char* const* argv, const std::vector<Command>& commands);
// A program that is one command: `grep PATTERN` instead of `k2k grep PATTERN`.
int run_alone(int argc, const char* const* argv, const Command& command);
// The same for a program that k2k does not run: its help and messages name it k2k-NAME.
int run_application(int argc, const char* const* argv, const Command& command);

}  // namespace k2k::cli
