// Does a call that sleeps hold up the others?
//
// One work-item makes no-ops; loaded, another one sleeps 1 ms again and again beside it.
// Budget: p50 loaded <= 3 x unloaded. (A server with one thread and no hand-off: 1,000 x.)

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "bench/command/bench.hpp"
#include "device/k2k.hpp"

namespace k2k::bench {

namespace {

constexpr int rounds = 8;
constexpr int calls_per_round = 100'000;
constexpr int warm_up = 2'000;

struct Shared {
  std::uint32_t done = 0;
  std::uint64_t sleeps = 0;
  long failure = 0;
};

struct TimeSpec {
  std::int64_t seconds;
  std::int64_t nanoseconds;
};

Result<std::vector<double>> measure(Runtime& runtime, bool loaded, std::uint64_t& sleeps) {
  std::vector<double> nanoseconds(calls_per_round);
  double* const sample = nanoseconds.data();
  const double scale = nanoseconds_per_cycle();
  Shared shared_state;
  Shared* const shared = &shared_state;
  const auto kernel = [=] {
    if (k2k::group_rank() == 0) {
      for (int call = 0; call < warm_up; ++call) k2k::nop(k2k::work_item);
      for (int call = 0; call < calls_per_round; ++call) {
        const std::uint64_t start = cycles();
        const long answer = k2k::nop(k2k::work_item);
        sample[call] = static_cast<double>(cycles() - start) * scale;
        if (answer != 0) shared->failure = answer;
      }
      __atomic_store_n(&shared->done, 1u, __ATOMIC_RELEASE);
      return;
    }
    const TimeSpec request{0, 1'000'000};
    while (__atomic_load_n(&shared->done, __ATOMIC_ACQUIRE) == 0) {
      const long answer = k2k::nanosleep(k2k::work_item, &request);
      if (answer != 0) shared->failure = answer;
      ++shared->sleeps;
    }
  };
  const LaunchShape shape{.groups = loaded ? 2u : 1u, .group_items = 1};
  auto report = runtime.launch(shape, kernel, "bench headofline");
  if (!report) return report.error();
  if (shared_state.failure != 0) return Error{EIO, "a call was answered with an error"};
  sleeps += shared_state.sleeps;
  return nanoseconds;
}

}  // namespace

Result<nlohmann::ordered_json> head_of_line(const RuntimeConfig& base) {
  RuntimeConfig config = base;
  config.device.compute_units = 1;
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  Samples unloaded;
  Samples loaded;
  std::uint64_t sleeps = 0;
  for (int round = 0; round < rounds; ++round) {
    auto alone = measure(runtime.value(), false, sleeps);
    if (!alone) return alone.error();
    unloaded.add(alone.value());
    auto beside = measure(runtime.value(), true, sleeps);
    if (!beside) return beside.error();
    loaded.add(beside.value());
  }
  nlohmann::ordered_json result;
  result["unloaded_p50_us"] = rounded(unloaded.median() / 1000);
  result["loaded_p50_us"] = rounded(loaded.median() / 1000);
  result["unloaded_p99_us"] = rounded(unloaded.quantile(0.99) / 1000);
  result["loaded_p99_us"] = rounded(loaded.quantile(0.99) / 1000);
  result["sleeps"] = sleeps;
  result["ratio"] = rounded(loaded.median() / unloaded.median());
  return result;
}

}  // namespace k2k::bench
