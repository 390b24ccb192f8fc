// How much do staging and bar cost compared with pread, if the CPU also makes the device's copies?
//
// 8 MiB from the page cache, one transfer, into 64 MiB in turn so that no data stays in a cache of
// the CPU. The floor is pread; the benchmark cannot show the work that a device's copy engine would
// take off the CPU. Budgets, in floors: staging 2.2 (a second copy), bar 1.6.

#include <benchmark/benchmark.h>

#include "io/file/files_fixture.hpp"
#include "io/gpu/device_engines.hpp"

namespace k2k::io {
namespace {

constexpr std::size_t request = std::size_t{8} << 20;
constexpr std::size_t target_bytes = 8 * request;

struct Bench {
  OwnFiles files;
  Opened file = open_file(make_file(files, "content", request), O_RDONLY);
  Pages target{target_bytes};
  std::size_t at = 0;

  static Bench& get() {
    static Bench bench;
    return bench;
  }
  std::byte* next() {
    at = (at + request) % target_bytes;
    return target.data() + at;
  }
};

void finish(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(request) * state.iterations());
}

void floor_pread(benchmark::State& state) {
  Bench& bench = Bench::get();
  for (auto _ : state) {
    if (::pread(bench.file.number(), bench.next(), request, 0) != ssize_t{request}) {
      return state.SkipWithError("a read failed");
    }
  }
  finish(state);
}
BENCHMARK(floor_pread)->Name("device_floor_pread")->UseRealTime()->Unit(benchmark::kMicrosecond);

using NewEngine = Result<std::unique_ptr<Engine>>;

void reads_of(benchmark::State& state, NewEngine (*make)(DeviceMemory&)) {
  MappedMemory memory;
  NewEngine engine = make(memory);
  if (!engine) return state.SkipWithError(engine.error().message.c_str());
  Bench& bench = Bench::get();
  for (auto _ : state) {
    const Transfer read{bench.file.number(), 0, bench.next(), request, 0, Direction::read};
    Completion completion;
    engine.value()->submit({&read, 1});
    engine.value()->poll({&completion, 1}, 1);
    if (completion.result != std::int64_t{request}) return state.SkipWithError("a read failed");
  }
  finish(state);
}

NewEngine staging_buffered(DeviceMemory& memory) {
  return make_staging(memory, make_buffered(8).value());
}
NewEngine staging_small(DeviceMemory& memory) {
  return make_staging(memory, make_buffered(8).value(), {.buffer_bytes = 128 * 1024});
}
NewEngine staging_pool(DeviceMemory& memory) {
  return make_staging(memory, make_pool(8, 2).value());
}
NewEngine bar(DeviceMemory& memory) { return make_bar(memory, 8); }

BENCHMARK_CAPTURE(reads_of, device_staging_buffered, &staging_buffered)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(reads_of, device_staging_buffered_128k, &staging_small)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(reads_of, device_staging_pool, &staging_pool)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(reads_of, device_bar, &bar)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace k2k::io
