// How much does a batch of direct reads cost through each engine, compared with one read at a time?
//
// 64 reads of 4 KiB at random places of a file, once round; the counter is the time per read. The
// floor is pread on the O_DIRECT descriptor. Budgets, in floors: io_uring in one batch 1/3, one at
// a time 1.25 (two system calls in place of one); the pool in a batch 2/3, one at a time 1.75 (two
// wake-ups).

#include <benchmark/benchmark.h>

#include <array>
#include <random>
#include <vector>

#include "io/engine/engine.hpp"
#include "io/file/direct_file.hpp"
#include "io/file/files_fixture.hpp"

namespace k2k::io {
namespace {

constexpr std::size_t batch = 64;
constexpr std::size_t file_pages = 32768;
constexpr std::uint32_t pool_threads = 4;

// The file, its twin and the places to read, made by the first benchmark.
struct Bench {
  OwnFiles files;
  Opened file = open_file(make_file(files, "content", file_pages* page), O_RDONLY);
  DirectFile twin = DirectFile::open(file.number(), DirectFile::Access::read).value();
  Pages memory{batch * page};
  std::mt19937_64 random{1};

  static Bench& get() {
    static Bench bench;
    return bench;
  }

  std::array<Transfer, batch> next_reads() {
    std::array<Transfer, batch> reads;
    for (std::size_t at = 0; at < batch; ++at) {
      reads[at] = {
          twin.descriptor(), random() % file_pages * page, memory.data() + at * page, page, at,
          Direction::read};
    }
    return reads;
  }
};

void finish(benchmark::State& state) {
  state.counters["read"] =
      benchmark::Counter(static_cast<double>(batch), benchmark::Counter::kIsIterationInvariantRate |
                                                         benchmark::Counter::kInvert);
}

void floor_pread(benchmark::State& state) {
  Bench& bench = Bench::get();
  for (auto _ : state) {
    for (const Transfer& read : bench.next_reads()) {
      const ssize_t moved =
          ::pread(read.file, read.memory, read.bytes, static_cast<off_t>(read.offset));
      if (moved != ssize_t{page}) return state.SkipWithError("a read failed");
    }
  }
  finish(state);
}
BENCHMARK(floor_pread)->UseRealTime()->Unit(benchmark::kMicrosecond);

using NewEngine = Result<std::unique_ptr<Engine>>;

// The batch in submissions of `at_once`, each waited for.
void reads_of(benchmark::State& state, NewEngine (*make)(), std::size_t at_once) {
  NewEngine engine = make();
  if (!engine) return state.SkipWithError(engine.error().message.c_str());
  Bench& bench = Bench::get();
  std::array<Completion, batch> completions;
  for (auto _ : state) {
    const std::array<Transfer, batch> reads = bench.next_reads();
    for (std::size_t at = 0; at < batch; at += at_once) {
      engine.value()->submit(std::span(reads).subspan(at, at_once));
      engine.value()->poll(completions, at_once);
      for (const Completion& each : std::span(completions).first(at_once)) {
        if (each.result != std::int64_t{page}) return state.SkipWithError("a read failed");
      }
    }
  }
  finish(state);
}

NewEngine uring() { return make_uring(batch); }
NewEngine pool() { return make_pool(batch, pool_threads); }
NewEngine buffered() { return make_buffered(batch); }

BENCHMARK_CAPTURE(reads_of, buffered_batch, &buffered, batch)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(reads_of, uring_one, &uring, 1)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(reads_of, uring_batch, &uring, batch)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(reads_of, pool_one, &pool, 1)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(reads_of, pool_batch, &pool, batch)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace k2k::io
