#include "cli/arguments.hpp"

#include <algorithm>
#include <cstdint>

namespace k2k::cli {

namespace {

constexpr char operand_mark = '\0';

// The option ("--file", "-f", "-lf") that takes the next word as its value, or nullptr. In a
// cluster, the rest is the value of the first option that takes a value.
const OptionOutline* wants_next(const Path& path, const std::string& word) {
  if (word.starts_with("--")) {
    const OptionOutline* const option = find_option(path, word);
    return option != nullptr && option->takes_value ? option : nullptr;
  }
  for (std::size_t at = 1; at < word.size(); ++at) {
    const OptionOutline* const option = find_option(path, {'-', word[at]});
    if (option == nullptr) return nullptr;
    if (option->takes_value) return at + 1 == word.size() ? option : nullptr;
  }
  return nullptr;
}

// Splits "--name=value" into two words if the option takes a value.
void push_option(const Path& path, const std::string& word, std::vector<std::string>& words) {
  const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
  if (equals != std::string::npos && wants_next(path, word.substr(0, equals)) != nullptr) {
    words.push_back(word.substr(0, equals));
    words.push_back(word.substr(equals + 1));
  } else {
    words.push_back(word);
  }
}

enum class Role : std::uint8_t { value, end, option, command, operand };

// The role of the next word, which `position` moves past.
Role pass(Position& position, const std::string& word) {
  if (position.option != nullptr) {
    position.option = nullptr;
    return Role::value;
  }
  if (!position.ended && word == "--") {
    position.ended = true;
    return Role::end;
  }
  if (!position.ended && word.size() > 1 && word[0] == '-') {
    position.option = wants_next(position.path, word);
    return Role::option;
  }
  if (const CommandOutline* const command = position.path.back()->find(word)) {
    position.path.push_back(command);
    return Role::command;
  }
  return Role::operand;
}

}  // namespace

const OptionOutline* find_option(const Path& path, const std::string& name) {
  const bool is_long = name.starts_with("--");
  const std::string bare = name.substr(is_long ? 2 : 1);
  for (auto command = path.rbegin(); command != path.rend(); ++command) {
    for (const OptionOutline& option : (*command)->options) {
      const auto& names = is_long ? option.long_names : option.short_names;
      if (std::find(names.begin(), names.end(), bare) != names.end()) return &option;
    }
  }
  return nullptr;
}

std::vector<std::string> marked_arguments(const CommandOutline& root, int argc,
                                          const char* const* argv) {
  std::vector<std::string> words;
  Position position{.path = {&root}};
  for (int index = 1; index < argc; ++index) {
    const std::string word = argv[index];
    switch (pass(position, word)) {
      case Role::end:
        break;
      case Role::option:
        push_option(position.path, word, words);  // An option leaves the path as it is.
        break;
      case Role::value:
      case Role::command:
        words.push_back(word);
        break;
      case Role::operand:
        words.push_back(operand_mark + word);
        break;
    }
  }
  std::reverse(words.begin(), words.end());
  return words;
}

std::vector<std::string> leading_words(const CommandOutline& root, int argc,
                                       const char* const* argv, std::size_t most) {
  std::vector<std::string> words;
  Position position{.path = {&root}};
  for (int index = 1; index < argc && words.size() < most; ++index) {
    const Role role = pass(position, argv[index]);
    if (role == Role::end) break;
    if (role == Role::command || role == Role::operand) words.emplace_back(argv[index]);
  }
  return words;
}

Position position_behind(const CommandOutline& root, const std::vector<std::string>& words) {
  Position position{.path = {&root}};
  for (const std::string& word : words) {
    if (pass(position, word) == Role::end) break;  // Operands follow.
  }
  return position;
}

bool is_marked(const std::string& word) { return !word.empty() && word[0] == operand_mark; }

std::string without_mark(std::string word) {
  if (is_marked(word)) word.erase(0, 1);
  return word;
}

}  // namespace k2k::cli
