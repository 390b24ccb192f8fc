// k2k host: the machine's limit on the CPU time of device code's requests, and the runtimes that
// share it.

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/running.hpp"
#include "cli/text_table.hpp"
#include "host/holders.hpp"
#include "host/limit.hpp"

namespace k2k::cli {

namespace {

using nlohmann::ordered_json;

// The command of the process that holds the part; "?" if it is not visible from here or belongs to
// another user.
std::string command_of(const host::Holder& holder) {
  const std::string folder = fmt::format("/proc/{}", holder.process);
  struct stat facts{};
  if (::stat(folder.c_str(), &facts) != 0 || facts.st_uid != holder.user ||
      host::start_of(holder.process) != holder.start) {
    return "?";
  }
  return command_name(holder.process);
}

ordered_json describe(const host::Place& place, const std::optional<double>& limit,
                      const host::Holders& holders) {
  ordered_json list = ordered_json::array();
  const std::vector<double> parts = host::parts_of(limit.value_or(0), holders.list);
  for (std::size_t at = 0; at < holders.list.size(); ++at) {
    const host::Holder& holder = holders.list[at];
    list.push_back({{"pid", holder.process},
                    {"user", user_name(holder.user)},
                    {"command", command_of(holder)},
                    {"cap", holder.record.cap},
                    {"part", parts[at]},
                    {"use", holder.record.use}});
  }
  return {{"directory", place.path},
          {"limit", limit ? ordered_json(*limit) : ordered_json(nullptr)},
          {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
          {"complete", !holders.crowded},
          {"holders", list}};
}

std::string percent(const ordered_json& fraction) {
  return fmt::format("{:.4g} %", fraction.get<double>() * 100);
}

std::string limit_text(const ordered_json& all, bool color) {
  if (all["limit"].is_null()) {
    return fmt::format(
        "no limit on this machine ({}); 'sudo k2k host limit 5%' makes it 5 % of the "
        "CPU time of all {} cores\n",
        all["directory"].get<std::string>(), all["cores"].dump());
  }
  std::string text =
      fmt::format("limit {} of the CPU time of all {} cores ({})\n", percent(all["limit"]),
                  all["cores"].dump(), all["directory"].get<std::string>());
  if (all["holders"].empty()) return text + "no runtime holds a part of it\n";
  std::vector<std::vector<std::string>> rows = {{"pid", "user", "part", "use", "cap", "command"}};
  for (const ordered_json& holder : all["holders"]) {
    rows.push_back({holder["pid"].dump(), holder["user"].get<std::string>(),
                    percent(holder["part"]), percent(holder["use"]),
                    holder["cap"] == 1.0 ? "-" : percent(holder["cap"]),
                    holder["command"].get<std::string>()});
  }
  text += text_table(rows, color);
  return all["complete"].get<bool>()
             ? text
             : text + "and more runtimes, beyond the number that is listed\n";
}

int show(const Context& context) {
  const host::Place place = host::place_of(host::override_path());
  const Result<std::optional<double>> limit = host::read_limit(place);
  if (!limit) return complain(limit.error().message);
  host::Holders holders;
  if (limit.value()) {
    Result<host::Holders> listed = host::list_holders(place);
    if (!listed) return complain(listed.error().message);
    holders = std::move(listed).value();
  }
  const ordered_json all = describe(place, limit.value(), holders);
  return print(context.json ? all.dump(2) + "\n" : limit_text(all, context.color));
}

// Parses a percentage into a fraction. Returns nullopt for any other text.
std::optional<double> fraction_of(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return percent / 100;
}

int change(const Context& context, const std::string& text) {
  const host::Place place = host::place_of(host::override_path());
  const std::optional<double> fraction = fraction_of(text);
  if (!fraction && text != "off") {
    return complain(fmt::format("'{}' is no limit; a number of percent of the CPU time of all "
                                "cores, {:g} to 100, or off",
                                text, host::limit_min * 100),
                    exit_usage);
  }
  const Status status = fraction ? host::write_limit(place, *fraction) : host::remove_limit(place);
  if (!status) {
    return complain(status.error().message,
                    status.error().code == EINVAL ? exit_usage : exit_failure);
  }
  return show(context);
}

}  // namespace

Command host_command() {
  return {
      .name = "host",
      .summary = "Show or set the machine's limit on requests' CPU time",
      .description =
          "Shows the host limit: the share of all online cores' CPU time that the requests of all "
          "runtimes on this machine may consume, and the runtimes that share it. 'limit' sets it "
          "and needs "
          "root. Running runtimes follow a change within about a second. The limit is divided "
          "equally among users, then among a user's runtimes; a runtime's unused part goes to the "
          "others. A "
          "runtime's own cap (server.cap_permille) only lowers its part. The limit is gone after "
          "a reboot; docs/design/host-limit.md says how to set it at each boot.",
      .examples = {{"sudo k2k host limit 5%", "All runtimes together take at most 5 %."},
                   {"k2k host", "Show the limit and the part of each runtime."},
                   {"sudo k2k host limit off", "Remove the limit."},
                   {"k2k host --json | jq '[.holders[].use] | add'",
                    "Print the sum of the parts in use."}},
      .has_json = true,
      .add = [](CommandLine& line, Context& context) -> Run {
        line.require_command(false);
        CommandLine limits =
            line.command("limit", "Set the limit, in percent of all cores' CPU time");
        auto text = std::make_shared<std::string>();
        limits.option("PCT", *text, "0.01 to 100, or off").required().offer({"off"});
        return [&context, limits, text] {
          return limits.given() ? change(context, *text) : show(context);
        };
      },
  };
}

}  // namespace k2k::cli
