// How much does a call cost where no cache line travels?
//
// Unit and server are one thread (server.bottom_half = inline), so what remains are the
// instructions of the whole path: claim, doorbell, bundle, answer, release. On two cores the
// transfer of lines hides a fifth of a call more or less; here a run mostly repeats to the percent.
// If the other hyperthread of the core is busy, a call takes up to twice as long, and the loop of
// multiplications, which waits for itself, does not.
//
//   lone       a work-item makes no-ops one after the other
//   wave       a whole wave of 32 work-items makes them together
//
// The goals are ratios to a loop of dependent multiplications (base/reference_loop.hpp).

#include <array>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/reference_loop.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/goal.hpp"
#include "device/k2k.hpp"

namespace k2k::bench {

namespace {

constexpr int core_rounds = 9;
constexpr std::uint32_t calls_a_batch = 100;
// In the first milliseconds of a launch the unit may share its core with a thread that still spins.
constexpr std::uint32_t batches = 2'000;
constexpr std::uint32_t wave_batches = 200;
constexpr std::uint32_t wave_items = 32;
constexpr int loop_rounds = 100;

// Nanoseconds of a call, the median of batches of calls.
template <class Call>
Result<double> call_ns(Runtime& runtime, std::uint32_t items, Call call) {
  const std::uint32_t count = items == 1 ? batches : wave_batches;
  std::vector<double> nanoseconds(count);
  double* const sample = nanoseconds.data();
  bool failed = false;
  bool* const failure = &failed;
  const double scale = nanoseconds_per_cycle() / calls_a_batch / items;
  const auto kernel = [=] {
    const bool first = k2k::item_rank() == 0;
    for (std::uint32_t batch = 0; batch < count; ++batch) {
      const std::uint64_t begin = cycles();
      for (std::uint32_t made = 0; made < calls_a_batch; ++made) {
        if (call() < 0) *failure = true;
      }
      if (first) sample[batch] = static_cast<double>(cycles() - begin) * scale;
    }
  };
  auto report = runtime.launch({.groups = 1, .group_items = items}, kernel, "bench onecore");
  if (!report) return report.error();
  if (failed) return Error{EIO, "a call was answered with an error"};
  return Samples(nanoseconds).median();
}

}  // namespace

Result<nlohmann::ordered_json> one_core(const RuntimeConfig& base) {
  RuntimeConfig config = base;
  config.server.bottom_half = server::BottomHalfMode::on_unit;
  config.device.compute_units = 1;
  config.device.wave_lanes = wave_items;
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  struct Way {
    const char* name;
    Goal goal;
    std::vector<double> ratios = {};
    Samples ns = {};
  };
  std::array<Way, 2> ways = {{{"lone_ns", {"onecore", "lone no-op / 1,000 multiplications"}},
                              {"wave_ns", {"onecore", "no-op of a wave / 1,000 multiplications"}}}};
  const auto no_op = [] { return static_cast<long>(k2k::nop(k2k::work_item)); };
  const auto wave_no_op = [] {
    return static_cast<long>(k2k::nop(k2k::work_item, k2k::wave_wide));
  };
  Samples loops;
  for (int round = 0; round < core_rounds; ++round) {
    const double loop = reference_loop_ns(loop_rounds);
    loops.add(loop);
    for (std::size_t way = 0; way < ways.size(); ++way) {
      const Result<double> ns = way == 0 ? call_ns(runtime.value(), 1, no_op)
                                         : call_ns(runtime.value(), wave_items, wave_no_op);
      if (!ns) return ns.error();
      ways[way].ns.add(ns.value());
      ways[way].ratios.push_back(ns.value() / loop);
    }
  }
  nlohmann::ordered_json result;
  result["loop_ns"] = rounded(loops.median());
  for (const Way& way : ways) result[way.name] = rounded(way.ns.median());
  result["goals"] = nlohmann::ordered_json::array();
  for (const Way& way : ways) result["goals"].push_back(goal_row(way.goal, way.ratios));
  return result;
}

}  // namespace k2k::bench
