// How much does read-ahead add to a device's request, without the reading itself?
//
// Budget: 200 ns per request, a fifth of the time of a cached pread of 4 KiB. A sequential reader
// of 4 KiB that looks, prefetches, inserts and evicts at every mark; a random reader, which has no
// stream; and the partition's cost of a host program's read of other pages.

#include <benchmark/benchmark.h>

#include "router/ahead/partition.hpp"
#include "router/ahead/read_ahead.hpp"

namespace k2k::router {
namespace {

constexpr std::uint64_t file_bytes = std::uint64_t{1} << 50;
constexpr std::uint64_t device_pages = 128;

void sequential_reader(benchmark::State& state) {
  ReadAhead ahead(device_pages, window_pages_max(read_ahead_pages_default, 0));
  Partition partition = Partition::create(read_ahead_pages_default).value();
  std::uint64_t offset = 0;
  std::uint64_t evicted = 0;
  for (auto _ : state) {
    const ReadAheadAnswer answer = ahead.on_read(offset, io::page_bytes, file_bytes, offset != 0);
    if (!answer.prefetch.empty()) evicted += partition.insert(1, answer.prefetch).size();
    offset += io::page_bytes;
  }
  state.counters["evicted_ranges"] = benchmark::Counter(static_cast<double>(evicted));
}

void random_reader(benchmark::State& state) {
  ReadAhead ahead(device_pages, window_pages_max(read_ahead_pages_default, 0));
  std::uint64_t word = 1;
  for (auto _ : state) {
    word = word * 6364136223846793005 + 1442695040888963407;
    benchmark::DoNotOptimize(
        ahead.on_read(word >> 20, io::page_bytes, file_bytes, false).prefetch.pages);
  }
}

// As full of single pages as it can be.
void release_of_others(benchmark::State& state) {
  Partition partition = Partition::create(read_ahead_pages_default).value();
  for (std::uint64_t page = 0; page < read_ahead_pages_default; ++page) {
    partition.insert(1, {2 * page, 1});
  }
  std::uint64_t page = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(partition.release(1, {2 * page + 1, 1}));
    page = (page + 101) % read_ahead_pages_default;
  }
}

BENCHMARK(sequential_reader)->Name("read_ahead/sequential_reader");
BENCHMARK(random_reader)->Name("read_ahead/random_reader");
BENCHMARK(release_of_others)->Name("partition/release_of_others");

}  // namespace
}  // namespace k2k::router
