#include "labs/interference/apu/lab.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/text_table.hpp"
#include "labs/interference/apu/statements.hpp"
#include "labs/interference/complain.hpp"
#include "labs/interference/options.hpp"

namespace k2k::labs::apu {

namespace {

using nlohmann::ordered_json;

constexpr double seconds_min = 0.01;
constexpr double seconds_max = 60;
constexpr double seconds_usual = 0.5;

// Option values as given; empty: not given.
struct Options {
  std::string seconds;
};

std::string percent(const ordered_json& part) {
  return fmt::format("{:.1f} %", 100 * part.get<double>());
}

std::string table(const std::vector<ordered_json>& rows, const std::vector<ordered_json>& found,
                  bool color) {
  std::vector<std::vector<std::string>> lines = {
      {"simulated", "asleep", "asleep in a run", "faults/ms", "latency", "interrupts a fault",
       "wake-ups of a core", "CPU a fault", "of all cores"}};
  const auto number = [](const ordered_json& value) { return value.get<double>(); };
  for (const ordered_json& row : rows) {
    lines.push_back({row["setting"], percent(row["asleep"]), percent(row["asleep_in_a_run"]),
                     fmt::format("{:.0f}", number(row["faults_per_ms"])),
                     fmt::format("{:.0f} us", number(row["latency_us"])),
                     fmt::format("{:.2f}", number(row["interrupts"])),
                     fmt::format("{:.2f}", number(row["between_cores"])),
                     fmt::format("{:.2f} us", number(row["host_us"])), percent(row["share"])});
  }
  std::vector<std::vector<std::string>> judged = {
      {"section", "the paper says", "paper", "simulated, over the assumptions", "verdict"}};
  for (const ordered_json& one : found) {
    judged.push_back({one["section"], one["says"], fmt::format("{:.2f}", number(one["paper"])),
                      fmt::format("{:.2f} [{:.2f}, {:.2f}]", number(one["ours"]),
                                  number(one["low"]), number(one["high"])),
                      one["verdict"]});
  }
  return cli::text_table(lines, color) + "\n" + cli::text_table(judged, color);
}

int run(const cli::Context& context, const Options& options) {
  double seconds = seconds_usual;
  if (Status status = read_seconds(options.seconds, seconds_min, seconds_max, seconds); !status) {
    return labs::complain("apu", status.error());
  }
  std::vector<ordered_json> rows;
  for (const Named& one : combinations()) rows.push_back(row_of(one, seconds));
  std::vector<ordered_json> found;
  for (const Statement& one : statements(seconds)) found.push_back(json_of(one));
  if (!context.json) return cli::print(table(rows, found, context.color));
  return cli::print(
      ordered_json{{"simulated", true}, {"rows", rows}, {"statements", found}}.dump() + "\n");
}

}  // namespace

cli::Run add_lab(cli::CommandLine& line, cli::Context& context) {
  auto options = std::make_shared<Options>();
  line.option("--seconds", options->seconds,
              "Simulated time of each row, 0.01 to 60 seconds (0.5)");
  return [&context, options] { return run(context, *options); };
}

}  // namespace k2k::labs::apu
