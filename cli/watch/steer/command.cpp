#include "cli/watch/steer/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/watch/sources/machine.hpp"
#include "cli/watch/steer/steering.hpp"

namespace k2k::cli {

namespace {

constexpr double cap_min = 0.1;  // Percent.
constexpr double cap_max = 90;
constexpr const char* out_of_reach =
    "hard interrupts and softirqs have no thread and are not reached: "
    "/proc/irq/N/smp_affinity_list moves an interrupt, and "
    "/sys/devices/virtual/workqueue/cpumask the kworkers of unbound workqueues";

std::optional<double> percent_in(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return percent;
}

// A usage error as a message, or empty.
std::string read_wishes(const SteerOptions& options, const watch::Times& times,
                        watch::Wanted& wanted) {
  if (!options.cores.empty() && !options.cap.empty()) {
    return "--steer and --cap exclude each other: SCHED_DEADLINE needs threads that may use every "
           "core";
  }
  if (!options.cores.empty()) {
    wanted.cores = watch::cores_of(options.cores);
    if (!wanted.cores) {
      return fmt::format("--steer {} is no list of cores such as 0-1,4", options.cores);
    }
    std::vector<int> online;
    for (const auto& [core, time] : times) online.push_back(core);
    for (const int core : *wanted.cores) {
      if (times.contains(core)) continue;
      return fmt::format("core {} is not online; online are {}", core, watch::list_of(online));
    }
  }
  if (!options.cap.empty()) {
    const auto percent = percent_in(options.cap);
    if (!percent || !(*percent >= cap_min && *percent <= cap_max)) {
      return fmt::format("--cap {} is no cap; permitted are {:g} to {:g} % of one core",
                         options.cap, cap_min, cap_max);
    }
    wanted.cap = *percent / 100;
  }
  return {};
}

int show_steered(const Context& context, const watch::Steered& steered, bool undone) {
  std::vector<std::string> lines = steered.lines;
  if (!undone) lines.emplace_back(out_of_reach);
  int printed = exit_ok;
  if (context.json) {
    const nlohmann::ordered_json json = {
        {"changed", steered.changed}, {"left", steered.left}, {"lines", lines}};
    printed =
        print(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  } else {
    for (std::string& line : lines) {
      blank_control_characters(line);
      printed = std::max(printed, print(line + "\n"));
    }
  }
  return steered.left > 0 ? exit_failure : printed;
}

}  // namespace

int run_steering(const Context& context, const SteerOptions& options, const watch::Rules& rules) {
  const watch::Roots roots;
  if (options.undo) {
    if (!options.cores.empty() || !options.cap.empty()) {
      return complain("--undo excludes --steer and --cap", exit_usage);
    }
    const Result<watch::Steered> undone = watch::undo(roots, options.state);
    return undone ? show_steered(context, undone.value(), true) : complain(undone.error().message);
  }
  const Result<watch::Snapshot> snapshot = watch::take_snapshot(roots);
  if (!snapshot) return complain(snapshot.error().message);
  watch::Wanted wanted;
  const std::string mistake = read_wishes(options, snapshot->times, wanted);
  if (!mistake.empty()) return complain(mistake, exit_usage);
  const std::vector<watch::Servicing> threads = watch::servicing_threads(
      snapshot.value(), rules, watch::find_owners(roots, snapshot->interrupts), options.parts);
  if (threads.empty()) {
    return complain(fmt::format(
        "no thread serves {} here; k2k watch lists the parts, and --rules adds threads",
        options.parts.empty() ? "a device" : fmt::format("{}", fmt::join(options.parts, ", "))));
  }
  const Result<watch::Steered> steered = watch::steer(roots, wanted, threads, options.state);
  return steered ? show_steered(context, steered.value(), false)
                 : complain(steered.error().message);
}

}  // namespace k2k::cli
