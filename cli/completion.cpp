// k2k completion: what a shell needs to complete k2k, made from the parser.
//
// Each script is a table of the commands ("", "info", "config show") with their options, their
// sub-commands and the words an option or positional may be; everything else completes to files.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "cli/commands.hpp"
#include "cli/guest.hpp"
#include "cli/outline_json.hpp"

namespace k2k::cli {

namespace {

struct Offer {
  std::string name;  // "--json", "show"
  std::string says;
  bool takes_value = false;
  std::vector<std::string> words;
};

// One command and what may follow it.
struct Place {
  std::string path;  // "" for k2k itself.
  std::vector<Offer> options;
  std::vector<Offer> children;
  std::vector<std::string> words;  // Of its positionals.
  std::string word_command;        // Prints more of them; "" if there is none.
};

void collect(const CommandOutline& command, const std::string& path, std::vector<Place>& places) {
  Place place;
  place.path = path;
  for (const OptionOutline& option : command.options) {
    if (!option.operand.empty()) {
      place.words.insert(place.words.end(), option.words.begin(), option.words.end());
      if (!option.word_command.empty()) place.word_command = option.word_command;
      continue;
    }
    for (const std::string& name : option.long_names) {
      place.options.push_back({"--" + name, option.help, option.takes_value, option.words});
    }
    for (const std::string& name : option.short_names) {
      place.options.push_back({"-" + name, option.help, option.takes_value, option.words});
    }
  }
  for (const CommandOutline& child : command.commands) {
    place.children.push_back({child.name, child.help, false, {}});
  }
  places.push_back(std::move(place));
  for (const CommandOutline& child : command.commands) {
    collect(child, path.empty() ? child.name : path + " " + child.name, places);
  }
}

// Between single quotes of any of the three shells.
std::string shell_quoted(std::string_view text, bool fish = false) {
  std::string out = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      out += fish ? "\\'" : "'\\''";
    } else if (letter == '\\' && fish) {
      out += "\\\\";
    } else {
      out += letter;
    }
  }
  return out + "'";
}

// What a program of its own says of its command; as it was where there is no such program.
void ask_guest(CommandOutline& command) {
  const auto program = find_guest(command.name);
  if (!program) return;
  std::FILE* const answer =
      ::popen((shell_quoted(*program) + " completion outline 2>/dev/null").c_str(), "re");
  if (answer == nullptr) return;
  std::string text;
  char piece[4096];
  while (const std::size_t count = std::fread(piece, 1, sizeof piece, answer)) {
    text.append(piece, count);
  }
  ::pclose(answer);
  if (auto outline = outline_from(text)) command = *std::move(outline);
}

std::vector<Place> all_places(const Context& context) {
  CommandOutline root = outline_of(context);
  for (const Command& command : *context.commands) {
    const auto named = [&](const CommandOutline& one) { return one.name == command.name; };
    const auto found = std::find_if(root.commands.begin(), root.commands.end(), named);
    if (command.is_guest && found != root.commands.end()) ask_guest(*found);
  }
  std::vector<Place> places;
  collect(root, "", places);
  return places;
}

std::string joined(const std::vector<std::string>& words, const char* separator = " ") {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string names(const std::vector<Offer>& offers) {
  std::string text;
  for (const Offer& offer : offers) text += (text.empty() ? "" : " ") + offer.name;
  return text;
}

// Options of k2k itself that take a value: the word behind them is no command.
std::vector<std::string> value_options(const std::vector<Place>& places) {
  std::vector<std::string> options;
  for (const Offer& option : places.front().options) {
    if (option.takes_value) options.push_back(option.name);
  }
  return options;
}

// 'info', 'config show': quoted for every shell, without k2k itself.
std::vector<std::string> known_paths(const std::vector<Place>& places) {
  std::vector<std::string> paths;
  for (const Place& place : places) {
    if (!place.path.empty()) paths.push_back(shell_quoted(place.path));
  }
  return paths;
}

// "governor=none", "governor=auto": the values behind each key.
std::map<std::string, std::vector<std::string>> values_by_key(const Place& place) {
  std::map<std::string, std::vector<std::string>> values;
  for (const std::string& word : place.words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals + 1 == word.size()) continue;
    values[word.substr(0, equals)].push_back(word.substr(equals + 1));
  }
  return values;
}

// Lines "  place:option) complete; return ;;" of the options that take a value, for bash and zsh.
// `complete` makes a command of the words that are permitted; "" = a file.
std::string value_cases(const std::vector<Place>& places,
                        std::string (*complete)(const std::string& words)) {
  std::string text;
  for (const Place& place : places) {
    const std::string path = place.path.empty() ? "*" : shell_quoted(place.path);
    for (const Offer& option : place.options) {
      if (!option.takes_value) continue;
      text += fmt::format("    {}:{}) {}; return ;;\n", path, option.name,
                          complete(joined(option.words)));
    }
  }
  return text;
}

std::string bash(const Context& context) {
  const std::vector<Place> places = all_places(context);
  std::string script = fmt::format(
      "# bash completion for k2k {}; made by 'k2k completion bash'.\n"
      "_k2k() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" previous=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  local path=\"\" next=\"\" options=\"\" words=\"\" index\n"
      "  COMPREPLY=()\n"
      "  if [[ $current == \"=\" ]]; then current=\"\"; fi\n"
      "  if [[ $previous == \"=\" && COMP_CWORD -ge 2 ]]; then "
      "previous=\"${{COMP_WORDS[COMP_CWORD-2]}}\"; fi\n"
      "  for ((index = 1; index < COMP_CWORD; ++index)); do\n"
      "    case \"${{COMP_WORDS[index]}}\" in\n"
      "      {}) ((++index)); continue ;;\n"
      "    esac\n"
      "    next=\"${{path:+$path }}${{COMP_WORDS[index]}}\"\n"
      "    case \"$next\" in\n"
      "      {}) path=\"$next\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$path:$previous\" in\n",
      K2K_VERSION, joined(value_options(places), "|"), joined(known_paths(places), "|"));
  script += value_cases(places, [](const std::string& words) {
    return words.empty()
               ? "mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); "
                 "compopt -o filenames 2>/dev/null"
               : fmt::format("COMPREPLY=($(compgen -W {} -- \"$current\"))", shell_quoted(words));
  });
  // For bash, "=" ends a word.
  for (const Place& place : places) {
    for (const auto& [key, values] : values_by_key(place)) {
      script += fmt::format("    {}:{}) COMPREPLY=($(compgen -W {} -- \"$current\")); return ;;\n",
                            shell_quoted(place.path), key, shell_quoted(joined(values)));
    }
  }
  script += "  esac\n  case \"$path\" in\n";
  for (const Place& place : places) {
    std::string words = names(place.children);
    for (const std::string& word : place.words) words += (words.empty() ? "" : " ") + word;
    std::string options = names(place.options);
    if (!place.path.empty()) options += " " + names(places.front().options);
    const std::string more =
        place.word_command.empty()
            ? ""
            : fmt::format("; words+=\" $({} 2>/dev/null)\"", place.word_command);
    script += fmt::format("    {}) options={}; words={}{} ;;\n", shell_quoted(place.path),
                          shell_quoted(options), shell_quoted(words), more);
  }
  return script +
         "  esac\n"
         "  if [[ $current == -* ]]; then words=\"$options\"; fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o bashdefault -o default -F _k2k k2k\n";
}

// For _describe: 'name:what it does', colons of the text escaped.
std::string described(const std::vector<Offer>& offers) {
  std::string text;
  for (const Offer& offer : offers) {
    std::string says;
    for (const char letter : offer.says)
      says += letter == ':' ? std::string("\\:") : std::string(1, letter);
    text += " " + shell_quoted(offer.name + ":" + says);
  }
  return text;
}

std::string zsh(const Context& context) {
  const std::vector<Place> places = all_places(context);
  std::string script = fmt::format(
      "#compdef k2k\n"
      "# zsh completion for k2k {}; made by 'k2k completion zsh'.\n"
      "_k2k() {{\n"
      "  local place=\"\" next=\"\" previous=\"${{words[CURRENT-1]}}\"\n"
      "  local -i index\n"
      "  local -a options children\n"
      "  for ((index = 2; index < CURRENT; ++index)); do\n"
      "    case \"${{words[index]}}\" in\n"
      "      {}) ((++index)); continue ;;\n"
      "    esac\n"
      "    next=\"${{place:+$place }}${{words[index]}}\"\n"
      "    case \"$next\" in\n"
      "      {}) place=\"$next\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$place:$previous\" in\n",
      K2K_VERSION, joined(value_options(places), "|"), joined(known_paths(places), "|"));
  script += value_cases(places, [](const std::string& words) {
    return words.empty() ? "_files" : "compadd -- " + words;
  });
  script += fmt::format("  esac\n  options=({})\n  case \"$place\" in\n",
                        described(places.front().options));
  for (const Place& place : places) {
    std::vector<Offer> children = place.children;
    for (const std::string& word : place.words) children.push_back({word, word, false, {}});
    const std::string more =
        place.word_command.empty()
            ? ""
            : fmt::format(" ${{(f)\"$({} 2>/dev/null)\"}}", place.word_command);
    script += fmt::format(
        "    {}) children=({}{}){} ;;\n", shell_quoted(place.path), described(children), more,
        place.path.empty() ? "" : fmt::format("; options+=({})", described(place.options)));
  }
  return script +
         "  esac\n"
         "  if [[ $PREFIX == -* ]]; then\n"
         "    _describe option options\n"
         "  elif (( ${#children} )); then\n"
         "    _describe word children\n"
         "  else\n"
         "    _files\n"
         "  fi\n"
         "}\n"
         "_k2k \"$@\"\n";
}

std::string fish(const Context& context) {
  const std::vector<Place> places = all_places(context);
  std::string script = fmt::format(
      "# fish completion for k2k {}; made by 'k2k completion fish'.\n"
      "function __k2k_at --argument-names place\n"
      "  set -l path ''\n"
      "  set -l previous ''\n"
      "  for word in (commandline -opc)[2..]\n"
      "    set -l next (string trim -- \"$path $word\")\n"
      "    if not contains -- \"$previous\" {}; and contains -- \"$next\" {}\n"
      "      set path \"$next\"\n"
      "    end\n"
      "    set previous \"$word\"\n"
      "  end\n"
      "  test \"$path\" = \"$place\"\n"
      "end\n",
      K2K_VERSION, joined(value_options(places)), joined(known_paths(places)));
  for (const Place& place : places) {
    const std::string condition = fmt::format("-n \"__k2k_at {}\"", shell_quoted(place.path, true));
    for (const Offer& child : place.children) {
      script += fmt::format("complete -c k2k -f {} -a {} -d {}\n", condition, child.name,
                            shell_quoted(child.says, true));
    }
    if (!place.words.empty()) {
      script += fmt::format("complete -c k2k -f {} -a {}\n", condition,
                            shell_quoted(joined(place.words), true));
    }
    if (!place.word_command.empty()) {
      script += fmt::format("complete -c k2k -f {} -a {}\n", condition,
                            shell_quoted("(" + place.word_command + " 2>/dev/null)", true));
    }
    for (const Offer& option : place.options) {
      const bool is_long = option.name.starts_with("--");
      script += fmt::format("complete -c k2k{} {} {} -d {}{}\n",
                            place.path.empty() ? "" : " " + condition, is_long ? "-l" : "-s",
                            option.name.substr(is_long ? 2 : 1), shell_quoted(option.says, true),
                            !option.takes_value ? ""
                            : option.words.empty()
                                ? " -r"
                                : " -x -a " + shell_quoted(joined(option.words), true));
    }
  }
  return script;
}

std::string outline_text(const Context& context) {
  const CommandOutline root = outline_of(context);
  return to_json_text(*root.find(context.commands->front().name));
}

}  // namespace

Command completion_command() {
  return {
      .name = "completion",
      .summary = "Print the completion script of a shell",
      .description =
          "Prints a script that completes commands, options and their values, made from the parser "
          "that k2k itself uses.",
      .examples = {{"source <(k2k completion bash)", "For this bash."},
                   {"k2k completion zsh > \"${fpath[1]}/_k2k\"", "For every zsh."},
                   {"k2k completion fish > ~/.config/fish/completions/k2k.fish",
                    "For every fish."}},
      .add = [](CommandLine& line, Context& context) -> Run {
        auto shell = std::make_shared<std::string>();
        line.option("SHELL", *shell, "bash, zsh or fish").required().offer({"bash", "zsh", "fish"});
        return [&context, shell] {
          if (*shell == "bash") return print(bash(context));
          if (*shell == "zsh") return print(zsh(context));
          if (*shell == "fish") return print(fish(context));
          // For k2k, of which this program is a command.
          if (*shell == "outline") return print(outline_text(context));
          return complain(fmt::format("no completion for '{}'; permitted: bash, zsh, fish", *shell),
                          exit_usage);
        };
      },
  };
}

}  // namespace k2k::cli
