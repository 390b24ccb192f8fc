// Does a call that sleeps, or that waits for a disk, delay the others?
//
// One work-item makes no-ops. Loaded: another work-item repeatedly sleeps 1 ms beside it. Behind
// cold reads: 64 other work-items each read 1 MiB of a file that was evicted before; only no-ops
// before the last of these reads count. The cold reads are measured with service threads and with
// units that serve (server.bottom_half = "inline"). Loaded, a server with one thread and no
// hand-off takes 1,000 times as long.

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/cached_file.hpp"
#include "bench/command/goal.hpp"
#include "device/k2k.hpp"

namespace k2k::bench {

namespace {

constexpr int line_rounds = 8;
constexpr int calls_per_round = 100'000;
// At the start of a launch, the unit and the service thread may share a core for some milliseconds.
constexpr Nanoseconds warm_up = std::chrono::milliseconds(20);
constexpr int cold_rounds = 6;
constexpr std::uint32_t cold_reads = 64;
constexpr int cold_calls_max = 4'000'000;  // Per round; a disk takes less long.

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
      const std::uint64_t begin = cycles();
      while (static_cast<double>(cycles() - begin) * scale < static_cast<double>(warm_up.count())) {
        k2k::nop(k2k::work_item);
      }
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

// No-ops beside 64 reads of 1 MiB that are not in the page cache.
Result<std::vector<double>> measure_cold(Runtime& runtime, const CachedFile& file, int descriptor,
                                         std::byte* memory) {
  file.evict(0, CachedFile::file_bytes);
  std::vector<double> nanoseconds(cold_calls_max);
  double* const sample = nanoseconds.data();
  const double scale = nanoseconds_per_cycle();
  struct {
    std::uint32_t left = cold_reads;
    int calls = 0;
    long failure = 0;
  } shared_state;
  auto* const shared = &shared_state;
  const auto kernel = [=] {
    if (k2k::group_rank() == 0) {
      int call = 0;
      while (call < cold_calls_max && __atomic_load_n(&shared->left, __ATOMIC_ACQUIRE) != 0) {
        const std::uint64_t start = cycles();
        const long answer = k2k::nop(k2k::work_item);
        sample[call++] = static_cast<double>(cycles() - start) * scale;
        if (answer != 0) shared->failure = answer;
      }
      shared->calls = call;
      return;
    }
    const std::size_t at = (k2k::group_rank() - 1) * mib;
    const long count =
        k2k::pread(k2k::work_item, descriptor, memory + at, mib, static_cast<std::int64_t>(at));
    if (count != static_cast<long>(mib)) shared->failure = count < 0 ? count : -EIO;
    __atomic_fetch_sub(&shared->left, 1u, __ATOMIC_RELEASE);
  };
  auto report = runtime.launch({.groups = 1 + cold_reads, .group_items = 1}, kernel, "bench cold");
  if (!report) return report.error();
  if (shared_state.failure != 0) return Error{EIO, "a call was answered with an error"};
  nanoseconds.resize(static_cast<std::size_t>(shared_state.calls));
  return nanoseconds;
}

// The delays of no-ops alone and behind cold reads, in turns.
struct Behind {
  Samples alone;
  Samples cold;
  std::vector<double> ratios{};  // One per round: p99 behind cold reads / p99 alone.
};

Result<Behind> behind_cold_reads(Runtime& runtime) {
  auto file = CachedFile::make();
  if (!file) return file.error();
  const Memory memory = memory_of(CachedFile::file_bytes);
  Behind seen;
  std::uint64_t no_sleeps = 0;
  for (int round = 0; round < cold_rounds; ++round) {
    auto alone = measure(runtime, false, no_sleeps);
    if (!alone) return alone.error();
    // Opened anew, so that no earlier observation of the descriptor helps.
    const int descriptor = file.value()->open(0);
    if (descriptor < 0) return Error{errno, "the file of cold reads cannot be opened again"};
    auto cold = measure_cold(runtime, *file.value(), descriptor, memory.get());
    ::close(descriptor);
    if (!cold) return cold.error();
    seen.alone.add(alone.value());
    seen.cold.add(cold.value());
    seen.ratios.push_back(Samples(cold.value()).quantile(0.99) /
                          Samples(alone.value()).quantile(0.99));
  }
  return seen;
}

Result<Behind> behind_cold_reads(RuntimeConfig config, server::BottomHalfMode mode) {
  config.server.bottom_half = mode;
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  return behind_cold_reads(runtime.value());
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
  std::vector<double> ratios;
  for (int round = 0; round < line_rounds; ++round) {
    auto alone = measure(runtime.value(), false, sleeps);
    if (!alone) return alone.error();
    unloaded.add(alone.value());
    auto beside = measure(runtime.value(), true, sleeps);
    if (!beside) return beside.error();
    loaded.add(beside.value());
    ratios.push_back(Samples(beside.value()).median() / Samples(alone.value()).median());
  }
  auto threads = behind_cold_reads(runtime.value());
  if (!threads) return threads.error();
  const Samples& cold = threads.value().cold;
  auto units = behind_cold_reads(config, server::BottomHalfMode::on_unit);
  if (!units) return units.error();
  nlohmann::ordered_json result;
  result["unloaded_p50_us"] = rounded(unloaded.median() / 1000);
  result["loaded_p50_us"] = rounded(loaded.median() / 1000);
  result["unloaded_p99_us"] = rounded(unloaded.quantile(0.99) / 1000);
  result["loaded_p99_us"] = rounded(loaded.quantile(0.99) / 1000);
  result["sleeps"] = sleeps;
  result["ratio"] = rounded(loaded.median() / unloaded.median());
  result["cold_p50_us"] = rounded(cold.median() / 1000);
  result["cold_p99_us"] = rounded(cold.quantile(0.99) / 1000);
  result["cold_p999_us"] = rounded(cold.quantile(0.999) / 1000);
  result["cold_ratio_p99"] = rounded(interval_of(threads.value().ratios).mean);
  result["inline_unloaded_p99_us"] = rounded(units.value().alone.quantile(0.99) / 1000);
  result["inline_cold_p99_us"] = rounded(units.value().cold.quantile(0.99) / 1000);
  result["goals"] = {
      goal_row({"headofline", "p50 loaded / unloaded"}, ratios),
      goal_row({"headofline", "p99 behind 64 cold reads of 1 MiB / unloaded, inline"},
               units.value().ratios)};
  return result;
}

}  // namespace k2k::bench
