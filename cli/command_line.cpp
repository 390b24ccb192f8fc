#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/command.hpp"

namespace k2k::cli {

namespace {

// CLI11 takes -1 as 2^64 - 1.
std::string not_negative(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos || text[first] != '-') return {};
  return "Value " + text + " is negative; name a number of 0 or more";
}

}  // namespace

Option& Option::type(const char* name) {
  option_->type_name(name);
  return *this;
}

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return offer(words);
}

Option& Option::within(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::offer(Words words) {
  context_->words[option_] = std::move(words);
  return *this;
}

Option& Option::offer_by(Words (*words)()) {
  context_->words_now[option_] = words;
  return *this;
}

Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::last_wins() {
  option_->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return *this;
}

Option& Option::repeated() {
  option_->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}

Option& Option::commas() {
  option_->expected(1)->delimiter(',')->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option CommandLine::option(const char* name, std::string& value, const std::string& help) {
  return {*app_->add_option(name, value, help), *context_};
}

Option CommandLine::option(const char* name, std::vector<std::string>& values,
                           const std::string& help) {
  return {*app_->add_option(name, values, help), *context_};
}

Option CommandLine::option(const char* name, double& value, const std::string& help) {
  return {*app_->add_option(name, value, help), *context_};
}

Option CommandLine::option(const char* name, std::uint32_t& value, const std::string& help) {
  return {*app_->add_option(name, value, help)->check(not_negative), *context_};
}

Option CommandLine::option(const char* name, std::uint64_t& value, const std::string& help) {
  return {*app_->add_option(name, value, help)->check(not_negative), *context_};
}

Option CommandLine::flag(const char* name, bool& value, const std::string& help) {
  return {*app_->add_flag(name, value, help), *context_};
}

CommandLine CommandLine::command(const char* name, const char* summary) {
  return {*app_->add_subcommand(name, summary), *context_};
}

void CommandLine::require_command(bool always) { app_->require_subcommand(always ? 1 : 0, 1); }

bool CommandLine::given() const { return app_->parsed(); }

namespace {

OptionOutline outline_of(const CLI::Option& option, const Context& context) {
  const auto words = context.words.find(&option);
  const auto words_now = context.words_now.find(&option);
  return {
      .short_names = option.get_snames(),
      .long_names = option.get_lnames(),
      .operand = option.nonpositional() ? "" : option.get_name(true),
      .help = option.get_description(),
      .type = option.get_type_name(),
      .takes_value = option.get_type_size() != 0 && option.get_expected_min() > 0,
      .may_take_value = option.get_type_size() != 0 && option.get_expected_max() > 0,
      .required = option.get_required(),
      .many = option.get_expected_max() > 1,
      .words = words == context.words.end() ? Words{} : words->second,
      .words_now = words_now == context.words_now.end() ? nullptr : words_now->second,
  };
}

CommandOutline outline_of(const CLI::App& app, const Context& context) {
  CommandOutline outline{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    outline.options.push_back(outline_of(*option, context));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    outline.commands.push_back(outline_of(*command, context));
  }
  return outline;
}

}  // namespace

const CommandOutline* CommandOutline::find(const std::string& command) const {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const CommandOutline& each) { return each.name == command; });
  return found == commands.end() ? nullptr : &*found;
}

CommandOutline outline_of(const Context& context) { return outline_of(*context.root, context); }

// App::help() would print the help of the running command instead.
std::string help_of(const Context& context, const std::vector<std::string>& path) {
  const CLI::App* app = context.root;
  for (const std::string& name : path) app = app->get_subcommand(name);
  return app->get_formatter()->make_help(app, app->get_name(), CLI::AppFormatMode::Normal);
}

}  // namespace k2k::cli
