#include "labs/interference/trace/lab.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/text_table.hpp"
#include "labs/interference/options.hpp"
#include "labs/interference/trace/replay.hpp"

namespace k2k::labs::trace {

namespace {

using nlohmann::ordered_json;

constexpr double seconds_min = 0.1;
constexpr double seconds_max = 600;
constexpr double seconds_usual = 5;
constexpr std::uint32_t outstanding_max = 1u << 20;

// Option values as given; empty: not given.
struct Options {
  std::string trace;
  std::string outstanding;
  std::string seconds;
  std::string cap;
  std::uint64_t seed = 1;
};

Result<Nanoseconds> longest_of(const Options& options, bool endless) {
  double seconds = endless ? seconds_usual : 0;
  if (Status status = read_seconds(options.seconds, seconds_min, seconds_max, seconds); !status) {
    return status.error();
  }
  return Nanoseconds(std::llround(seconds * 1e9));
}

std::string percent(const ordered_json& value) {
  return value.is_null() ? "-" : fmt::format("{:.2f} %", value.get<double>() * 100);
}

std::string table(const ordered_json& row, bool color) {
  const auto number = [&row](const char* key) { return row[key].get<double>(); };
  const std::vector<std::vector<std::string>> lines = {
      {"requests/s", "delay p50", "p99", "stalled", "cap", "share", "worst 100 ms", "device",
       "device a request", "per CPU-s"},
      {fmt::format("{:.0f}", number("throughput")),
       fmt::format("{:.1f} us", number("delay_p50_us")),
       fmt::format("{:.1f} us", number("delay_p99_us")), percent(row["stalled"]),
       percent(row["cap"]), percent(row["share"]), percent(row["worst_100ms"]),
       percent(row["device_share"]), fmt::format("{:.0f} ns", number("device_ns")),
       fmt::format("{:.0f}", number("per_cpu_s"))}};
  return cli::text_table(lines, color) +
         fmt::format(
             "{}: {} requests in {:.2f} s; share as schedstat sees the service threads, "
             "including the device.\n",
             row["trace"].get<std::string>(), row["requests"].get<std::uint64_t>(),
             number("seconds"));
}

std::string as_json(const ordered_json& row) {
  return ordered_json{{"rows", ordered_json::array({row})}}.dump() + "\n";
}

int complain(const Error& error, int status) {
  return cli::complain(fmt::format("lab trace: {}", error.message), status);
}

int run(const cli::Context& context, const Options& options) {
  const Result<Trace> trace = trace_of(options.trace, options.seed);
  if (!trace) return complain(trace.error(), cli::exit_usage);
  TraceOptions replay;
  if (Status status =
          read_count("--outstanding", options.outstanding, outstanding_max, replay.outstanding);
      !status) {
    return complain(status.error(), cli::exit_usage);
  }
  const Result<Nanoseconds> longest = longest_of(options, trace.value().endless());
  if (!longest) return complain(longest.error(), cli::exit_usage);
  replay.longest = longest.value();
  auto loaded = context.load();
  if (!loaded) return cli::complain_config(loaded.error());
  RuntimeConfig config = loaded.value().config;
  if (Status status = read_real_cap(options.cap, config.server.cap_permille); !status) {
    return complain(status.error(), cli::exit_usage);
  }
  const Result<ordered_json> row = measure(config, trace.value(), replay);
  if (!row) {
    return complain(row.error(), row.error().code == EINVAL ? cli::exit_usage : cli::exit_failure);
  }
  const int printed =
      cli::print(context.json ? as_json(row.value()) : table(row.value(), context.color));
  const auto errors = row.value()["errors"].get<std::uint64_t>();
  if (errors == 0) return printed;
  return complain({EIO, fmt::format("{} of {} answers were wrong; the first: {}", errors,
                                    row.value()["requests"].get<std::uint64_t>(),
                                    row.value()["first_error"].get<std::string>())},
                  cli::exit_failure);
}

}  // namespace

cli::Run add_lab(cli::CommandLine& line, cli::Context& context) {
  auto options = std::make_shared<Options>();
  line.option("trace", options->trace,
              "A file (docs/design/trace.md), or a load: uniform, burst, lognormal, "
              "poisson:RATE")
      .required()
      .offer({"uniform", "burst", "lognormal", "poisson:10000"});
  line.option("--outstanding", options->outstanding,
              "The accelerator stalls with this many unanswered requests (64)");
  line.option("--seconds", options->seconds,
              "Events due later are left out (5, or to the end of a file)");
  line.option("--cap", options->cap,
              "Fraction of all cores' CPU time, or a percentage such as 5% (server.cap_permille)");
  line.option("--seed", options->seed, "The same number gives the same load (1)");
  return [&context, options] { return run(context, *options); };
}

}  // namespace k2k::labs::trace
