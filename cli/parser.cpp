// Turns arguments into one action: the parser, its help, and its error messages.
//
// Order: parse all arguments, then run. CLI11 throws; its exceptions stay inside this file.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <exception>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/complete.hpp"
#include "cli/guest.hpp"
#include "k2k/runtime.hpp"
#include "runtime/settings/nearest.hpp"

namespace k2k::cli {

namespace {

constexpr const char* configuration_group = "Configuration";

// "k2k config", or "k2k-comd" of a program whose root is called "k2k-".
std::string joined(const std::string& path, const std::string& name) {
  return path.ends_with('-') ? path + name : path + " " + name;
}

// Thirty settings would fill the help: they are shown by --help-all and `k2k help config`.
class Help : public CLI::Formatter {
 public:
  explicit Help(bool all) : all_(all) { column_width(26); }

  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    if (group == configuration_group && !all_) return "";
    return CLI::Formatter::make_group(group, is_positional, options);
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string path;
    for (const CLI::App* at = app; at != nullptr; at = at->get_parent()) {
      if (at->get_name().empty()) continue;
      path = path.empty() ? at->get_name() : joined(at->get_name(), path);
    }
    return CLI::Formatter::make_usage(app, path.empty() ? name : path);
  }

 private:
  bool all_;
};

bool wants_color() {
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

// One line of help: the description and the permitted values.
std::string help_of(const ConfigOption& option) {
  return option.kind == OptionKind::boolean
             ? std::string(option.help)
             : fmt::format("{} {}", option.help, "Permitted: " + permitted(option) + ".");
}

// The flags as given; filled by the parser, read by collect().
struct Flags {
  std::string file;
  CLI::Option* file_option = nullptr;
  std::vector<std::string> texts;
  std::vector<CLI::Option*> options;
};

std::vector<std::string> words_of(const ConfigOption& option) {
  if (option.kind == OptionKind::boolean) return {"true", "false"};
  std::vector<std::string> words;
  if (option.kind == OptionKind::choice || option.kind == OptionKind::policy)
    words = CLI::detail::split(option.words, '|');
  return words;
}

void add_configuration(CLI::App& root, Context& context, Flags& flags) {
  flags.file_option = root.add_option("--config", flags.file, "Configuration file; '' reads none")
                          ->type_name("FILE")
                          ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  const auto options = config_options();
  flags.texts.resize(options.size());
  for (std::size_t index = 0; index < options.size(); ++index) {
    const ConfigOption& option = options[index];
    std::string& text = flags.texts[index];
    CLI::Option* const added = option.kind == OptionKind::boolean
                                   ? root.add_flag(flag_name(option), text, help_of(option))
                                   : root.add_option(flag_name(option), text, help_of(option));
    added->group(configuration_group)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    if (option.kind != OptionKind::boolean) {
      added->type_name(option.kind == OptionKind::number  ? "N"
                       : option.kind == OptionKind::share ? "N%"
                                                          : "WORD");
    }
    context.words[added] = words_of(option);
    flags.options.push_back(added);
  }
}

void collect(const Flags& flags, ConfigInputs& inputs) {
  if (flags.file_option->count() > 0) inputs.file = flags.file;
  const auto options = config_options();
  for (std::size_t index = 0; index < options.size(); ++index) {
    if (flags.options[index]->count() == 0) continue;
    inputs.flags.push_back(
        {options[index].key, flags.texts[index], "flag " + flag_name(options[index])});
  }
}

// The command that was being parsed: "k2k config show".
std::pair<const CLI::App*, std::string> deepest(const CLI::App& root) {
  const CLI::App* at = &root;
  std::string path = root.get_name();
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().back();
    path = joined(path, at->get_name());
  }
  return {at, path};
}

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  const std::string near = nearest(word, known);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

std::string explain_extra(const CLI::App& root, const std::string& word) {
  const auto [app, path] = deepest(root);
  std::vector<std::string> known;
  if (!is_marked(word)) {
    const std::string name = word.substr(0, word.find('='));
    for (const CLI::App* at : {app, &root}) {
      for (const CLI::Option* option : at->get_options()) {
        for (const std::string& lname : option->get_lnames()) known.push_back("--" + lname);
      }
    }
    const std::string meant = suggestion(name, known);
    return fmt::format("unknown option '{}'{} '{} --help' lists them", name,
                       meant.empty() ? ";" : meant, path);
  }
  const std::string extra = without_mark(word);
  for (const CLI::App* sub : app->get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(sub->get_name());
  }
  if (known.empty()) {
    return fmt::format("unexpected argument '{}'; '{} --help' shows the usage", extra, path);
  }
  const std::string meant = suggestion(extra, known);
  return fmt::format("unknown command '{}'{} '{} --help' lists them", extra,
                     meant.empty() ? ";" : meant, path);
}

std::string explain(const CLI::App& root, const CLI::ParseError& error) {
  const std::vector<std::string> extras = root.remaining(true);
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  // A command that requires a sub-command would otherwise report that before the unknown word.
  if (!extras.empty() &&
      (code == CLI::ExitCodes::ExtrasError || code == CLI::ExitCodes::RequiredError)) {
    const auto option = std::find_if_not(extras.begin(), extras.end(), is_marked);
    return explain_extra(root, option == extras.end() ? extras.front() : *option);
  }
  const auto [app, path] = deepest(root);
  if (code == CLI::ExitCodes::RequiredError && app->get_require_subcommand_min() > 0) {
    return fmt::format("'{}' needs a sub-command; '{} --help' lists them", path, path);
  }
  std::string what = error.what();
  if (!what.empty() && what.size() > 1 && std::islower(static_cast<unsigned char>(what[1])) != 0) {
    what[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(what[0])));
  }
  return fmt::format("{}; '{} --help' shows the usage", what, path);
}

// Removes the mark from the operands of `app` and of its sub-commands.
void remove_marks(CLI::App& app) {
  for (CLI::Option* const option :
       app.get_options([](const CLI::Option* one) { return !one->nonpositional(); })) {
    option->transform(without_mark);
  }
  for (CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    remove_marks(*command);
  }
}

// The state of one invocation, so that `run` reads as its steps.
class Invocation {
 public:
  Invocation(const std::vector<Command>& commands, const char* name)
      : root_("GPU kernels call the operating-system kernel.", name) {
    context_.root = &root_;
    context_.commands = &commands;
    context_.inputs = process_inputs();
    context_.color = wants_color();
    root_.formatter(std::make_shared<Help>(false));
    root_.set_help_flag("-h,--help", "Print this help and exit");
    root_.set_help_all_flag("--help-all", "Print the help of every command and setting");
    root_.set_version_flag("--version",
                           fmt::format("k2k {} (protocol {})", K2K_VERSION, protocol::version),
                           "Print the version and exit");
    root_.add_flag("--json", context_.json, "Print JSON");
    root_.fallthrough();
    root_.require_subcommand(0, 1);
    root_.footer(
        "'k2k help config' lists the settings, 'k2k man COMMAND | man -l -' is the manual.");
    add_configuration(root_, context_, flags_);
    for (const Command& command : commands) {
      CLI::App* const app = root_.add_subcommand(command.name, command.summary);
      if (command.is_guest()) continue;
      CommandLine line(*app, context_);
      Run action = command.add(line, context_);
      app->final_callback([this, &command, action = std::move(action)] {
        command_ = &command;
        action_ = action;
      });
    }
    remove_marks(root_);
  }

  [[nodiscard]] const Context& context() const { return context_; }

  int parse(int argc, const char* const* argv) {
    bare_ = argc <= 1;
    try {
      root_.parse(marked_arguments(outline_of(context_), argc, argv));
    } catch (const CLI::CallForHelp&) {
      return finish(print(deepest(root_).first->help()));
    } catch (const CLI::CallForAllHelp&) {
      root_.formatter(std::make_shared<Help>(true));
      return finish(print(deepest(root_).first->help("", CLI::AppFormatMode::All)));
    } catch (const CLI::CallForVersion&) {
      return finish(print(root_.version() + "\n"));
    } catch (const CLI::ParseError& error) {
      return finish(complain(explain(root_, error), exit_usage));
    }
    collect(flags_, context_.inputs);
    return exit_ok;
  }

  int act() {
    if (finished_) return exit_ok;
    if (command_ == nullptr && bare_) return print(root_.help());
    if (command_ == nullptr) {
      return complain("no command given; 'k2k --help' lists them", exit_usage);
    }
    if (context_.json && !command_->has_json) {
      return complain(fmt::format("'k2k {}' has no JSON output; leave out --json", command_->name),
                      exit_usage);
    }
    return action_();
  }

 private:
  int finish(int status) {
    finished_ = true;
    return status;
  }

  CLI::App root_;
  Context context_;
  Flags flags_;
  const Command* command_ = nullptr;
  Run action_;
  bool finished_ = false;
  bool bare_ = false;  // No arguments at all.
};

int guarded(int argc, const char* const* argv, const std::vector<Command>& commands,
            const char* name) {
  Invocation invocation(commands, name);
  if (is_complete(argc, argv)) return complete(invocation.context(), argc, argv);
  if (const Command* const guest = guest_of(invocation.context(), argc, argv)) {
    return become_guest(*guest, argv);
  }
  const int status = invocation.parse(argc, argv);
  return status != exit_ok ? status : invocation.act();
}

}  // namespace

Result<LoadedConfig> Context::load() const { return load_config(inputs); }

namespace {

int run_as(const char* name, int argc, const char* const* argv,
           const std::vector<Command>& commands) {
  keep_standard_descriptors();
  try {
    return guarded(argc, argv, commands, name);
  } catch (const std::bad_alloc&) {
    return complain("out of memory; lower device.resident_waves or device.stack_bytes");
  } catch (const std::exception& error) {
    return complain(fmt::format("unexpected: {}; please report this", error.what()));
  }
}

int run_one(const char* name, int argc, const char* const* argv, const Command& command) {
  std::vector<const char*> arguments = {"k2k", command.name.c_str()};
  arguments.insert(arguments.end(), argv + (argc > 0 ? 1 : 0), argv + argc);
  return run_as(name, static_cast<int>(arguments.size()), arguments.data(), {command});
}

}  // namespace

int run(int argc, const char* const* argv, const std::vector<Command>& commands) {
  return run_as("k2k", argc, argv, commands);
}

int run_alone(int argc, const char* const* argv, const Command& command) {
  return run_one("k2k", argc, argv, command);
}

int run_application(int argc, const char* const* argv, const Command& command) {
  return run_one("k2k-", argc, argv, command);
}

}  // namespace k2k::cli
