#pragma once
// The parameters of a sub-command: its options, operands and sub-commands of its own.
//
// Hides CLI11, because its header takes seconds to compile: only command_line.cpp and parser.cpp
// include it. Each option fills a variable of the caller, which must outlive the Run. A name is
// "-f,--file" for an option, "PATH" for an operand.
//
// Threading: the main thread.

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace k2k::cli {

struct Context;
using Words = std::vector<std::string>;

// One option or operand. Copies refer to the same option.
class Option {
 public:
  Option(CLI::Option& option, Context& context) : option_(&option), context_(&context) {}

  Option& type(const char* name);  // The name of its value in the help: "FILE".
  Option& required();
  Option& one_of(const std::vector<std::string>& words);  // Another word is a usage error.
  Option& within(int least, int most);                    // So is a number outside the range.
  Option& offer(Words words);                             // For completion in the shell.
  Option& offer_by(Words (*words)());                     // The same: lists the current values.
  Option& show_default();  // The help shows the variable's current value.
  Option& last_wins();     // May be repeated; the last value counts.
  Option& repeated();      // May be repeated; each time adds a value.
  Option& commas();        // The same, and one value may hold several: "a,b".
  Option& excludes(const Option& other);

 private:
  CLI::Option* option_;
  Context* context_;
};

// Copies refer to the same command.
class CommandLine {
 public:
  CommandLine(CLI::App& app, Context& context) : app_(&app), context_(&context) {}

  Option option(const char* name, std::string& value, const std::string& help);
  Option option(const char* name, std::vector<std::string>& values, const std::string& help);
  Option option(const char* name, double& value, const std::string& help);
  Option option(const char* name, std::uint32_t& value, const std::string& help);
  Option option(const char* name, std::uint64_t& value, const std::string& help);
  Option flag(const char* name, bool& value, const std::string& help);

  CommandLine command(const char* name, const char* summary);
  void require_command(bool always = true);  // Requires one of command(); if not always, at most
                                             // one.
  [[nodiscard]] bool given() const;          // Was this command on the command line?

 private:
  CLI::App* app_;
  Context* context_;
};

// The parser's structure as data, for the manual and for completion.
struct OptionOutline {
  std::vector<std::string> short_names;  // "f", without the dash.
  std::vector<std::string> long_names;   // "file"
  std::string operand;                   // "PATH"; empty if it is an option.
  std::string help;
  std::string type;          // The name of its value in the help; may be empty.
  bool takes_value = false;  // Is a value always required?
  bool may_take_value = false;
  bool required = false;
  bool many = false;               // Takes several values.
  Words words;                     // Possible values.
  Words (*words_now)() = nullptr;  // Lists further values; nullptr: none.
};

struct CommandOutline {
  std::string name;
  std::string help;
  std::vector<OptionOutline> options;
  std::vector<CommandOutline> commands;

  // Returns nullptr if no command has this name.
  [[nodiscard]] const CommandOutline* find(const std::string& command) const;
};

CommandOutline outline_of(const Context& context);

// The help of a command by its path below k2k; of k2k itself if the path is empty. Expects an
// existing path.
std::string help_of(const Context& context, const std::vector<std::string>& path);

}  // namespace k2k::cli
