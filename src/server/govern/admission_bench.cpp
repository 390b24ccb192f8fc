// Question: what is the best throughput under a cap? A thread that serves in batches finds its core
// asleep and its caches cold after each pause, with or without K2K. The benchmark runs such a
// thread without K2K: batches as Admission orders them at a cap of 1, 5 and 25 % of two cores,
// pauses between them, reads of random bytes. `of_ideal` is the CPU time of the same reads without
// pauses, divided by their CPU time with pauses: the bound for `k2k lab governor` on this machine.

#include <benchmark/benchmark.h>
#include <sys/random.h>

#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "server/govern/admission.hpp"

namespace k2k::server {
namespace {

constexpr std::size_t read_bytes = 8192;  // 15 to 25 us.
constexpr std::size_t buffers = 64;       // One per outstanding request.

class Reads {
 public:
  void make(std::int64_t count) {
    for (std::int64_t read = 0; read < count; ++read) {
      std::byte* const into = memory_.data() + (next_++ % buffers) * read_bytes;
      benchmark::DoNotOptimize(::getrandom(into, read_bytes, 0));
    }
  }

 private:
  std::vector<std::byte> memory_ = std::vector<std::byte>(buffers * read_bytes);
  std::size_t next_ = 0;
};

// CPU time of one read, in nanoseconds.
double cost_without_pauses(Reads& reads) {
  constexpr std::int64_t count = 2000;
  reads.make(count);
  const Nanoseconds before = thread_time();
  reads.make(count);
  return static_cast<double>((thread_time() - before).count()) / count;
}

void reads_in_batches(benchmark::State& state) {
  const std::chrono::microseconds batch(state.range(0));
  const std::chrono::microseconds pause(state.range(1));
  Reads reads;
  double ideal_ns = 0;
  double took_ns = 0;
  for (auto _ : state) {
    // Measured next to each batch, since the clock rate of a shared machine changes.
    const double read_ns = cost_without_pauses(reads);
    const auto count =
        static_cast<std::int64_t>(static_cast<double>(batch.count()) * 1e3 / read_ns);
    const Nanoseconds before = thread_time();
    std::this_thread::sleep_for(pause);
    reads.make(count);
    const Nanoseconds took = thread_time() - before;
    ideal_ns += read_ns * static_cast<double>(count);
    took_ns += static_cast<double>(took.count());
    state.SetIterationTime(static_cast<double>(took.count()) / 1e9);
  }
  state.counters["of_ideal"] = ideal_ns / took_ns;
}
// Batches of 1.6 ms of CPU time every 80, 16 and 3.2 ms; and of 0.9 ms every 45 ms.
BENCHMARK(reads_in_batches)
    ->ArgNames({"batch_us", "pause_us"})
    ->Args({1600, 78'400})
    ->Args({900, 44'100})
    ->Args({1600, 14'400})
    ->Args({1600, 1600})
    ->UseManualTime()
    ->Iterations(40)
    ->Unit(benchmark::kMicrosecond);

// --- The cost of admission per request.

ServerConfig capped(std::uint32_t permille, const char* tenants = "") {
  ServerConfig config;
  config.cap_permille = permille;
  config.tenants = tenants;
  return config;
}

void pass_without_cap(benchmark::State& state) {
  Admission admission;
  if (!admission.configure({}).ok()) state.SkipWithError("not configured");
  ServiceAccount account;
  for (auto _ : state) benchmark::DoNotOptimize(admission.pass(account, 1));
}
BENCHMARK(pass_without_cap);

void pass_within_grant(benchmark::State& state) {
  Admission admission;
  if (!admission.configure(capped(1000)).ok()) state.SkipWithError("not configured");
  ServiceAccount account;
  admission.pass(account, 1);
  for (auto _ : state) {
    account.until = ~std::uint64_t{0};
    account.open = true;
    benchmark::DoNotOptimize(admission.pass(account, 1));
  }
}
BENCHMARK(pass_within_grant);

void renews_a_grant(benchmark::State& state) {
  Admission admission;
  if (!admission.configure(capped(1000)).ok()) state.SkipWithError("not configured");
  ServiceAccount account;
  for (auto _ : state) {
    account.until = 0;
    benchmark::DoNotOptimize(admission.pass(account, 1));
  }
}
BENCHMARK(renews_a_grant);

void asks_for_a_tenant(benchmark::State& state) {
  Admission admission;
  if (!admission.configure(capped(1000, "1:weight=1 2:weight=1")).ok())
    state.SkipWithError("not configured");
  ThreadStats stats;
  ServiceAccount account;
  account.stats = &stats;
  for (auto _ : state) {
    account.grants[admission.budget_of(1)].until = 0;
    benchmark::DoNotOptimize(admission.admits(account, 1));
  }
}
BENCHMARK(asks_for_a_tenant);

}  // namespace
}  // namespace k2k::server
