#pragma once
// Arguments as GNU getopt(3) reads them, in a form that CLI11 cannot misread.
//
// CLI11 lets "--" end a list instead of the options, "++" end a sub-command, reads "[a,b]" as two
// words, and "--name=" as "--name" with the next word. So each operand of a command is marked by a
// leading NUL, which no argument can contain, and loses it before the command receives it.
//
// Threading: the main thread.

#include <string>
#include <vector>

#include "cli/command_line.hpp"

namespace k2k::cli {

// The input of CLI::App::parse(): the last argument first. Options end at "--".
std::vector<std::string> marked_arguments(const CommandOutline& root, int argc,
                                          const char* const* argv);

// The first words that are neither options nor values of options, at most `most`.
std::vector<std::string> leading_words(const CommandOutline& root, int argc,
                                       const char* const* argv, std::size_t most);

using Path = std::vector<const CommandOutline*>;  // From k2k to the innermost command.

// Finds the option in the innermost command, then in those around it: k2k's options are accepted
// behind a command. `name` includes its dashes. nullptr: there is none.
const OptionOutline* find_option(const Path& path, const std::string& name);

// The possible roles of the word behind some words.
struct Position {
  Path path;                              // The commands named so far.
  const OptionOutline* option = nullptr;  // The word is the value of this option.
  bool ended = false;                     // "--" was there: the word is an operand.
};
Position position_behind(const CommandOutline& root, const std::vector<std::string>& words);

bool is_marked(const std::string& word);
std::string without_mark(std::string word);

}  // namespace k2k::cli
