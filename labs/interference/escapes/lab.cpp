#include "labs/interference/escapes/lab.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/text_table.hpp"
#include "labs/interference/escapes/escapes.hpp"
#include "labs/interference/options.hpp"
#include "labs/interference/progress_line.hpp"

namespace k2k::labs::escapes {

namespace {

using nlohmann::ordered_json;

constexpr double seconds_min = 0.2;
constexpr double seconds_max = 60;
constexpr std::uint32_t rounds_min = 2;  // Fewer give no interval.
constexpr std::uint32_t rounds_max = 100;

// Option values as given; empty: not given.
struct Options {
  std::string seconds;
  std::string cap;
  std::string rounds;
};

struct Wanted {
  double seconds = 2;
  std::uint32_t cap_permille = 50;
  std::uint32_t rounds = 3;
};

Result<Wanted> read_options(const Options& options) {
  Wanted wanted;
  Status status = read_seconds(options.seconds, seconds_min, seconds_max, wanted.seconds);
  if (status) status = read_real_cap(options.cap, wanted.cap_permille);
  if (status) status = read_count("--rounds", options.rounds, rounds_max, wanted.rounds);
  if (!status) return status.error();
  if (wanted.rounds < rounds_min) {
    return Error{EINVAL,
                 fmt::format("--rounds is '{}'; permitted are {} to {}: fewer give no interval",
                             options.rounds, rounds_min, rounds_max)};
  }
  return wanted;
}

std::string table(const std::vector<ordered_json>& rows, bool color) {
  std::vector<std::vector<std::string>> lines = {
      {"attempt", "cap", "machine", "95 % interval", "charged", "requests", "verdict"}};
  const auto percent = [](const ordered_json& value) {
    return fmt::format("{:.2f} %", value.get<double>() * 100);
  };
  for (const ordered_json& row : rows) {
    const std::uint64_t requests =
        row["answered"].get<std::uint64_t>() + row["refused"].get<std::uint64_t>();
    lines.push_back({row["attempt"], percent(row["cap"]), percent(row["machine"]),
                     fmt::format("{} to {}", percent(row["low"]), percent(row["high"])),
                     percent(row["charged"]), fmt::format("{}", requests), row["verdict"]});
  }
  const bool sees_kernel = rows.front()["kernel_threads"].get<std::size_t>() != 0;
  return cli::text_table(lines, color) +
         (sees_kernel ? ""
                      : "No thread of Linux is visible here, as in most containers: 'machine' has "
                        "no work of theirs.\n");
}

// In rounds of all attempts, so that a busy moment of the machine meets each of them.
Result<std::vector<ordered_json>> run_all(const RuntimeConfig& config, const Wanted& wanted) {
  const std::vector<Attempt>& attempts = all_attempts();
  ProgressLine progress(attempts.size() * wanted.rounds);
  std::vector<std::vector<Found>> found(attempts.size());
  for (std::uint32_t round = 0; round < wanted.rounds; ++round) {
    for (std::size_t index = 0; index < attempts.size(); ++index) {
      const Attempt& attempt = attempts[index];
      progress.next(fmt::format("{}, {:g} s", attempt.name, 2 * wanted.seconds));
      const Result<Found> one = measure(config, attempt, wanted.cap_permille, wanted.seconds);
      if (!one) {
        return Error{one.error().code, fmt::format("{}: {}", attempt.name, one.error().message)};
      }
      found[index].push_back(one.value());
    }
  }
  std::vector<ordered_json> rows;
  for (std::size_t index = 0; index < attempts.size(); ++index) {
    rows.push_back(row_of(attempts[index], wanted.cap_permille / 1000.0, found[index]));
  }
  return rows;
}

int run(const cli::Context& context, const Options& options) {
  const auto complain = [](const Error& error, int status) {
    return cli::complain(fmt::format("lab escapes: {}", error.message), status);
  };
  const Result<Wanted> wanted = read_options(options);
  if (!wanted) return complain(wanted.error(), cli::exit_usage);
  const auto loaded = context.load();
  if (!loaded) return cli::complain_config(loaded.error());
  const Result<std::vector<ordered_json>> rows = run_all(loaded.value().config, wanted.value());
  if (!rows) return complain(rows.error(), cli::exit_failure);
  if (!context.json) return cli::print(table(rows.value(), context.color));
  return cli::print(ordered_json{{"rows", rows.value()}}.dump() + "\n");
}

}  // namespace

cli::Run add_lab(cli::CommandLine& line, cli::Context& context) {
  auto options = std::make_shared<Options>();
  line.option("--seconds", options->seconds,
              "Time of each attempt, and as long before it without requests, 0.2 to 60 (2)");
  line.option("--cap", options->cap,
              "The cap of each process: a fraction of all cores' CPU time, or a percentage (5%)");
  line.option("--rounds", options->rounds, "Rounds of all attempts, 2 to 100 (3)");
  return [&context, options] { return run(context, *options); };
}

}  // namespace k2k::labs::escapes
