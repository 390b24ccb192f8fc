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
//   function   a work-item calls a function of the host program that does nothing
//   read       a work-item reads 64 bytes of a file that the page cache has
//
// The goals are ratios to a loop of dependent multiplications (base/reference_loop.hpp).

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/reference_loop.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/figure.hpp"
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
constexpr std::size_t read_bytes = 64;
constexpr HostFunction<void()> empty{"bench.onecore"};

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
  auto file = MemoryFile::create(read_bytes);
  if (!file) return file.error();
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  if (Status status = runtime.value().provide(empty, [] {}, HostClass::never_blocks); !status) {
    return status.error();
  }
  const auto no_op = [] { return static_cast<long>(k2k::nop(k2k::work_item)); };
  const auto wave_no_op = [] {
    return static_cast<long>(k2k::nop(k2k::work_item, k2k::wave_wide));
  };
  const auto function = [] { return k2k::host_call(k2k::work_item, empty).ok() ? 0L : -1L; };
  std::array<char, read_bytes> memory{};
  const auto read = [to = memory.data(), from = file.value().descriptor()] {
    return static_cast<long>(k2k::pread(k2k::work_item, from, to, read_bytes, 0));
  };
  enum Way : std::size_t { lone, wave, functions, reads, ways };
  std::array<std::vector<double>, ways> all;
  std::vector<double> loops;
  for (int round = 0; round < core_rounds; ++round) {
    loops.push_back(reference_loop_ns(loop_rounds));
    for (std::size_t way = 0; way < ways; ++way) {
      const Result<double> ns = way == lone   ? call_ns(runtime.value(), 1, no_op)
                                : way == wave ? call_ns(runtime.value(), wave_items, wave_no_op)
                                : way == functions ? call_ns(runtime.value(), 1, function)
                                                   : call_ns(runtime.value(), 1, read);
      if (!ns) return ns.error();
      all[way].push_back(ns.value());
    }
  }
  const auto in_loops = [&](Way way) {
    std::vector<double> ratios = all[way];
    for (std::size_t round = 0; round < ratios.size(); ++round) ratios[round] /= loops[round];
    return ratios;
  };
  nlohmann::ordered_json result;
  result["loop_ns"] = rounded(Samples(loops).median());
  constexpr std::array<const char*, ways> names = {"lone_ns", "wave_ns", "function_ns", "read_ns"};
  for (std::size_t way = 0; way < ways; ++way) {
    result[names[way]] = rounded(Samples(all[way]).median());
  }
  result["goals"] = {
      goal_row({"onecore", "lone no-op / 1,000 multiplications"}, in_loops(lone)),
      goal_row({"onecore", "no-op of a wave / 1,000 multiplications"}, in_loops(wave))};
  return result;
}

}  // namespace k2k::bench
