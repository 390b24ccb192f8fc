// How long does it take to find the residency of 8 MiB?
//
// Budget: less than the best schedule saves over the best single path; that is milliseconds on 8
// MiB, a tenth of one if all is cached. `folios` is how the pages were cached: one by one, or by
// read-ahead. Arguments are the grain in pages.

#include <benchmark/benchmark.h>

#include <string>

#include "io/file/own_file_fixture.hpp"
#include "io/file/residency.hpp"

namespace k2k::io {
namespace {

constexpr std::uint64_t pages = 2048;
constexpr std::uint64_t extent_pages = 32;

struct Content {
  const char* name;
  void (*make)(const OwnFile& file);
};

void evict_every_other_extent(const OwnFile& file) {
  for (std::uint64_t at = 0; at < pages; at += 2 * extent_pages) file.evict({at, extent_pages});
}

constexpr Content contents[] = {
    {"none", [](const OwnFile&) {}},
    {"all_large", [](const OwnFile& file) { file.cache_all_at_once(); }},
    {"all_small", [](const OwnFile& file) { file.cache({0, pages}); }},
    {"half_large",
     [](const OwnFile& file) {
       file.cache_all_at_once();
       evict_every_other_extent(file);
     }},
    {"half_small",
     [](const OwnFile& file) {
       file.cache({0, pages});
       evict_every_other_extent(file);
     }},
    {"alternate",
     [](const OwnFile& file) {
       for (std::uint64_t at = 0; at < pages; at += 2) file.cache({at, 1});
     }},
};

void measure(benchmark::State& state, const Content& content, ProbeMethod method, bool best) {
  const OwnFile file(pages * page_bytes);
  file.evict();
  content.make(file);
  Result<ResidencyProbe> probe = best ? ResidencyProbe::open(file.descriptor())
                                      : ResidencyProbe::open(file.descriptor(), method);
  if (!probe) {
    state.SkipWithError(probe.error().message.c_str());
    return;
  }
  std::vector<std::uint8_t> bytes(pages);
  const auto grain = static_cast<std::uint32_t>(state.range(0));
  std::size_t cached = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(cached = probe->probe(file.descriptor(), 0, bytes, grain));
  }
  state.counters["cached"] = static_cast<double>(cached);
}

[[maybe_unused]] const bool registered = [] {
  for (const Content& content : contents) {
    const auto add = [&](const char* name, ProbeMethod method, bool best) {
      benchmark::RegisterBenchmark((std::string("residency/") + content.name + "/" + name).c_str(),
                                   [&content, method, best](benchmark::State& state) {
                                     measure(state, content, method, best);
                                   })
          ->ArgName("grain")
          ->Arg(1)
          ->Arg(8)
          ->Arg(64)
          ->Arg(338)
          ->Unit(benchmark::kMicrosecond);
    };
    add("best", ProbeMethod::cachestat, true);
    add("cachestat", ProbeMethod::cachestat, false);
    add("mincore", ProbeMethod::mincore, false);
  }
  return true;
}();

}  // namespace
}  // namespace k2k::io
