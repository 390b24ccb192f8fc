#include "labs/interference/coalescing/lab.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/text_table.hpp"
#include "labs/interference/coalescing/compare.hpp"
#include "labs/interference/coalescing/measure.hpp"
#include "labs/interference/coalescing/model.hpp"
#include "labs/interference/coalescing/shapes.hpp"
#include "labs/interference/complain.hpp"
#include "labs/interference/governor/study.hpp"
#include "labs/interference/options.hpp"
#include "labs/interference/progress_line.hpp"

namespace k2k::labs::coalescing {

namespace {

using namespace std::chrono_literals;
using governor::rounded;
using nlohmann::ordered_json;

constexpr std::uint32_t rounds_min = 4;
constexpr std::uint32_t rounds_max = 1'000;
constexpr std::uint32_t slice_ms_min = 20;
constexpr std::uint32_t slice_ms_max = 10'000;

// Option values as given; empty: not given.
struct Options {
  std::vector<std::string> shapes;
  std::string rounds;
  std::string slice;
  bool quick = false;
  bool simulate = false;
  std::uint64_t seed = 1;
};

std::string list_of_shapes() {
  std::string list;
  for (const Shape& shape : shapes()) {
    list += (list.empty() ? "" : ", ") + std::string(shape.name);
  }
  return list;
}

Result<std::vector<const Shape*>> shapes_of(const Options& options) {
  std::vector<const Shape*> chosen;
  for (const std::string& name : options.shapes) {
    const Shape* const shape = find_shape(name);
    if (shape == nullptr) {
      return Error{EINVAL,
                   fmt::format("there is no shape '{}'; shapes are {}", name, list_of_shapes())};
    }
    chosen.push_back(shape);
  }
  if (chosen.empty()) {
    for (const Shape& shape : shapes()) chosen.push_back(&shape);
  }
  return chosen;
}

Result<Plan> plan_of(const Options& options, std::uint32_t delay_us) {
  Plan plan{.delay_us = delay_us, .seed = options.seed};
  if (options.quick) {
    plan.rounds = 8;
    plan.slice = 100ms;
    plan.warm_up = 1s;
  }
  if (!options.rounds.empty()) {
    const Status status = read_count("--rounds", options.rounds, rounds_max, plan.rounds);
    if (!status || plan.rounds < rounds_min) {
      return Error{EINVAL, fmt::format("--rounds is '{}'; permitted are {} to {}: fewer give no "
                                       "interval",
                                       options.rounds, rounds_min, rounds_max)};
    }
  }
  if (!options.slice.empty()) {
    double ms = 0;
    if (!read_number(options.slice, ms) || !(ms >= slice_ms_min && ms <= slice_ms_max)) {
      return Error{EINVAL, fmt::format("--slice is '{}'; permitted are {} to {} ms", options.slice,
                                       slice_ms_min, slice_ms_max)};
    }
    plan.slice = Nanoseconds(std::llround(ms * 1e6));
  }
  return plan;
}

ordered_json row_of(const Shape& shape, const Plan& plan, const Measured& measured) {
  const double delay_max_ns = 1e3 * plan.delay_us;
  const Comparison seen = compare(measured.rounds, delay_max_ns);
  const auto about = [&](const Contender& one) {
    const Slice sum = sum_of(one.rounds);
    return ordered_json{{"window_us", one.setting.window_us},
                        {"max", one.setting.max},
                        {"cpu_us", rounded(sum.cost_ns() / 1e3)},
                        {"delay_us", rounded(sum.mean_delay_ns() / 1e3)},
                        {"eligible", sum.mean_delay_ns() <= delay_max_ns}};
  };
  ordered_json fixed = ordered_json::array();
  for (const Contender& one : measured.rounds.fixed) fixed.push_back(about(one));
  const Slice adaptive = sum_of(measured.rounds.adaptive.rounds);
  return {{"shape", shape.name},
          {"about", shape.about},
          {"requests", adaptive.requests / plan.rounds},
          {"none_us", fixed[0]["cpu_us"]},
          {"best_window_us", fixed[seen.best]["window_us"]},
          {"best_max", fixed[seen.best]["max"]},
          {"best_us", fixed[seen.best]["cpu_us"]},
          {"best_delay_us", fixed[seen.best]["delay_us"]},
          {"adaptive_us", rounded(adaptive.cost_ns() / 1e3)},
          {"adaptive_delay_us", rounded(adaptive.mean_delay_ns() / 1e3)},
          {"ratio", rounded(seen.ratio.mean)},
          {"low", rounded(seen.ratio.low)},
          {"high", rounded(seen.ratio.high)},
          {"bound_broken", seen.unbounded || seen.delayed},
          {"verdict", name_of(seen.judgement.verdict)},
          {"judgement", text_of(seen.judgement)},
          {"changes", measured.changes},
          {"ledger_off", rounded(measured.ledger_off)},
          {"fixed", fixed}};
}

std::string setting_text(const ordered_json& window, const ordered_json& most) {
  const auto us = window.get<std::uint32_t>();
  return us == 0 ? "none" : fmt::format("{} us, {}", us, most.get<std::uint32_t>());
}

std::string table(const std::vector<ordered_json>& rows, const Plan& plan, bool color) {
  const auto number = [](const ordered_json& value) { return value.get<double>(); };
  std::vector<std::vector<std::string>> lines = {
      {"shape", "requests", "none", "best fixed", "costs", "delay", "adaptive", "delay",
       "adaptive / best", "95 % interval", "changes", "verdict"}};
  for (const ordered_json& row : rows) {
    lines.push_back({row["shape"], fmt::format("{:.0f}", number(row["requests"])),
                     fmt::format("{:.2f} us", number(row["none_us"])),
                     setting_text(row["best_window_us"], row["best_max"]),
                     fmt::format("{:.2f} us", number(row["best_us"])),
                     fmt::format("{:.0f} us", number(row["best_delay_us"])),
                     fmt::format("{:.2f} us", number(row["adaptive_us"])),
                     fmt::format("{:.0f} us", number(row["adaptive_delay_us"])),
                     fmt::format("{:.3f}", number(row["ratio"])),
                     fmt::format("{:.3f} to {:.3f}", number(row["low"]), number(row["high"])),
                     row["changes"].dump(), row["judgement"]});
  }
  return cli::text_table(lines, color) +
         fmt::format(
             "CPU time of service threads a request; {} rounds of {:g} ms, mean delay at "
             "most {} us. Met: adaptive costs at most {:g} % more.\n",
             plan.rounds, static_cast<double>(plan.slice.count()) / 1e6, plan.delay_us,
             tolerance * 100);
}

Result<std::vector<ordered_json>> run_all(const RuntimeConfig& config, const Plan& plan,
                                          const std::vector<const Shape*>& chosen, bool simulated) {
  ProgressLine progress(chosen.size() * (simulated ? 1 : plan.rounds + 1));
  std::vector<ordered_json> rows;
  for (const Shape* const shape : chosen) {
    if (simulated) {
      progress.next(std::string(shape->name));
      rows.push_back(row_of(*shape, plan, simulate(*shape, plan, {})));
      continue;
    }
    const Result<Measured> measured = measure(config, *shape, plan, [&](std::uint32_t round) {
      progress.next(round == 0 ? fmt::format("{}: adaptive learns", shape->name)
                               : fmt::format("{}: round {}", shape->name, round));
    });
    if (!measured) return measured.error();
    rows.push_back(row_of(*shape, plan, measured.value()));
  }
  return rows;
}

int run(const cli::Context& context, const Options& options) {
  const auto complain = [](const Error& error) { return labs::complain("coalescing", error); };
  const Result<std::vector<const Shape*>> chosen = shapes_of(options);
  if (!chosen) return complain(chosen.error());
  const auto loaded = context.load();
  if (!loaded) return cli::complain_config(loaded.error());
  const RuntimeConfig& config = loaded.value().config;
  const Result<Plan> plan = plan_of(options, config.server.coalesce_delay_us);
  if (!plan) return complain(plan.error());
  const Result<std::vector<ordered_json>> rows =
      run_all(config, plan.value(), chosen.value(), options.simulate);
  if (!rows) return complain(rows.error());
  if (!context.json) return cli::print(table(rows.value(), plan.value(), context.color));
  const ordered_json result = {
      {"rows", rows.value()},
      {"rounds", plan.value().rounds},
      {"slice_ms", rounded(static_cast<double>(plan.value().slice.count()) / 1e6)},
      {"delay_us", plan.value().delay_us},
      {"simulated", options.simulate}};
  return cli::print(result.dump() + "\n");
}

}  // namespace

cli::Run add_lab(cli::CommandLine& line, cli::Context& context) {
  auto options = std::make_shared<Options>();
  std::vector<std::string> names;
  for (const Shape& shape : shapes()) names.emplace_back(shape.name);
  line.option("shape", options->shapes, "Only these load shapes, of " + list_of_shapes())
      .offer(names);
  line.option("--rounds", options->rounds,
              "Rounds in which each setting serves its events, 4 to 1000 (20)");
  line.option("--slice", options->slice, "Time of a setting per round, in ms (200)");
  line.flag("--quick", options->quick, "8 rounds of 100 ms: all shapes in less than a minute");
  line.flag("--simulate", options->simulate, "Simulated time: the policy's own code, no threads");
  line.option("--seed", options->seed, "The same number gives the same events (1)");
  return [&context, options] { return run(context, *options); };
}

}  // namespace k2k::labs::coalescing
