// k2k man: the manual, made from the parser, so that it cannot differ from the accepted arguments.
//
// Pages: k2k.1 and one per command (k2k-info.1). Roff of the man macros, see man(7). help2man(1)
// does not replace this file: it sees only --help, which has no description, variables, exit status
// or examples, and it names the page of each sub-command K2K(1).

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.hpp"
#include "cli/guest.hpp"
#include "runtime/settings/nearest.hpp"

namespace k2k::cli {

namespace {

// Text that roff prints as it is.
std::string roff(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (const char letter : text) {
    if (line_start && (letter == '.' || letter == '\'')) out += "\\&";
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += "\\-";
    } else {
      out += letter;
    }
    line_start = letter == '\n';
  }
  return out;
}

std::string section(std::string_view title, const std::string& body) {
  return body.empty() ? "" : fmt::format(".SH {}\n{}", title, body);
}

std::string item(const std::string& term, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", term, roff(text));
}

// \fB--json\fR, \fB--config\fR \fIFILE\fR
std::string option_term(const OptionOutline& option) {
  std::string names;
  const auto add = [&](const std::string& name) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
  };
  for (const std::string& name : option.short_names) add("-" + name);
  for (const std::string& name : option.long_names) add("--" + name);
  if (!option.operand.empty()) return fmt::format("\\fI{}\\fR", roff(option.operand));
  const bool shows_value = option.may_take_value && !option.type.empty();
  return shows_value ? fmt::format("{} \\fI{}\\fR", names, roff(option.type)) : names;
}

std::string options_of(const CommandOutline& command) {
  std::string text;
  for (const OptionOutline& option : command.options) {
    text += item(option_term(option), option.help);
  }
  return text;
}

std::string synopsis_of(const CommandOutline& command, const std::string& path) {
  std::string line = fmt::format(".B {}\n", roff(path));
  const auto is_option = [](const OptionOutline& option) { return option.operand.empty(); };
  if (std::any_of(command.options.begin(), command.options.end(), is_option)) {
    line += "[\\fIOPTION\\fR]...\n";
  }
  for (const OptionOutline& option : command.options) {
    if (is_option(option)) continue;
    const std::string name = fmt::format("\\fI{}\\fR", roff(option.operand));
    line += (option.required ? name : "[" + name + "]") + (option.many ? "...\n" : "\n");
  }
  return line;
}

std::string title(const std::string& name) {
  std::string upper = name;
  for (char& letter : upper) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return fmt::format(".TH \"{}\" 1 \"\" \"k2k {}\" \"K2K manual\"\n", roff(upper), K2K_VERSION);
}

std::string examples_of(const std::vector<Example>& examples) {
  std::string text;
  for (const Example& example : examples) {
    text += item(fmt::format("\\fB{}\\fR", roff(example.command)), example.says);
  }
  return text;
}

std::string exits_of(const std::vector<std::pair<int, std::string>>& own) {
  std::vector<std::pair<int, std::string>> exits = {
      {exit_ok, "Success."},
      {exit_failure,
       "Something failed; one line on standard error names the cause and the remedy."},
      {exit_usage, "The command line or a setting is wrong."}};
  for (const auto& [status, text] : own) {
    const bool replaces = status >= 0 && static_cast<std::size_t>(status) < exits.size();
    if (replaces) {
      exits[static_cast<std::size_t>(status)].second = text;
    } else {
      exits.emplace_back(status, text);
    }
  }
  std::string text;
  for (const auto& [status, says] : exits) text += item(std::to_string(status), says);
  return text;
}

std::string environment() {
  std::string text;
  for (const OtherVariable& other : other_variables()) {
    if (other.is_documented()) text += item(fmt::format("\\fB{}\\fR", other.name), other.help);
  }
  for (const ConfigOption& option : config_options()) {
    text += item(fmt::format("\\fB{}\\fR", environment_name(option)),
                 fmt::format("{} Permitted: {}.", option.help, permitted(option)));
  }
  return text + item("\\fBNO_COLOR\\fR", "No colour on a terminal if set and not empty.");
}

std::string files() {
  return item("\\fI$XDG_CONFIG_HOME/k2k/config.toml\\fR",
              "Settings; ~/.config/k2k/config.toml where XDG_CONFIG_HOME is not set.");
}

std::string see_also(const Context& context, std::string_view but) {
  std::string text = but == "k2k" ? "" : "\\fBk2k\\fR(1)";
  for (const Command& command : *context.commands) {
    const std::string name = "k2k-" + command.name;
    if (name == but) continue;
    text += fmt::format("{}\\fB{}\\fR(1)", text.empty() ? "" : ",\n", roff(name));
  }
  return text + "\n";
}

std::string main_page(const Context& context) {
  std::string commands;
  std::vector<Example> examples;
  for (const Command& command : *context.commands) {
    commands += item(fmt::format("\\fB{}\\fR", roff(command.name)), command.summary + ".");
    if (!command.examples.empty()) examples.push_back(command.examples.front());
  }
  return title("k2k") +
         section("NAME", "k2k \\- GPU kernels call the operating\\-system kernel\n") +
         section("SYNOPSIS",
                 ".B k2k\n[\\fIOPTION\\fR]...\n\\fICOMMAND\\fR\n[\\fIARGUMENT\\fR]...\n") +
         section("DESCRIPTION",
                 roff("Device code makes system calls through slots in memory that device and host "
                      "share; host threads serve the requests. k2k shows the device and the "
                      "settings, examines the machine, and runs programs whose kernels make the "
                      "calls.\n")) +
         section("COMMANDS", commands) +
         section("OPTIONS", roff("Accepted before and after the command.\n") +
                                options_of(outline_of(context))) +
         section("ENVIRONMENT", roff("A flag overrides a variable; a variable overrides the file. "
                                     "An unknown K2K_ variable is an error.\n") +
                                    environment()) +
         section("FILES", files()) + section("EXIT STATUS", exits_of({})) +
         section("EXAMPLES", examples_of(examples)) + section("SEE ALSO", see_also(context, "k2k"));
}

std::string command_page(const Context& context, const Command& command) {
  const CommandOutline root = outline_of(context);
  const CommandOutline& outline = *root.find(command.name);
  const std::string name = "k2k-" + command.name;
  const std::string path = "k2k " + command.name;
  std::string synopsis = outline.commands.empty() ? synopsis_of(outline, path) : "";
  std::string options = options_of(outline);
  for (const CommandOutline& child : outline.commands) {
    synopsis += (synopsis.empty() ? "" : ".br\n") + synopsis_of(child, path + " " + child.name);
    options += fmt::format(".SS {} {}\n{}\n", roff(command.name), roff(child.name),
                           roff(child.help + ".")) +
               options_of(child);
  }
  return title(name) +
         section("NAME", fmt::format("{} \\- {}\n", roff(name), roff(command.summary))) +
         section("SYNOPSIS", synopsis) + section("DESCRIPTION", roff(command.description) + "\n") +
         section("OPTIONS",
                 options + fmt::format(".PP\nThe options of \\fBk2k\\fR(1) are understood "
                                       "too{}.\n",
                                       command.has_json ? ", \\fB\\-\\-json\\fR among them" : "")) +
         section("ENVIRONMENT", "Settings may be given as variables, see \\fBk2k\\fR(1).\n") +
         section("FILES", files()) + section("EXIT STATUS", exits_of(command.exits)) +
         section("EXAMPLES", examples_of(command.examples)) +
         section("SEE ALSO", see_also(context, name));
}

int run_man(const Context& context, std::string page, bool list) {
  std::vector<std::string> known = {"k2k"};
  for (const Command& command : *context.commands) {
    if (!command.is_guest() || find_guest(command.name)) known.push_back("k2k-" + command.name);
  }
  if (list) return print(fmt::format("{}.1\n", fmt::join(known, ".1\n")));
  if (page.ends_with(".1")) page.resize(page.size() - 2);
  if (page == "k2k") return print(main_page(context));
  if (page.starts_with("k2k-")) page.erase(0, 4);
  for (const Command& command : *context.commands) {
    if (command.name == page) return print(command_page(context, command));
  }
  const std::string near = nearest("k2k-" + page, known);
  return complain(fmt::format("no manual page '{}';{} 'k2k man --list' lists them", page,
                              near.empty() ? "" : fmt::format(" did you mean '{}'?", near)),
                  exit_usage);
}

}  // namespace

Command man_command() {
  return {
      .name = "man",
      .summary = "Print a page of the manual",
      .description =
          "Prints a page as roff, generated from the parser that k2k itself uses. PAGE is k2k, "
          "or a command with or without 'k2k-' before it.",
      .examples = {{"k2k man info | man -l -", "Read the page of k2k info."},
                   {"k2k man --list", "List the pages."}},
      .add = [](CommandLine& line, Context& context) -> Run {
        auto page = std::make_shared<std::string>("k2k");
        auto list = std::make_shared<bool>(false);
        std::vector<std::string> pages = {"k2k"};
        for (const Command& command : *context.commands) pages.push_back("k2k-" + command.name);
        line.option("PAGE", *page, "Which page; k2k if left out").offer(pages);
        line.flag("--list", *list, "List the pages");
        return [&context, page, list] { return run_man(context, *page, *list); };
      },
  };
}

}  // namespace k2k::cli
