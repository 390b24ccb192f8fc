#include "labs/interference/apu/statements.hpp"

#include <algorithm>
#include <cmath>

#include "labs/interference/governor/study.hpp"

namespace k2k::labs::apu {

namespace {

using governor::rounded;
using nlohmann::ordered_json;

constexpr std::uint64_t seed = 1;
// Sleep is stated in whole percent, read from figures; the path's rates vary more.
constexpr double points = 0.05;
constexpr double tenth = 0.1;

// A machine, and its path under no setting.
struct Machine {
  Apu apu = {};
  Outcome usual = {};
};

// The machines of a range: the assumed one, and others, one assumption at a time.
std::vector<Machine> assumptions(double seconds) {
  std::vector<Machine> all(1);
  const auto with = [&](double Apu::* time, double us) {
    all.emplace_back();
    all.back().apu.*time = us;
  };
  for (const double us : {10.0, 200.0}) with(&Apu::entry_us, us);
  for (const double us : {5.0, 100.0}) with(&Apu::exit_us, us);
  for (const double us : {5.0, 80.0}) with(&Apu::background_us, us);
  for (const double us : {0.1, 5.0}) with(&Apu::gap_us, us);
  for (Machine& one : all) one.usual = simulate(one.apu, {}, seconds, seed);
  return all;
}

// A figure of the path under a setting, beside the path under none.
using FigureOf = double (*)(const Apu& apu, const Outcome& path, const Outcome& usual);

Range range_of(const std::vector<Machine>& machines, const Setting& setting, double seconds,
               FigureOf figure) {
  Range range{1e300, 0, -1e300};
  bool first = true;
  for (const auto& [apu, usual] : machines) {
    const double value = figure(apu, simulate(apu, setting, seconds, seed), usual);
    if (first) range.mean = value;
    first = false;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range;
}

double rate_beside(const Apu& /*apu*/, const Outcome& path, const Outcome& usual) {
  return path.faults_per_ms / usual.faults_per_ms;
}
double interrupts_beside(const Apu& /*apu*/, const Outcome& path, const Outcome& usual) {
  return path.interrupts / usual.interrupts;
}
double share(const Apu& /*apu*/, const Outcome& path, const Outcome& /*usual*/) {
  return path.share;
}
// What is left to programs on every core, beside what the usual path leaves.
double left_beside(const Apu& /*apu*/, const Outcome& path, const Outcome& usual) {
  return (1 - path.share) / (1 - usual.share);
}

}  // namespace

const char* verdict_of(const Statement& statement) {
  const auto agrees = [&](double value) {
    if (statement.at_least && value >= statement.paper) return true;
    return std::abs(value - statement.paper) <= statement.tolerance;
  };
  const auto [low, mean, high] = statement.ours;
  if (agrees(low) && agrees(high)) return "reproduced";
  const double nearest = std::clamp(statement.paper, low, high);
  return agrees(nearest) ? "cannot tell" : "not reproduced";
}

std::vector<Statement> statements(double seconds) {
  const std::vector<Machine> machines = assumptions(seconds);
  const auto range = [&](const Setting& setting, FigureOf figure) {
    return range_of(machines, setting, seconds, figure);
  };
  const Setting steer{.steer = true};
  const Setting coalesce{.coalesce = true};
  const Setting monolithic{.monolithic = true};
  const Setting both{.steer = true, .coalesce = true};
  const Setting all{.steer = true, .coalesce = true, .monolithic = true};
  const auto asleep = [&](const Setting& setting) { return range(setting, asleep_in_a_run); };
  return {
      {"sleep-steered", "V-E", "Steering raises the time asleep to 50 %", 0.50, points, false,
       asleep(steer)},
      {"sleep-monolithic", "V-E", "A monolithic bottom half yields similar results", 0.50, points,
       false, asleep(monolithic)},
      {"sleep-coalesced", "V-E", "Coalescing by itself has little effect on the time asleep", 0.12,
       points, false, asleep(coalesce)},
      {"sleep-all", "V-E", "All three techniques raise the time asleep to 57 %", 0.57, points,
       false, asleep(all)},
      {"loss", "IV-A", "CPU programs lose 28 % on average: the part that handlers take directly",
       0.28, points, false, range({}, share)},
      {"rate-steered-coalesced", "V-D, figure 7",
       "Coalescing and steering speed the microbenchmark up by 45 %", 1.45, tenth, true,
       range(both, rate_beside)},
      {"cpu-steered-coalesced", "V-D, figure 7", "and the CPU programs by 10 %", 1.10, points, true,
       range(both, left_beside)},
      {"rate-monolithic", "V-D", "A monolithic bottom half makes faults more than twice as fast",
       2.0, tenth, true, range(monolithic, rate_beside)},
      {"interrupts-coalesced", "V-B", "Coalescing reduces the interrupts by 16 % on average", 0.84,
       tenth, false, range(coalesce, interrupts_beside)},
  };
}

ordered_json json_of(const Statement& statement) {
  return {{"id", statement.id},
          {"section", statement.section},
          {"says", statement.says},
          {"paper", statement.paper},
          {"low", rounded(statement.ours.low)},
          {"ours", rounded(statement.ours.mean)},
          {"high", rounded(statement.ours.high)},
          {"verdict", verdict_of(statement)}};
}

const std::vector<Named>& combinations() {
  static const std::vector<Named> all = {
      {"staged", {}},
      {"staged+steer", {.steer = true}},
      {"staged+coalesce", {.coalesce = true}},
      {"staged+steer+coalesce", {.steer = true, .coalesce = true}},
      {"monolithic", {.monolithic = true}},
      {"monolithic+steer", {.steer = true, .monolithic = true}},
      {"monolithic+coalesce", {.coalesce = true, .monolithic = true}},
      {"monolithic+steer+coalesce", {.steer = true, .coalesce = true, .monolithic = true}}};
  return all;
}

ordered_json row_of(const Named& one, double seconds) {
  const Apu apu;
  const Outcome usual = simulate(apu, {}, seconds, seed);
  const Outcome path = simulate(apu, one.setting, seconds, seed);
  return {{"setting", one.name},
          {"asleep_in_a_run", rounded(asleep_in_a_run(apu, path, usual))},
          {"asleep", rounded(path.asleep)},
          {"faults_per_ms", rounded(path.faults_per_ms)},
          {"latency_us", rounded(path.latency_us)},
          {"interrupts", rounded(path.interrupts)},
          {"between_cores", rounded(path.between_cores)},
          {"host_us", rounded(path.host_us)},
          {"share", rounded(path.share)}};
}

}  // namespace k2k::labs::apu
