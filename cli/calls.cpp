// k2k calls: lists the system calls of Linux as the table has them, and how device code makes each;
// with --verify, compares what kernels and threads of the host get from them.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "calls/ring_operations.hpp"
#include "calls/table.hpp"
#include "calls/waits.hpp"
#include "cli/commands.hpp"
#include "cli/text_table.hpp"
#include "cli/verify/verify.hpp"

namespace k2k::cli {

namespace {

using nlohmann::ordered_json;

// The thesis classified the calls of the Linux of its time.
constexpr std::uint16_t linux_4_11_end = 333;

struct Wanted {
  std::string family;
  std::string kind;
  bool wrapped = false;
  bool basic = false;
  bool verify = false;
  bool gpu = false;
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
    if (type == "device::Argument") type = "long|void*";  // A command decides.
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

// The server ends a wait by this (calls/waits.hpp); "" if the call does not wait.
const char* wait_end_name(const calls::Entry& entry) {
  switch (calls::wait_end_of(entry.number)) {
    case calls::WaitEnd::none:
      return "";
    case calls::WaitEnd::descriptor:
      return "descriptor";
    case calls::WaitEnd::moment:
      return "moment";
    case calls::WaitEnd::word:
      return "word";
    case calls::WaitEnd::signal:
      return "signal";
  }
  return "?";
}

const char* ring_operation_name(const calls::Entry& entry) {
  const calls::RingOperation* const operation = calls::ring_operation_of(entry.number);
  return operation == nullptr ? "" : operation->name;
}

// The least of the policies `io` and `any` that permits the call.
const char* policy_of(const calls::Entry& entry) {
  switch (entry.access) {
    case calls::Access::open:
      return "io";
    case calls::Access::privileged:
      return "any";
    case calls::Access::refused:
      return "none";
  }
  return "?";
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
    if (wanted.basic && !calls::is_basic(calls::find(number))) continue;
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
                        {"wait_ends_by", wait_end_name(entry)},
                        {"changes", changes_name(entry.changes)},
                        {"io_uring", ring_operation_name(entry)},
                        {"made_by", way_of(entry)},
                        {"policy", policy_of(entry)},
                        {"basic", calls::is_basic(calls::find(entry.number))},
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
  std::vector<std::vector<std::string>> rows = {{"call", "number", "family", "class", "blocks",
                                                 "wait ends by", "changes", "io_uring", "made by",
                                                 "policy", "wrapper or reason"}};
  for (const calls::Entry* entry : entries) {
    rows.push_back({entry->name, std::to_string(entry->number), family_name(entry->family),
                    class_name(entry->kind), blocking_name(entry->blocking), wait_end_name(*entry),
                    changes_name(entry->changes), ring_operation_name(*entry), way_of(*entry),
                    policy_of(*entry), detail_of(*entry)});
  }
  return print(text_table(rows, context.color) + "\n" + share_line("All", all) +
               share_line("Of Linux 4.11", of_4_11));
}

const char* outcome_name(verify::Outcome outcome) {
  switch (outcome) {
    case verify::Outcome::same:
      return "same";
    case verify::Outcome::refused:
      return "refused";
    case verify::Outcome::mismatched:
      return "mismatched";
    case verify::Outcome::unverifiable:
      return "unverifiable";
    case verify::Outcome::without_case:
      return "without_case";
  }
  return "?";
}

// {"ready", "verified", "mismatched", "unverifiable", "without_case"}: numbers of calls.
ordered_json counts_of(const verify::Report& report) {
  std::array<int, 5> counts{};
  for (const verify::Verdict& verdict : report.verdicts) {
    ++counts[static_cast<std::size_t>(verdict.outcome)];
  }
  const auto of = [&](verify::Outcome outcome) {
    return counts[static_cast<std::size_t>(outcome)];
  };
  return {{"ready", report.verdicts.size()},
          {"verified", of(verify::Outcome::same) + of(verify::Outcome::refused)},
          {"mismatched", of(verify::Outcome::mismatched)},
          {"unverifiable", of(verify::Outcome::unverifiable)},
          {"without_case", of(verify::Outcome::without_case)}};
}

// Of the calls of the report, the names of those that are unverifiable without the namespace.
std::vector<std::string> names_of_calls(const verify::Report& report,
                                        const verify::MissingNamespace& missing) {
  std::vector<std::string> names;
  for (const verify::Verdict& verdict : report.verdicts) {
    if (verdict.outcome == verify::Outcome::unverifiable &&
        std::ranges::find(missing.calls, verdict.call->number) != missing.calls.end())
      names.emplace_back(verdict.call->name);
  }
  return names;
}

int print_verified(const Context& context, const verify::Report& report) {
  const ordered_json counts = counts_of(report);
  if (context.json) {
    ordered_json calls = ordered_json::array();
    for (const verify::Verdict& verdict : report.verdicts) {
      calls.push_back({{"name", verdict.call->name},
                       {"outcome", outcome_name(verdict.outcome)},
                       {"comparisons", verdict.comparisons},
                       {"notes", verdict.notes}});
    }
    ordered_json spaces = ordered_json::array();
    for (const verify::MissingNamespace& missing : report.missing) {
      spaces.push_back({{"namespace", missing.name},
                        {"reason", verify::reason_of(missing)},
                        {"unverifiable", names_of_calls(report, missing)}});
    }
    ordered_json shown = {{"calls", calls},
                          {"device", report.device},
                          {"isolated", report.missing.empty()},
                          {"missing_namespaces", spaces}};
    shown.update(counts);
    return print(shown.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
  }
  std::vector<std::vector<std::string>> rows = {{"call", "outcome", "comparisons", "notes"}};
  for (const verify::Verdict& verdict : report.verdicts) {
    rows.push_back({verdict.call->name, outcome_name(verdict.outcome),
                    std::to_string(verdict.comparisons),
                    fmt::format("{}", fmt::join(verdict.notes, "; "))});
  }
  std::string line;
  for (const auto& [name, count] : counts.items()) {
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", name, count.get<int>());
  }
  for (const verify::MissingNamespace& missing : report.missing) {
    const std::vector<std::string> names = names_of_calls(report, missing);
    line += fmt::format("; unverifiable without the {} namespace: {}", missing.name,
                        names.empty() ? "none" : fmt::format("{}", fmt::join(names, " ")));
  }
  return print(text_table(rows, context.color) + "\n" + line + "\n");
}

int run_verify(const Context& context, const Wanted& wanted) {
  const verify::Device device = wanted.gpu ? verify::Device::gpu : verify::Device::cpu;
  try {
    const verify::Report report = verify::verify(device, chosen(wanted));
    const int status = print_verified(context, report);
    const bool differs = std::any_of(report.verdicts.begin(), report.verdicts.end(),
                                     [](const verify::Verdict& verdict) {
                                       return verdict.outcome == verify::Outcome::mismatched;
                                     });
    return differs ? exit_failure : status;
  } catch (const std::exception& error) {
    return complain(fmt::format("the calls cannot be compared: {}", error.what()));
  }
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
          "make it by a typed wrapper, by number with k2k::syscall, or not at all (refused). "
          "'policy' is the setting of server.policy that permits the call: io, or any alone, which "
          "permits all that io permits. The last lines give the share of each class.\n\nWith "
          "--verify, makes every ready call that "
          "has a case from kernels of a strict device of the cpu backend (with --gpu: of a GPU) "
          "and from a thread, in sandboxes that are alike, and compares answers, buffers and "
          "effects. Exit status 1: a call differs.",
      .examples = {{"k2k calls --wrapped", "List the calls with typed wrappers."},
                   {"k2k calls --class needs_device_hardware", "List the calls of one class."},
                   {"k2k calls --json | jq -r '.calls[] | select(.made_by == \"refused\").name'",
                    "Names of the calls that are refused."},
                   {"k2k calls --verify", "Compare the calls of kernels with a thread's."},
                   {"k2k calls --verify --gpu", "The same for the kernels of a GPU."},
                   {"k2k calls --verify --family time", "Compare the calls of one family."}},
      .has_json = true,
      .add = [](CommandLine& line, Context& context) -> Run {
        auto wanted = std::make_shared<Wanted>();
        line.option("--family", wanted->family, "Only calls of this family").one_of(family_names());
        line.option("--class", wanted->kind, "Only calls of this class").one_of(class_names());
        line.flag("--wrapped", wanted->wrapped, "Only calls with a typed wrapper");
        line.flag("--basic", wanted->basic,
                  "Only calls that server.policy = \"known_only\" permits");
        line.flag("--verify", wanted->verify,
                  "Compare what kernels and a thread get from every ready call");
        line.flag("--gpu", wanted->gpu, "With --verify: the kernels run on a GPU");
        return [&context, wanted] {
          if (wanted->verify) return run_verify(context, *wanted);
          if (wanted->gpu) {
            return complain("--gpu belongs to --verify: k2k calls --verify --gpu", exit_usage);
          }
          return run_calls(context, *wanted);
        };
      },
  };
}

}  // namespace k2k::cli
