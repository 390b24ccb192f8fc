#include "cli/arguments.hpp"

#include <algorithm>

namespace k2k::cli {

namespace {

constexpr char operand_mark = '\0';

// Options of k2k itself are understood behind a command.
const CLI::Option* find_option(const CLI::App& app, const std::string& name) {
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    if (const CLI::Option* const option = at->get_option_no_throw(name)) return option;
  }
  return nullptr;
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  const auto found =
      app.get_subcommands([&](const CLI::App* one) { return one->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

// "--file", "-f", "-lf": is its value the next word? In a cluster the first that takes one takes
// the rest.
bool wants_next(const CLI::App& app, const std::string& word) {
  if (word.starts_with("--")) {
    const CLI::Option* const option = find_option(app, word);
    return option != nullptr && takes_value(*option);
  }
  for (std::size_t at = 1; at < word.size(); ++at) {
    const CLI::Option* const option = find_option(app, {'-', word[at]});
    if (option == nullptr) return false;
    if (takes_value(*option)) return at + 1 == word.size();
  }
  return false;
}

// "--name=value" of an option that takes one becomes two words.
void push_option(const CLI::App& app, const std::string& word, std::vector<std::string>& words) {
  const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
  if (equals != std::string::npos && wants_next(app, word.substr(0, equals))) {
    words.push_back(word.substr(0, equals));
    words.push_back(word.substr(equals + 1));
  } else {
    words.push_back(word);
  }
}

}  // namespace

bool takes_value(const CLI::Option& option) {
  return option.get_type_size() != 0 && option.get_expected_min() > 0;
}

std::vector<std::string> marked_arguments(const CLI::App& root, int argc, const char* const* argv) {
  std::vector<std::string> words;
  const CLI::App* app = &root;
  bool ended = false;     // "--" was there.
  bool is_value = false;  // Of the option before it.
  for (int index = 1; index < argc; ++index) {
    const std::string word = argv[index];
    if (is_value) {
      words.push_back(word);
      is_value = false;
    } else if (!ended && word == "--") {
      ended = true;
    } else if (!ended && word.size() > 1 && word[0] == '-') {
      push_option(*app, word, words);
      is_value = wants_next(*app, word);
    } else if (const CLI::App* const command = find_command(*app, word)) {
      words.push_back(word);
      app = command;
    } else {
      words.push_back(operand_mark + word);
    }
  }
  std::reverse(words.begin(), words.end());
  return words;
}

bool is_marked(const std::string& word) { return !word.empty() && word[0] == operand_mark; }

std::string without_mark(std::string word) {
  if (is_marked(word)) word.erase(0, 1);
  return word;
}

void remove_marks(CLI::App& app) {
  for (CLI::Option* const option :
       app.get_options([](const CLI::Option* one) { return !one->nonpositional(); })) {
    option->transform(without_mark);
  }
  for (CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    remove_marks(*command);
  }
}

}  // namespace k2k::cli
