// k2k ctl: shows and changes how a running process serves requests.

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/running.hpp"
#include "cli/text_table.hpp"
#include "runtime/settings/control_keys.hpp"

namespace k2k::cli {

namespace {

using control::Endpoint;
using nlohmann::ordered_json;
using Values = std::vector<std::pair<std::string, std::string>>;

// From another process, perhaps of another version: a missing field reads as empty.
const ordered_json& at(const ordered_json& object, const char* path) {
  static const ordered_json nothing;
  const ordered_json::json_pointer pointer(path);
  return object.contains(pointer) ? object[pointer] : nothing;
}
double number(const ordered_json& object, const char* path) {
  const ordered_json& value = at(object, path);
  return value.is_number() ? value.get<double>() : 0;
}
std::string text(const ordered_json& object, const char* path) {
  const ordered_json& value = at(object, path);
  return value.is_string() ? harmless(value.get<std::string>()) : "?";
}

std::string percent(double fraction) { return fmt::format("{:.3g} %", 100 * fraction); }

// Share of all cores' CPU time since the runtime began.
double share_of(const ordered_json& shown) {
  const double time = number(shown, "/uptime_seconds") * number(shown, "/cores");
  return time > 0 ? number(shown, "/stats/observer_seconds") / time : 0;
}

std::string cap_text(const ordered_json& shown) {
  const double cap = number(shown, "/stats/governor/cap");
  return cap > 0 ? percent(cap) : "none";
}

int list(const Context& context) {
  const std::vector<Endpoint> all = control::endpoints();
  ordered_json objects = ordered_json::array();
  std::vector<std::vector<std::string>> rows = {
      {"pid", "user", "command", "device", "up", "requests", "share", "cap", "governor"}};
  for (const Endpoint& endpoint : all) {
    const Result<ordered_json> shown = look_at(endpoint, false);
    if (!shown && shown.error().code == ESRCH) continue;
    if (!shown) {
      complain(shown.error().message);
      continue;
    }
    const ordered_json& one = shown.value();
    objects.push_back(one);
    rows.push_back({endpoint.name, text(one, "/user"), text(one, "/command"),
                    text(one, "/config/backend"),
                    fmt::format("{:.0f} s", number(one, "/uptime_seconds")),
                    fmt::format("{:.0f}", number(one, "/stats/requests")), percent(share_of(one)),
                    cap_text(one), text(one, "/settings/governor")});
  }
  if (context.json) return print(objects.dump(2) + "\n");
  return print(objects.empty() ? nobody_runs() + "\n" : text_table(rows, context.color));
}

std::string governor_text(const ordered_json& shown) {
  std::string lines = fmt::format("  {:<20}{}\n", "cap in force", cap_text(shown));
  lines += fmt::format("  {:<20}{} of all {:.0f} cores since its start\n", "share",
                       percent(share_of(shown)), number(shown, "/cores"));
  lines += fmt::format("  {:<20}{:.3f} s in {:.0f} waits\n", "throttled",
                       number(shown, "/stats/governor/throttled_seconds"),
                       number(shown, "/stats/governor/waits"));
  if (number(shown, "/stats/governor/host_limit") > 0) {
    lines += fmt::format("  {:<20}{}, of which {} for this one\n", "host limit",
                         percent(number(shown, "/stats/governor/host_limit")),
                         percent(number(shown, "/stats/governor/host_part")));
  }
  return lines;
}

std::string shown_text(const ordered_json& shown, bool color) {
  std::string lines = bold(fmt::format("{}  {}  of {}, {}, up {:.1f} s", text(shown, "/name"),
                                       text(shown, "/command"), text(shown, "/user"),
                                       text(shown, "/device"), number(shown, "/uptime_seconds")),
                           color) +
                      "\n";
  for (const ControlKey& key : control_keys()) {
    const std::string value = text(shown, fmt::format("/settings/{}", key.name).c_str());
    lines += fmt::format("  {:<20}{}\n", key.name, value.empty() ? "-" : value);
  }
  lines += governor_text(shown);
  return lines + fmt::format("  {:<20}{:.0f}, {:.0f} in flight\n", "requests",
                             number(shown, "/stats/requests"), number(shown, "/stats/in_flight"));
}

// A mistake of the caller is a usage error; a process that ended is an external failure.
int complain_of(const Error& error) {
  return complain(error.message, error.code == EINVAL ? exit_usage : exit_failure);
}

int show(const Context& context, const std::vector<Endpoint>& found) {
  ordered_json objects = ordered_json::array();
  std::string lines;
  for (const Endpoint& endpoint : found) {
    const Result<ordered_json> shown = look_at(endpoint, false);
    if (!shown) return complain_of(shown.error());
    objects.push_back(shown.value());
    lines += shown_text(shown.value(), context.color);
  }
  if (!context.json) return print(lines);
  return print((objects.size() == 1 ? objects[0] : objects).dump(2) + "\n");
}

int change(const Context& context, const std::vector<Endpoint>& found, const Values& values) {
  if (found.size() > 1) {
    std::vector<std::string> names;
    for (const Endpoint& one : found) names.push_back(one.name);
    return complain(
        fmt::format("process {} has {} runtimes; name one of them: {}; nothing was changed",
                    found.front().process, found.size(), fmt::join(names, ", ")),
        exit_usage);
  }
  const Result<ordered_json> done =
      control::ask(found.front(), {control::RequestKind::set, false, values});
  if (!done) return complain_of(done.error());
  if (context.json) return print(done.value().dump(2) + "\n");
  const ordered_json& changed = at(done.value(), "/changed");
  if (!changed.is_array() || changed.empty())
    return print("nothing changed: the values were set already\n");
  std::string lines;
  for (const ordered_json& one : changed) {
    lines +=
        fmt::format("{}: {} -> {}\n", text(one, "/key"), text(one, "/before"), text(one, "/after"));
  }
  return print(lines);
}

// Returns nullopt after a message on standard error, and sets `status`.
std::optional<Values> parse_values(const std::vector<std::string>& words, int& status) {
  Values values;
  for (auto word = words.begin() + 1; word < words.end(); ++word) {
    const std::size_t equals = word->find('=');
    if (equals == 0 || equals == std::string::npos) {
      status =
          complain(fmt::format("'{}' is not KEY=VALUE, such as cap=5%; nothing was changed", *word),
                   exit_usage);
      return {};
    }
    values.emplace_back(word->substr(0, equals), word->substr(equals + 1));
    const auto twice = std::count_if(values.begin(), values.end(), [&](const auto& one) {
      return one.first == values.back().first;
    });
    if (twice > 1) {
      status = complain(fmt::format("{} is given twice; nothing was changed", values.back().first),
                        exit_usage);
      return {};
    }
  }
  return values;
}

int run_ctl(const Context& context, const std::vector<std::string>& words) {
  if (words.empty()) return list(context);
  if (words.front().find('=') != std::string::npos) {
    return complain(fmt::format("{} needs a process: k2k ctl PID {}; 'k2k ctl' lists the processes",
                                words.front(), words.front()),
                    exit_usage);
  }
  int status = exit_ok;
  const std::optional<Values> values = parse_values(words, status);
  if (!values) return status;
  const Result<std::vector<Endpoint>> found = find_running(words.front());
  if (!found) return complain_of(found.error());
  return values->empty() ? show(context, found.value()) : change(context, found.value(), *values);
}

// For scripts: one name per line.
int list_names() {
  std::string names;
  for (const std::string& name : running_names()) names += name + "\n";
  return print(names);
}

std::string keys_text() {
  std::vector<std::string> names;
  for (const ControlKey& key : control_keys()) names.emplace_back(key.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Command ctl_command() {
  return {
      .name = "ctl",
      .summary = "Show or change how a running process serves requests",
      .description =
          "Without PID, lists the caller's processes that use K2K; root sees all processes. With "
          "PID, "
          "shows its cap and share, steering, coalescing, bottom half and governor. KEY=VALUE "
          "changes settings while the process serves: all given keys, or none. Keys are those of "
          "the "
          "server's settings (k2k help config) without their section: " +
          keys_text() +
          ". Shares are percentages: cap=5%, cap=off. The second of several runtimes in a process "
          "is PID-2. The host limit (k2k host) cannot be exceeded here.",
      .examples = {{"k2k ctl", "List the processes that use K2K."},
                   {"k2k ctl 1234", "Show the settings and the share of process 1234."},
                   {"k2k ctl 1234 cap=5%",
                    "From now on its requests consume at most 5 % of all cores' CPU time."},
                   {"k2k ctl 1234 coalescing=adaptive bottom_half=split",
                    "Change two settings together."},
                   {"k2k ctl 1234 --json | jq .stats.governor", "Show the effect of the cap."}},
      .has_json = true,
      .add = [](CommandLine& line, Context& context) -> Run {
        auto words = std::make_shared<std::vector<std::string>>();
        auto names = std::make_shared<bool>(false);
        line.option("PID", *words,
                    "A process, then KEY=VALUE for each change; without, lists all processes")
            .offer(control_words())
            .offer_by(running_names);
        line.flag("--names", *names, "Print only the names of processes, for scripts");
        return
            [&context, words, names] { return *names ? list_names() : run_ctl(context, *words); };
      },
  };
}

}  // namespace k2k::cli
