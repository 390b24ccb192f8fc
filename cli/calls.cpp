// k2k calls: lists the system calls with a row in the table, as device code can make them.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/text_table.hpp"
#include "device/k2k.hpp"  // Includes the rows (calls/rows.hpp) as for kernels.

namespace k2k::cli {

namespace {

using nlohmann::ordered_json;

const char* family_name(calls::Family family) {
  switch (family) {
    case calls::Family::own:
      return "own";
    case calls::Family::file:
      return "file";
    case calls::Family::directory:
      return "directory";
    case calls::Family::network:
      return "network";
    case calls::Family::memory:
      return "memory";
    case calls::Family::process:
      return "process";
    case calls::Family::device:
      return "device";
    case calls::Family::time:
      return "time";
  }
  return "?";
}

const char* blocking_name(calls::Blocking blocking) {
  switch (blocking) {
    case calls::Blocking::never:
      return "never";
    case calls::Blocking::rarely:
      return "rarely";
    case calls::Blocking::waits:
      return "waits";
  }
  return "?";
}

const char* role_name(calls::Role role) {
  switch (role) {
    case calls::Role::consumer:
      return "consumer";
    case calls::Role::producer:
      return "producer";
    case calls::Role::both:
      return "both";
  }
  return "?";
}

// "int fd", "void* buffer".
std::vector<std::string> arguments_of(const calls::Row& row) {
  std::vector<std::string> arguments;
  for (int index = 0; index < calls::parameter_count(row); ++index) {
    std::string type = row.parameters[index].type;
    if (type.starts_with("std::")) type.erase(0, 5);
    arguments.push_back(type + " " + row.parameters[index].name);
  }
  return arguments;
}

int run_calls(const Context& context) {
  if (context.json) {
    ordered_json list = ordered_json::array();
    for (const calls::Row& row : calls::rows) {
      list.push_back({{"name", row.name},
                      {"number", row.number},
                      {"family", family_name(row.family)},
                      {"blocking", blocking_name(row.blocking)},
                      {"role", role_name(row.role)},
                      {"arguments", arguments_of(row)}});
    }
    return print(list.dump(2) + "\n");
  }
  std::vector<std::vector<std::string>> rows = {
      {"call", "number", "family", "blocks", "role", "arguments"}};
  for (const calls::Row& row : calls::rows) {
    rows.push_back({row.name, std::to_string(row.number), family_name(row.family),
                    blocking_name(row.blocking), role_name(row.role),
                    fmt::format("{}", fmt::join(arguments_of(row), ", "))});
  }
  return print(text_table(rows, context.color));
}

}  // namespace

Command calls_command() {
  return {
      .name = "calls",
      .summary = "List the system calls that have typed wrappers",
      .description =
          "Lists the calls with a row: number (Linux, x86-64), family, whether the call may block "
          "its thread (never; rarely: a disk; waits: a peer or a clock), and the role that decides "
          "which barrier relaxed order drops. Every other call can be made by number with "
          "k2k::syscall.",
      .examples = {{"k2k calls", "List them."},
                   {"k2k calls --json | jq -r '.[] | select(.blocking == \"never\").name'",
                    "Names of the calls that never block."}},
      .has_json = true,
      .add = [](CommandLine&, Context& context) -> Run {
        return [&context] { return run_calls(context); };
      },
  };
}

}  // namespace k2k::cli
