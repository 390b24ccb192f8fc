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

// What the word behind some words may be.
struct Position {
  std::vector<const CommandOutline*> path;  // The commands named so far, k2k itself first.
  const OptionOutline* option = nullptr;    // The word is the value of this option.
  bool ended = false;                       // "--" was there: the word is an operand.
};
Position position_behind(const CommandOutline& root, const std::vector<std::string>& words);

bool is_marked(const std::string& word);
std::string without_mark(std::string word);

}  // namespace k2k::cli
