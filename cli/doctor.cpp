// k2k doctor: checks whether this machine is fit for K2K, and prints the commands that fix each
// problem.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/doctor_checks.hpp"

namespace k2k::cli {

namespace {

using nlohmann::ordered_json;

const char* grade_name(Grade grade) {
  return grade == Grade::ok ? "ok" : grade == Grade::warn ? "warn" : "fail";
}

const char* grade_color(Grade grade) {
  return grade == Grade::ok ? "32" : grade == Grade::warn ? "33" : "31";
}

std::string checks_text(const std::vector<Check>& checks, bool color) {
  std::string text;
  for (const Check& check : checks) {
    const std::string grade = fmt::format("{:<4}", grade_name(check.grade));
    const std::string shown =
        color ? fmt::format("\x1b[{}m{}\x1b[0m", grade_color(check.grade), grade) : grade;
    text += fmt::format("{}  {:<14} {}\n", shown, check.name, check.found);
    if (check.grade == Grade::ok) continue;
    text += fmt::format("      why: {}\n", check.why);
    if (!check.fix.empty()) text += fmt::format("      fix: {}\n", check.fix);
  }
  const auto count = [&](Grade grade) {
    return std::count_if(checks.begin(), checks.end(),
                         [&](const Check& check) { return check.grade == grade; });
  };
  return text + fmt::format("\n{} ok, {} to improve, {} to mend\n", count(Grade::ok),
                            count(Grade::warn), count(Grade::fail));
}

ordered_json as_json(const std::vector<Check>& checks) {
  ordered_json list = ordered_json::array();
  for (const Check& check : checks) {
    list.push_back({{"name", check.name},
                    {"grade", grade_name(check.grade)},
                    {"found", check.found},
                    {"why", check.why},
                    {"fix", check.fix}});
  }
  return list;
}

int run_doctor(const Context& context) {
  const Result<LoadedConfig> loaded = context.load();
  if (!loaded) return complain_config(loaded.error());
  const std::vector<Check> checks = examine(loaded.value().config);
  const int printed =
      print(context.json ? as_json(checks).dump(2) + "\n" : checks_text(checks, context.color));
  const bool failed = std::any_of(checks.begin(), checks.end(),
                                  [](const Check& check) { return check.grade == Grade::fail; });
  return failed ? exit_failure : printed;
}

}  // namespace

Command doctor_command() {
  return {
      .name = "doctor",
      .summary = "Examine this machine and report what to fix",
      .description =
          "Examines the features of Linux, the limits and the hardware that K2K uses, and makes "
          "one call from a kernel. Each line is ok, warn (works, but slower or with fewer "
          "features) or fail; warn and fail come with the reason and the command that fixes it.",
      .examples = {{"k2k doctor", "Examine the machine."},
                   {"k2k doctor --json | jq -r '.[] | select(.grade != \"ok\").fix'",
                    "Print only the remedies."}},
      .exits = {{0, "Nothing failed."}, {1, "Something failed."}},
      .has_json = true,
      .add = [](CommandLine&, Context& context) -> Run {
        return [&context] { return run_doctor(context); };
      },
  };
}

}  // namespace k2k::cli
