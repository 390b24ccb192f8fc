// k2k config: shows every setting with its value and origin. k2k help: topics.

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/text_table.hpp"
#include "runtime/settings/nearest.hpp"

namespace k2k::cli {

namespace {

using nlohmann::ordered_json;

// Numbers and booleans are JSON numbers and booleans, for scripts.
ordered_json typed(const ConfigOption& option, const std::string& value) {
  if (option.kind == OptionKind::boolean) return value == "true";
  if (option.kind == OptionKind::number || option.kind == OptionKind::share) {
    return std::stoull(plain_value(option, value));
  }
  return value;
}

// The text of a policy has several lines.
std::string in_one_line(std::string value) {
  if (value.empty()) return "-";
  for (std::size_t at = 0; (at = value.find('\n', at)) != std::string::npos; at += 2) {
    value.replace(at, 1, "\\n");
  }
  return value;
}

int show(const Context& context) {
  const Result<LoadedConfig> loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  if (context.json) {
    ordered_json list = ordered_json::array();
    for (const Setting& setting : loaded.value().settings) {
      list.push_back({{"key", setting.key},
                      {"value", typed(*find_option(setting.key), setting.value)},
                      {"origin", setting.origin}});
    }
    return print(list.dump(2) + "\n");
  }
  std::vector<std::vector<std::string>> rows = {{"key", "value", "origin"}};
  for (const Setting& setting : loaded.value().settings) {
    rows.push_back({setting.key, in_one_line(setting.value), setting.origin});
  }
  return print(text_table(rows, context.color));
}

int path(const Context& context) {
  const std::string file = config_path(context.inputs);
  if (file.empty()) {
    return complain("no configuration file: HOME is not set; name one with --config FILE");
  }
  return print(context.json ? ordered_json{{"path", file}}.dump() + "\n" : file + "\n");
}

std::string default_of(const ConfigOption& option) {
  const std::string value = option.show(ConfigValues{}, option);
  return value.empty() ? "empty" : value;
}

int explain(const Context& context, const std::string& key) {
  const ConfigOption* const option = find_option(key);
  if (option == nullptr) {
    std::vector<std::string> known;
    for (const ConfigOption& row : config_options()) known.emplace_back(row.key);
    const std::string near = nearest(key, known);
    return complain(fmt::format("unknown key '{}';{} 'k2k config show' lists every key", key,
                                near.empty() ? "" : fmt::format(" did you mean '{}'?", near)),
                    exit_usage);
  }
  const Result<LoadedConfig> loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  const auto row = static_cast<std::size_t>(option - config_options().data());
  const Setting& setting = loaded.value().settings[row];
  const std::string key_text = option->key;
  const std::size_t dot = key_text.find('.');
  const char* const written = option->kind == OptionKind::share ? "\"5%\"" : "...";
  const std::string in_file =
      dot == std::string::npos
          ? fmt::format("{} = {}", key_text, written)
          : fmt::format("[{}] {} = {}", key_text.substr(0, dot), key_text.substr(dot + 1), written);
  if (context.json) {
    const ordered_json answer = {{"key", option->key},
                                 {"help", option->help},
                                 {"value", typed(*option, setting.value)},
                                 {"origin", setting.origin},
                                 {"default", typed(*option, option->show(ConfigValues{}, *option))},
                                 {"permitted", permitted(*option)},
                                 {"flag", flag_name(*option)},
                                 {"environment", environment_name(*option)}};
    return print(answer.dump(2) + "\n");
  }
  return print(fmt::format("{}\n\n", option->help) +
               text_table({{"value", setting.value.empty() ? "empty" : in_one_line(setting.value)},
                           {"origin", setting.origin},
                           {"default", default_of(*option)},
                           {"permitted", permitted(*option)},
                           {"flag", flag_name(*option)},
                           {"environment", environment_name(*option)},
                           {"file", in_file}},
                          false));
}

std::string settings_text(bool color) {
  std::string text =
      "Sources of settings, the strongest first: a flag before or after the command, an\n"
      "environment variable, the configuration file, the default. 'k2k config show' shows the\n"
      "source of each setting; 'k2k config path' names the file:\n\n"
      "    [device]\n    spin_us = 20\n\n";
  for (const ConfigOption& option : config_options()) {
    text += fmt::format("{}\n    {}\n    {}, {}\n    default {}; {}\n", bold(option.key, color),
                        option.help, flag_name(option), environment_name(option),
                        default_of(option), permitted(option));
  }
  text += "\nVariables that are not settings:\n\n";
  for (const OtherVariable& other : other_variables()) {
    if (!other.is_documented()) continue;
    text += fmt::format("{}\n    {}\n", bold(other.name, color), other.help);
  }
  return text;
}

int help(const Context& context, const std::vector<std::string>& topic) {
  if (topic == std::vector<std::string>{"config"}) return print(settings_text(context.color));
  const CommandOutline root = outline_of(context);
  const CommandOutline* command = &root;
  for (const std::string& word : topic) {
    const CommandOutline* const named = command->find(word);
    if (named == nullptr) {
      std::vector<std::string> known = {"config"};
      for (const CommandOutline& one : command->commands) known.push_back(one.name);
      const std::string near = nearest(word, known);
      return complain(fmt::format("no help for '{}';{} 'k2k --help' lists the commands", word,
                                  near.empty() ? "" : fmt::format(" did you mean '{}'?", near)),
                      exit_usage);
    }
    command = named;
  }
  return print(help_of(context, topic));
}

}  // namespace

Command config_command() {
  return {
      .name = "config",
      .summary = "Show the settings and the source of each",
      .description =
          "'show' lists every setting with its value and its origin: default, file, environment or "
          "flag. 'path' names the configuration file. 'explain' describes one setting.",
      .examples = {{"k2k config show", "List every setting."},
                   {"k2k config explain server.spin_us", "Its meaning and its permitted values."},
                   {"mkdir -p ~/.config/k2k && $EDITOR \"$(k2k config path)\"",
                    "Edit the configuration file."}},
      .has_json = true,
      .add = [](CommandLine& line, Context& context) -> Run {
        line.require_command();
        const CommandLine shows = line.command("show", "List key, value and origin");
        const CommandLine names = line.command("path", "Name the configuration file");
        CommandLine explains = line.command("explain", "Explain one setting");
        auto key = std::make_shared<std::string>();
        std::vector<std::string> keys;
        for (const ConfigOption& option : config_options()) keys.emplace_back(option.key);
        explains.option("KEY", *key, "Such as device.spin_us").required().offer(keys);
        return [&context, shows, names, key] {
          if (shows.given()) return show(context);
          return names.given() ? path(context) : explain(context, *key);
        };
      },
  };
}

Command help_command() {
  return {
      .name = "help",
      .summary = "Explain a command, or 'config': all settings",
      .description =
          "Prints the help of a command. 'k2k help config' lists every setting with its "
          "flag, variable, default and range.",
      .examples = {{"k2k help config", "List every setting."}},
      .add = [](CommandLine& line, Context& context) -> Run {
        auto topic = std::make_shared<std::vector<std::string>>();
        std::vector<std::string> topics;
        for (const Command& command : *context.commands) topics.push_back(command.name);
        line.option("TOPIC", *topic, "A command, or config").offer(topics);
        return [&context, topic] { return help(context, *topic); };
      },
  };
}

}  // namespace k2k::cli
