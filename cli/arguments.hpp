#pragma once
// Arguments as getopt(3) of GNU reads them, in words that CLI11 takes for nothing else.
//
// CLI11 lets "--" end a list instead of the options, "++" a sub-command, reads "[a,b]" as two words
// and "--name=" as "--name" with the next word. So each operand of a command gets a NUL in front,
// which no argument can hold, and loses it on its way into the command.
//
// Threading: the main thread.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace k2k::cli {

// Is there always a value behind this option?
bool takes_value(const CLI::Option& option);

// What CLI::App::parse() takes: the last argument first. Options end at "--".
std::vector<std::string> marked_arguments(const CLI::App& root, int argc, const char* const* argv);

bool is_marked(const std::string& word);
std::string without_mark(std::string word);

// The positionals of `app` and of the commands below it get their words without the mark.
void remove_marks(CLI::App& app);

}  // namespace k2k::cli
