// How much does the executor itself cost? Every call of every work-item pays for the switch twice.
//
// Budgets (docs/design/cpu-backend.md): switch 10 ns, barrier 20 ns a work-item, empty work-item
// 100 ns, launch of a tiny kernel 100 µs, no-op round trip near the two-line floor.

#include <benchmark/benchmark.h>

#include "backend/cpu/device_fixture.hpp"

namespace k2k::backend::cpu {
namespace {

DeviceConfig one_unit() {
  DeviceConfig config;
  config.compute_units = 1;
  return config;
}

// A yield is two switches and a turn of the queue.
void yield_turn(benchmark::State& state) {
  const auto device = build(one_unit());
  const auto items = static_cast<std::uint32_t>(state.range(0));
  constexpr int turns = 1000;
  for (auto _ : state) {
    (void)run(*device, 1, items, [] {
      for (int turn = 0; turn < turns; ++turn) platform::yield();
    });
  }
  state.counters["yield"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * items * turns,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(yield_turn)->Arg(1)->Arg(64)->Arg(1024)->MeasureProcessCPUTime()->UseRealTime();

void barrier_per_item(benchmark::State& state) {
  const auto device = build(one_unit());
  const auto items = static_cast<std::uint32_t>(state.range(0));
  constexpr int turns = 1000;
  for (auto _ : state) {
    (void)run(*device, 1, items, [] {
      for (int turn = 0; turn < turns; ++turn) platform::barrier();
    });
  }
  state.counters["barrier"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * items * turns,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(barrier_per_item)->Arg(64)->Arg(1024)->MeasureProcessCPUTime()->UseRealTime();

void empty_item(benchmark::State& state) {
  const auto device = build(one_unit());
  constexpr std::uint32_t groups = 1000;
  for (auto _ : state) (void)run(*device, groups, 256, [] {});
  state.counters["item"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * groups * 256,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(empty_item)->MeasureProcessCPUTime()->UseRealTime();

void tiny_launch(benchmark::State& state) {
  const auto device = build(one_unit());
  for (auto _ : state) (void)run(*device, 1, 1, [] {});
}
BENCHMARK(tiny_launch)->MeasureProcessCPUTime()->UseRealTime();

// One work-item makes calls, a host thread that polls the ring answers at once.
void round_trip(benchmark::State& state) {
  const auto device = build(one_unit());
  const Host host(*device);
  constexpr int calls = 10000;
  for (auto _ : state) {
    (void)run(*device, 1, 1, [] {
      for (int call = 0; call < calls; ++call) benchmark::DoNotOptimize(ask(1));
    });
  }
  state.counters["call"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * calls,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(round_trip)->MeasureProcessCPUTime()->UseRealTime();

}  // namespace
}  // namespace k2k::backend::cpu
