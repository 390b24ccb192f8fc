#include "cli/complete.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/arguments.hpp"
#include "cli/guest.hpp"

namespace k2k::cli {

namespace {

constexpr int first_word = 4;  // k2k complete SHELL CURSOR WORD...

// The shell's rules for splitting words and for reading the candidates.
enum class Shell { bash, zsh, fish };

struct Candidate {
  std::string word;
  std::string help = {};
};
using Candidates = std::vector<Candidate>;

struct Line {
  Words before;         // Without the program's name.
  std::string current;  // The typed part of the word to complete.
};

// bash ends words at "=" and ":" too (COMP_WORDBREAKS): joins "a", "=", "b" to "a=b".
constexpr std::string_view bash_breaks = "=:";

bool is_break(std::string_view word) {
  return !word.empty() && word.find_first_not_of(bash_breaks) == std::string_view::npos;
}

Words joined_at_breaks(const Words& split) {
  Words words;
  bool glued = false;
  for (const std::string& word : split) {
    const bool breaks = is_break(word);
    if ((breaks || glued) && !words.empty()) {
      words.back() += word;
    } else {
      words.push_back(word);
    }
    glued = breaks;
  }
  return words;
}

Line line_of(Shell shell, std::size_t cursor, Words words) {
  words.resize(cursor + 1);  // Words behind the cursor do not count.
  words.erase(words.begin());
  if (shell == Shell::bash) words = joined_at_breaks(words);
  Line line;
  if (!words.empty()) {
    line.current = std::move(words.back());
    words.pop_back();
  }
  line.before = std::move(words);
  return line;
}

Words words_of(const OptionOutline& option) {
  Words words = option.words;
  if (option.words_now != nullptr) {
    for (std::string& word : option.words_now()) words.push_back(std::move(word));
  }
  return words;
}

// The options of the command and of the commands around it, which it accepts too.
Candidates option_names(const Position& position) {
  Candidates found;
  for (auto command = position.path.rbegin(); command != position.path.rend(); ++command) {
    for (const OptionOutline& option : (*command)->options) {
      for (const std::string& name : option.long_names) found.push_back({"--" + name, option.help});
      for (const std::string& name : option.short_names) found.push_back({"-" + name, option.help});
    }
  }
  return found;
}

// "--name=value"; empty if no such option has a list of words.
Candidates assigned_values(const Position& position, const std::string& name) {
  Candidates found;
  const OptionOutline* const option = find_option(position.path, name);
  if (option == nullptr) return found;
  for (const std::string& word : words_of(*option)) found.push_back({name + "=" + word});
  return found;
}

// Sub-commands and operands. Of KEY=VALUE the key is offered first, then its values.
Candidates operands(const CommandOutline& command, const std::string& current) {
  Candidates found;
  for (const CommandOutline& child : command.commands) found.push_back({child.name, child.help});
  const bool has_key = current.find('=') != std::string::npos;
  for (const OptionOutline& option : command.options) {
    if (option.operand.empty()) continue;
    for (std::string& word : words_of(option)) {
      const std::size_t equals = word.find('=');
      if (!has_key && equals != std::string::npos) word.resize(equals + 1);
      if (found.empty() || found.back().word != word) found.push_back({std::move(word)});
    }
  }
  return found;
}

Candidates candidates(const CommandOutline& root, const Line& line) {
  const Position position = position_behind(root, line.before);
  if (position.option != nullptr) {
    Candidates found;
    for (const std::string& word : words_of(*position.option)) found.push_back({word});
    return found;
  }
  const std::size_t equals = line.current.find('=');
  if (!position.ended && line.current.starts_with("--") && equals != std::string::npos) {
    return assigned_values(position, line.current.substr(0, equals));
  }
  if (!position.ended && line.current.starts_with("-")) return option_names(position);
  return operands(*position.path.back(), line.current);
}

// bash replaces the text behind the last break, and filters nothing. The other shells compare the
// whole word themselves, by their users' rules.
std::string for_bash(const Candidates& found, const std::string& current) {
  const std::size_t kept = current.find_last_of(bash_breaks) + 1;  // 0 if there is none.
  std::string text;
  for (const Candidate& one : found) {
    if (!one.word.starts_with(current) || one.word.size() == kept) continue;
    text += one.word.substr(kept) + "\n";
  }
  return text;
}

// For zsh's _describe: "name:summary", with the name's colons escaped.
std::string for_zsh(const Candidates& found) {
  std::string text;
  for (const Candidate& one : found) {
    for (const char letter : one.word) {
      if (letter == ':') text += '\\';
      text += letter;
    }
    text += one.help.empty() ? "\n" : ":" + one.help + "\n";
  }
  return text;
}

std::string for_fish(const Candidates& found) {
  std::string text;
  for (const Candidate& one : found) {
    text += one.word + (one.help.empty() ? "\n" : "\t" + one.help + "\n");
  }
  return text;
}

const Command* guest_of(const Context& context, const Line& line) {
  std::vector<const char*> arguments = {"k2k"};
  for (const std::string& word : line.before) arguments.push_back(word.c_str());
  return guest_of(context, static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace

bool is_complete(int argc, const char* const* argv) {
  return argc > 1 && std::string_view(argv[1]) == "complete";
}

int complete(const Context& context, int argc, const char* const* argv) {
  const Words arguments(argv, argv + argc);
  const std::string_view shells[] = {"bash", "zsh", "fish"};
  const auto named =
      argc > 2 ? std::find(std::begin(shells), std::end(shells), arguments[2]) : std::end(shells);
  std::size_t cursor = 0;
  if (argc > 3) std::from_chars(argv[3], argv[3] + arguments[3].size(), cursor);
  if (named == std::end(shells) || argc <= first_word || cursor == 0 ||
      cursor > static_cast<std::size_t>(argc - first_word)) {
    return complain("usage: k2k complete bash|zsh|fish CURSOR WORD...", exit_usage);
  }
  const auto shell = static_cast<Shell>(named - std::begin(shells));
  const Line line = line_of(shell, cursor, {arguments.begin() + first_word, arguments.end()});
  if (const Command* const guest = guest_of(context, line)) return become_guest(*guest, argv);
  const Candidates found = candidates(outline_of(context), line);
  if (shell == Shell::bash) return print(for_bash(found, line.current));
  return print(shell == Shell::zsh ? for_zsh(found) : for_fish(found));
}

}  // namespace k2k::cli
