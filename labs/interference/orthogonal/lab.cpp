#include "labs/interference/orthogonal/lab.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/text_table.hpp"
#include "labs/interference/complain.hpp"
#include "labs/interference/options.hpp"
#include "labs/interference/orthogonal/orthogonal.hpp"
#include "labs/interference/progress_line.hpp"

namespace k2k::labs::orthogonal {

namespace {

using nlohmann::ordered_json;

constexpr double seconds_min = 0.2;
constexpr double seconds_max = 60;
// The bucket may be full when a row begins, and that CPU time is spent beside the cap. So a row
// lasts longer under a smaller cap: a full bucket is a tenth of the CPU time that the row permits.
constexpr double cap_seconds = 0.04;
constexpr double seconds_usual_min = 1;
constexpr double seconds_usual_max = 4;

double usual_seconds(const Case& one) {
  return std::clamp(cap_seconds * 1000 / one.cap_permille, seconds_usual_min, seconds_usual_max);
}

// Option values as given; empty: not given.
struct Options {
  std::string seconds;
  std::string cap;
};

// "0.05" or "5%", as thousandths.
Result<std::vector<Case>> cases_under(const std::string& text) {
  if (text.empty()) return all_cases();
  const bool percent = text.ends_with('%');
  double value = 0;
  const char* const end = text.data() + text.size() - (percent ? 1 : 0);
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const double permille = percent ? value * 10 : value * 1000;
  const double whole = std::round(permille);
  const bool number = error == std::errc() && stop == end;
  if (number && whole >= 1 && whole <= 1000 && std::abs(permille - whole) < 1e-6) {
    return all_cases({static_cast<std::uint32_t>(whole)});
  }
  return Error{EINVAL, fmt::format("--cap is '{}'; permitted is a fraction of the CPU time of all "
                                   "cores, 0.001 to 1 in steps of 0.001, or 0.1% to 100%",
                                   text)};
}

std::string table(const std::vector<ordered_json>& rows, bool color) {
  std::vector<std::vector<std::string>> lines = {{"steering", "coalescing", "bottom half", "cap",
                                                  "share", "requests/s", "per CPU-s", "delay p50",
                                                  "delay p99"}};
  const auto number = [](const ordered_json& value) { return value.get<double>(); };
  for (const ordered_json& row : rows) {
    lines.push_back({row["steering"], row["coalescing"], row["bottom_half"],
                     fmt::format("{:g} %", number(row["cap"]) * 100),
                     fmt::format("{:.2f} %", number(row["share"]) * 100),
                     fmt::format("{:.0f}", number(row["throughput"])),
                     fmt::format("{:.0f}", number(row["per_cpu_s"])),
                     fmt::format("{:.0f} us", number(row["delay_p50_us"])),
                     fmt::format("{:.0f} us", number(row["delay_p99_us"]))});
  }
  return cli::text_table(lines, color);
}

Result<std::vector<ordered_json>> run_all(const RuntimeConfig& config,
                                          const std::vector<Case>& cases, double given) {
  ProgressLine progress(cases.size());
  std::vector<ordered_json> rows;
  for (const Case& one : cases) {
    const double seconds = given > 0 ? given : usual_seconds(one);
    progress.next(fmt::format("cap {:g} %, {}{}, {}, {:g} s", one.cap_permille / 10.0,
                              steering_of(one), one.coalescing ? ", coalescing" : "",
                              bottom_half_of(one), seconds));
    Result<ordered_json> row = measure(config, one, seconds);
    if (!row) return row.error();
    row.value()["seconds"] = seconds;
    rows.push_back(std::move(row.value()));
  }
  return rows;
}

int run(const cli::Context& context, const Options& options) {
  const auto complain = [](const Error& error) { return labs::complain("orthogonal", error); };
  double seconds = 0;  // As long as usual.
  if (Status status = read_seconds(options.seconds, seconds_min, seconds_max, seconds); !status) {
    return complain(status.error());
  }
  const Result<std::vector<Case>> cases = cases_under(options.cap);
  if (!cases) return complain(cases.error());
  const auto loaded = context.load();
  if (!loaded) return cli::complain_config(loaded.error());
  const Result<std::vector<ordered_json>> rows =
      run_all(loaded.value().config, cases.value(), seconds);
  if (!rows) return complain(rows.error());
  if (!context.json) return cli::print(table(rows.value(), context.color));
  return cli::print(ordered_json{{"rows", rows.value()}}.dump() + "\n");
}

}  // namespace

cli::Run add_lab(cli::CommandLine& line, cli::Context& context) {
  auto options = std::make_shared<Options>();
  line.option("--seconds", options->seconds,
              "Time of each row, 0.2 to 60 (4 under 1 %, 1 under 4 % and more)");
  line.option("--cap", options->cap,
              "Only this cap: a fraction of all cores' CPU time, or a percentage such as 5% (1, 5 "
              "and 25 %)");
  return [&context, options] { return run(context, *options); };
}

}  // namespace k2k::labs::orthogonal
