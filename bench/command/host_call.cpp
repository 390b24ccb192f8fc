// How much more than a no-op does a call of a function of the host program take, if the function
// does nothing? And a query of Linux that the server answers in place, than the cheapest one?
//
// A single work-item makes calls one after the other while the server spins. No-ops, calls in
// place, calls on a thread of their own, prints, getpid and getppid take turns of a few calls
// within one launch, so that a change of the machine's load meets all of them. The ratio compares
// the medians of whole turns: the step of some processors' clocks is an eighth of a call.

#include <array>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/figure.hpp"
#include "bench/command/goal.hpp"
#include "device/k2k.hpp"

namespace k2k::bench {

namespace {

constexpr int rounds = 24;
constexpr int turns = 40;
constexpr int warm_up_calls = 20;  // Of each turn.
enum Kind : std::size_t { nop, in_place, on_thread, print, getpid, getppid, kinds };
constexpr std::array<int, kinds> calls_of = {200, 200, 10, 10, 200, 200};  // In a turn.
constexpr std::array<const char*, kinds> names = {"nop",   "in_place", "on_thread",
                                                  "print", "getpid",   "getppid"};

constexpr HostFunction<void()> empty_in_place{"bench.in_place"};
constexpr HostFunction<void()> empty_on_thread{"bench.on_thread"};

// Nanoseconds, by kind.
using Times = std::array<std::vector<double>, kinds>;
struct Blocks {
  Times calls;
  Times turns;  // The mean of a turn's calls.
};

K2K_DEVICE bool make_call(std::size_t kind, int file) {
  switch (kind) {
    case nop:
      return k2k::nop(k2k::work_item).ok();
    case in_place:
      return k2k::host_call(k2k::work_item, empty_in_place).ok();
    case on_thread:
      return k2k::host_call(k2k::work_item, empty_on_thread).ok();
    case getpid:
      return k2k::getpid(k2k::work_item).ok();
    case getppid:
      return k2k::getppid(k2k::work_item).ok();
    default:
      return k2k::print_to(k2k::work_item, file, "{}\n", 7).ok();
  }
}

Result<Blocks> measure_round(Runtime& runtime, int file) {
  Blocks blocks;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    blocks.calls[kind].resize(static_cast<std::size_t>(turns * calls_of[kind]));
    blocks.turns[kind].resize(turns);
  }
  const double scale = nanoseconds_per_cycle();
  bool failed = false;
  const auto kernel = [&] {
    for (std::size_t step = 0; step < turns * kinds; ++step) {
      const std::size_t kind = step % kinds;
      double* const samples =
          &blocks.calls[kind][step / kinds * static_cast<std::size_t>(calls_of[kind])];
      std::uint64_t begin = 0;
      for (int call = -warm_up_calls; call < calls_of[kind]; ++call) {
        const std::uint64_t start = cycles();
        if (call == 0) begin = start;
        const bool right = make_call(kind, file);
        const auto took = static_cast<double>(cycles() - start) * scale;
        if (call >= 0) samples[call] = took;
        failed = failed || !right;
      }
      blocks.turns[kind][step / kinds] =
          static_cast<double>(cycles() - begin) * scale / calls_of[kind];
    }
  };
  auto report = runtime.launch({.groups = 1, .group_items = 1}, kernel, "bench hostcall");
  if (!report) return report.error();
  if (failed) return Error{EIO, "a call was answered with an error"};
  return blocks;
}

}  // namespace

Result<nlohmann::ordered_json> host_calls(const RuntimeConfig& base) {
  RuntimeConfig config = base;
  config.device.compute_units = 1;
  config.server.spin_us = 1'000'000;
  auto file = MemoryFile::create(1);
  if (!file) return file.error();
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  const auto nothing = [] {};
  Status status = runtime.value().provide(empty_in_place, nothing, HostClass::never_blocks);
  if (status) status = runtime.value().provide(empty_on_thread, nothing);
  if (!status) return status.error();
  std::array<Samples, kinds> all;
  std::vector<double> functions;
  std::vector<double> queries;
  for (int round = 0; round < rounds; ++round) {
    auto blocks = measure_round(runtime.value(), file.value().descriptor());
    if (!blocks) return blocks.error();
    const auto turn = [&](Kind kind) { return Samples(blocks.value().turns[kind]).median(); };
    functions.push_back(turn(in_place) / turn(nop));
    queries.push_back(turn(getppid) / turn(getpid));
    for (std::size_t kind = 0; kind < kinds; ++kind) all[kind].add(blocks.value().calls[kind]);
  }
  nlohmann::ordered_json p50;
  nlohmann::ordered_json p99;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    p50[names[kind]] = rounded(all[kind].median() / 1000);
    p99[names[kind]] = rounded(all[kind].quantile(0.99) / 1000);
  }
  nlohmann::ordered_json result;
  result["p50_us"] = p50;
  result["p99_us"] = p99;
  result["goals"] = {goal_row({"hostcall", "empty function in place / no-op"}, functions),
                     goal_row({"hostcall", "getppid / getpid"}, queries)};
  return result;
}

}  // namespace k2k::bench
