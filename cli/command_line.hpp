#pragma once
// What a sub-command takes: its options, operands and sub-commands of its own.
//
// The only door to CLI11, whose header costs seconds wherever it is included: command_line.cpp and
// parser.cpp do. Each option fills a variable of the caller's, which must live until the Run has
// been called. A name is "-f,--file" for an option, "PATH" for an operand.
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

// One option or operand. A copy is the same one.
class Option {
 public:
  Option(CLI::Option& option, Context& context) : option_(&option), context_(&context) {}

  Option& type(const char* name);  // What the help calls its value: "FILE".
  Option& required();
  Option& one_of(const std::vector<std::string>& words);  // Another word is a usage error.
  Option& within(int least, int most);                    // Likewise a number outside.
  Option& offer(Words words);                             // For completion in the shell.
  Option& offer_by(Words (*words)());                     // The same, where only the moment knows.
  Option& show_default();  // The help tells the variable's value of now.
  Option& last_wins();     // May be given again.
  Option& repeated();      // May be given again: each time one value more.
  Option& commas();        // The same, and one value may be several: "a,b".
  Option& excludes(const Option& other);

 private:
  CLI::Option* option_;
  Context* context_;
};

// A copy is the same one.
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
  void require_command(bool always = true);  // One of command(); if not always, at most one.
  [[nodiscard]] bool given() const;          // Was this command on the command line?

 private:
  CLI::App* app_;
  Context* context_;
};

// The parser as data, for the manual and for completion.
struct OptionOutline {
  std::vector<std::string> short_names;  // "f", without the dash.
  std::vector<std::string> long_names;   // "file"
  std::string operand;                   // "PATH"; empty if it is an option.
  std::string help;
  std::string type;          // What the help calls its value; may be empty.
  bool takes_value = false;  // Is there always a value behind it?
  bool may_take_value = false;
  bool required = false;
  bool many = false;               // Takes several values.
  Words words;                     // What it may be.
  Words (*words_now)() = nullptr;  // More of them; nullptr if there are none.
};

struct CommandOutline {
  std::string name;
  std::string help;
  std::vector<OptionOutline> options;
  std::vector<CommandOutline> commands;

  // Nothing if there is none of that name.
  [[nodiscard]] const CommandOutline* find(const std::string& command) const;
};

CommandOutline outline_of(const Context& context);

// The help of a command by its path from k2k on, of k2k itself if that is empty. The path must
// exist.
std::string help_of(const Context& context, const std::vector<std::string>& path);

}  // namespace k2k::cli
