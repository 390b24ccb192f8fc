// How much time does one system call of a work-item take, beyond the cache-line transfers that it
// needs anyway?
//
// A single work-item makes no-ops one after the other while the server spins. The number of waves
// only sizes the syscall area: a server that scanned slots would slow down with it. An H200 has
// 8,448 waves.

#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/goal.hpp"
#include "device/k2k.hpp"

namespace k2k::bench {

namespace {

constexpr std::array<std::uint32_t, 3> wave_counts = {64, 8448, 16384};
constexpr int trip_rounds = 8;
constexpr int round_trips_per_round = 40'000;
constexpr int warm_up_round_trips = 2'000;

Result<std::vector<double>> measure(Runtime& runtime) {
  std::vector<double> nanoseconds(round_trips_per_round);
  double* const sample = nanoseconds.data();
  const double scale = nanoseconds_per_cycle();
  bool failed = false;
  bool* const failure = &failed;
  const auto kernel = [=] {
    for (int call = 0; call < warm_up_round_trips; ++call) k2k::nop(k2k::work_item);
    for (int call = 0; call < round_trips_per_round; ++call) {
      const std::uint64_t start = cycles();
      const long answer = k2k::nop(k2k::work_item);
      sample[call] = static_cast<double>(cycles() - start) * scale;
      if (answer != 0) *failure = true;
    }
  };
  auto report = runtime.launch({.groups = 1, .group_items = 1}, kernel, "bench roundtrip");
  if (!report) return report.error();
  if (failed) return Error{EIO, "a no-op was answered with an error"};
  return nanoseconds;
}

}  // namespace

Result<nlohmann::ordered_json> round_trip(const RuntimeConfig& base) {
  std::array<std::unique_ptr<Runtime>, wave_counts.size()> runtimes;
  for (std::size_t index = 0; index < wave_counts.size(); ++index) {
    RuntimeConfig config = base;
    config.device.compute_units = 1;
    config.device.wave_lanes = 32;
    config.device.resident_waves = wave_counts[index];
    auto runtime = Runtime::create(config);
    if (!runtime) return runtime.error();
    runtimes[index] = std::make_unique<Runtime>(std::move(runtime).value());
  }
  Samples floor;
  std::array<Samples, wave_counts.size()> ours;
  // Medians of the rounds: the smallest device beside the floor, the others beside the smallest
  // device.
  std::array<std::vector<double>, wave_counts.size()> ratios;
  for (int round = 0; round < trip_rounds; ++round) {
    auto trips = cache_line_round_trips(round_trips_per_round);
    if (!trips) return trips.error();
    floor.add(trips.value());
    double beside = Samples(trips.value()).median();
    for (std::size_t index = 0; index < wave_counts.size(); ++index) {
      // Only the runtime under measurement may spin: two cores have no room for a second spinning
      // server.
      server::ServerConfig server = runtimes[index]->server_config();
      server.spin_us = 1'000'000;
      if (Status status = runtimes[index]->reconfigure(server); !status) return status.error();
      auto samples = measure(*runtimes[index]);
      server.spin_us = base.server.spin_us;
      if (Status status = runtimes[index]->reconfigure(server); !status) return status.error();
      if (!samples) return samples.error();
      ours[index].add(samples.value());
      const double median = Samples(samples.value()).median();
      ratios[index].push_back(median / beside);
      if (index == 0) beside = median;
    }
  }
  nlohmann::ordered_json p50;
  nlohmann::ordered_json p99;
  for (std::size_t index = 0; index < wave_counts.size(); ++index) {
    p50[std::to_string(wave_counts[index])] = rounded(ours[index].median() / 1000);
    p99[std::to_string(wave_counts[index])] = rounded(ours[index].quantile(0.99) / 1000);
  }
  nlohmann::ordered_json result;
  result["floor_us"] = rounded(floor.median() / 1000);
  result["p50_us"] = p50;
  result["p99_us"] = p99;
  result["ratio_to_floor"] = rounded(ours[0].median() / floor.median());
  result["goals"] = {goal_row({"roundtrip", "p50 with 64 waves / floor"}, ratios[0]),
                     goal_row({"roundtrip", "p50 with 8,448 waves / with 64"}, ratios[1]),
                     goal_row({"roundtrip", "p50 with 16,384 waves / with 64"}, ratios[2])};
  return result;
}

}  // namespace k2k::bench
