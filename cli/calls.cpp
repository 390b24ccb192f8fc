// k2k calls: lists the system calls of Linux as the table has them, and how device code makes each.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "calls/table.hpp"
#include "cli/commands.hpp"
#include "cli/text_table.hpp"

namespace k2k::cli {

namespace {

using nlohmann::ordered_json;

// The thesis classified the calls of the Linux of its time.
constexpr std::uint16_t linux_4_11_end = 333;

struct Wanted {
  std::string family;
  std::string kind;
  bool wrapped = false;
};

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
    case calls::Family::scheduling:
      return "scheduling";
    case calls::Family::device:
      return "device";
    case calls::Family::time:
      return "time";
    case calls::Family::event:
      return "event";
    case calls::Family::ipc:
      return "ipc";
    case calls::Family::system:
      return "system";
  }
  return "?";
}

constexpr calls::Class kinds[] = {calls::Class::ready, calls::Class::needs_device_hardware,
                                  calls::Class::extensive_change, calls::Class::obsolete};

const char* class_name(calls::Class kind) {
  switch (kind) {
    case calls::Class::ready:
      return "ready";
    case calls::Class::needs_device_hardware:
      return "needs_device_hardware";
    case calls::Class::extensive_change:
      return "extensive_change";
    case calls::Class::obsolete:
      return "obsolete";
  }
  return "?";
}

const char* changes_name(calls::Changes changes) {
  switch (changes) {
    case calls::Changes::call:
      return "call";
    case calls::Changes::thread:
      return "thread";
    case calls::Changes::process:
      return "process";
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

// The families that the table has.
std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (std::uint16_t number = 0; number < calls::entry_numbers_end; ++number) {
    const calls::Entry* const entry = calls::entry_of(number);
    if (entry == nullptr) continue;
    const std::string name = family_name(entry->family);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::vector<std::string> class_names() {
  std::vector<std::string> names;
  for (const calls::Class kind : kinds) names.emplace_back(class_name(kind));
  return names;
}

// "wrapper", "number" or "refused".
const char* way_of(const calls::Entry& entry) {
  if (entry.access == calls::Access::refused) return "refused";
  return calls::find(entry.number) >= 0 ? "wrapper" : "number";
}

std::vector<const calls::Entry*> chosen(const Wanted& wanted) {
  std::vector<const calls::Entry*> entries;
  for (std::uint16_t number = 0; number < calls::entry_numbers_end; ++number) {
    const calls::Entry* const entry = calls::entry_of(number);
    if (entry == nullptr) continue;
    if (!wanted.family.empty() && wanted.family != family_name(entry->family)) continue;
    if (!wanted.kind.empty() && wanted.kind != class_name(entry->kind)) continue;
    if (wanted.wrapped && calls::find(number) < 0) continue;
    entries.push_back(entry);
  }
  return entries;
}

// Calls of each class with a number below `end`, and their share.
ordered_json shares(std::uint16_t end) {
  std::array<int, std::size(kinds)> counts{};
  int all = 0;
  for (std::uint16_t number = 0; number < end; ++number) {
    const calls::Entry* const entry = calls::entry_of(number);
    if (entry == nullptr) continue;
    ++counts[static_cast<std::size_t>(entry->kind)];
    ++all;
  }
  ordered_json shown = {{"calls", all}};
  for (const calls::Class kind : kinds) {
    const int count = counts[static_cast<std::size_t>(kind)];
    shown[class_name(kind)] = {{"calls", count},
                               {"percent", std::round(1000.0 * count / all) / 10}};
  }
  return shown;
}

ordered_json as_json(const calls::Entry& entry) {
  ordered_json shown = {{"name", entry.name},
                        {"number", entry.number},
                        {"family", family_name(entry.family)},
                        {"class", class_name(entry.kind)},
                        {"blocking", blocking_name(entry.blocking)},
                        {"changes", changes_name(entry.changes)},
                        {"made_by", way_of(entry)},
                        {"reason", entry.reason}};
  if (const int index = calls::find(entry.number); index >= 0) {
    const calls::Row& row = calls::rows[index];
    shown["wrapper"] = {
        {"name", row.name}, {"role", role_name(row.role)}, {"arguments", arguments_of(row)}};
  }
  return shown;
}

std::string share_line(const char* title, const ordered_json& shares) {
  std::string line = fmt::format("{}: {} calls", title, shares["calls"].get<int>());
  for (const calls::Class kind : kinds) {
    const ordered_json& share = shares[class_name(kind)];
    line += fmt::format(", {} {} ({:.1f} %)", class_name(kind), share["calls"].get<int>(),
                        share["percent"].get<double>());
  }
  return line + "\n";
}

std::string detail_of(const calls::Entry& entry) {
  const int index = calls::find(entry.number);
  if (index < 0) return entry.reason;
  const calls::Row& row = calls::rows[index];
  return fmt::format("{}({}){}{}", row.name, fmt::join(arguments_of(row), ", "),
                     *entry.reason == '\0' ? "" : "; ", entry.reason);
}

int run_calls(const Context& context, const Wanted& wanted) {
  const std::vector<const calls::Entry*> entries = chosen(wanted);
  const ordered_json all = shares(calls::entry_numbers_end);
  const ordered_json of_4_11 = shares(linux_4_11_end);
  if (context.json) {
    ordered_json list = ordered_json::array();
    for (const calls::Entry* entry : entries) list.push_back(as_json(*entry));
    const ordered_json shown = {{"calls", list}, {"classes", all}, {"linux_4_11", of_4_11}};
    return print(shown.dump(2) + "\n");
  }
  std::vector<std::vector<std::string>> rows = {
      {"call", "number", "family", "class", "blocks", "changes", "made by", "wrapper or reason"}};
  for (const calls::Entry* entry : entries) {
    rows.push_back({entry->name, std::to_string(entry->number), family_name(entry->family),
                    class_name(entry->kind), blocking_name(entry->blocking),
                    changes_name(entry->changes), way_of(*entry), detail_of(*entry)});
  }
  return print(text_table(rows, context.color) + "\n" + share_line("All", all) +
               share_line("Of Linux 4.11", of_4_11));
}

}  // namespace

Command calls_command() {
  return {
      .name = "calls",
      .summary = "List the system calls of Linux and how kernels make them",
      .description =
          "Lists every system call of Linux on x86-64: number, family, class, whether the call may "
          "block its thread (never; rarely: a disk; waits: a peer or a clock), the widest state "
          "that it changes (call: what its arguments name; thread; process), and whether kernels "
          "make it by a typed wrapper, by number with k2k::syscall, or not at all (refused). The "
          "last lines give the share of each class.",
      .examples = {{"k2k calls --wrapped", "List the calls with typed wrappers."},
                   {"k2k calls --class needs_device_hardware", "List the calls of one class."},
                   {"k2k calls --json | jq -r '.calls[] | select(.made_by == \"refused\").name'",
                    "Names of the calls that are refused."}},
      .has_json = true,
      .add = [](CommandLine& line, Context& context) -> Run {
        auto wanted = std::make_shared<Wanted>();
        line.option("--family", wanted->family, "Only calls of this family").one_of(family_names());
        line.option("--class", wanted->kind, "Only calls of this class").one_of(class_names());
        line.flag("--wrapped", wanted->wrapped, "Only calls with a typed wrapper");
        return [&context, wanted] { return run_calls(context, *wanted); };
      },
  };
}

}  // namespace k2k::cli
