// How far is what the router's model says of a request from what the request takes?
//
// The model is measured and fitted as `k2k calibrate` does it, where temporary files are. Then
// requests of 64 KiB to 8 MiB, their pages cached in extents of 32 to 512 KiB to any share, are
// planned and executed; the error of one is its time over the model's, less 1. SPIN reports a mean
// of 1.6 % (USENIX ATC'17, 4.3.1), of a model with the bandwidths of its own device.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <random>
#include <vector>

#include "base/clock.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/cached_file.hpp"
#include "io/direct_file.hpp"
#include "io/engine.hpp"
#include "router/calibrate.hpp"
#include "router/execution.hpp"
#include "router/fit.hpp"
#include "router/planner.hpp"

namespace k2k::bench {

namespace {

constexpr std::uint32_t pages_max = 2048;
constexpr std::uint32_t pages_min = 16;
constexpr std::uint32_t outstanding = 64;
constexpr std::size_t memory_bytes = 64 * mib;  // As large as no cache of the CPU.
constexpr int requests_full = 5000;
constexpr int requests_brief = 60;

// One request: where it lies, and which of its pages are cached.
struct Wanted {
  std::size_t first_page = 0;
  std::vector<std::uint8_t> residency;
};

Wanted draw(std::mt19937_64& random) {
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  Wanted wanted;
  const double octaves = std::log2(pages_max / pages_min);
  const auto pages = static_cast<std::size_t>(pages_min * std::exp2(uniform(0, octaves)));
  wanted.first_page = random() % (CachedFile::file_bytes / page_bytes - pages + 1);
  wanted.residency.resize(pages);
  const auto extent = std::size_t{8} << random() % 5;
  const double share = uniform(-0.1, 1.1);  // Some are cached wholly, some not at all.
  for (std::size_t at = 0; at < pages; at += extent) {
    const auto begin = wanted.residency.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t length = std::min(extent, pages - at);
    std::fill_n(begin, length, std::uint8_t{uniform(0, 1) < share});
  }
  return wanted;
}

void cache(const CachedFile& file, const Wanted& wanted) {
  const auto& pages = wanted.residency;
  file.evict(wanted.first_page * page_bytes, pages.size() * page_bytes);
  for (auto at = pages.begin(); (at = std::find(at, pages.end(), 1)) != pages.end();) {
    const auto end = std::find(at, pages.end(), 0);
    const auto first = wanted.first_page + static_cast<std::size_t>(at - pages.begin());
    file.cache_range(first * page_bytes, static_cast<std::size_t>(end - at) * page_bytes);
    at = end;
  }
}

struct Errors {
  Samples absolute;  // Percent.
  Samples with_sign;
  void add(double percent) {
    absolute.add(std::abs(percent));
    with_sign.add(percent);
  }
  [[nodiscard]] nlohmann::ordered_json row(const char* what) const {
    nlohmann::ordered_json row = {{"requests_are", what}, {"requests", absolute.size()}};
    if (absolute.size() == 0) return row;
    row["mean_error_percent"] = rounded(absolute.mean());
    row["median_error_percent"] = rounded(absolute.median());
    row["p95_error_percent"] = rounded(absolute.quantile(0.95));
    row["bias_percent"] = rounded(with_sign.median());
    return row;
  }
};

Error failed(const Error& why) {
  return {why.code, why.message + "; set TMPDIR to a folder on a disk with O_DIRECT (ext4, xfs)"};
}

}  // namespace

Result<nlohmann::ordered_json> route_model(const RuntimeConfig&, Effort effort) {
  const bool brief = effort == Effort::brief;
  const auto longest = brief ? router::calibrate_time_min * 6 : router::calibrate_time_default;
  const auto measured = router::measure(std::filesystem::temp_directory_path().string(), longest);
  if (!measured) return failed(measured.error());
  const auto fit = router::fit(measured.value().direct, measured.value().cache);
  if (!fit) return failed(fit.error());
  const router::Model& model = fit.value().model;

  auto made = CachedFile::make();
  if (!made) return made.error();
  const CachedFile& file = *made.value();
  const int descriptor = file.open(0);
  const auto direct = io::DirectFile::open(descriptor, io::DirectFile::Access::read);
  if (!direct) return failed(direct.error());
  auto engine = io::make_direct(outstanding);
  if (!engine) return engine.error();
  auto planner = router::Planner::create(model, pages_max);
  if (!planner) return planner.error();
  router::Execution execution(pages_max);
  const Memory memory = memory_of(memory_bytes);

  Errors all, direct_only, cache_only, mixed;
  std::mt19937_64 random(5);
  for (int request = brief ? requests_brief : requests_full; request > 0; --request) {
    const Wanted wanted = draw(random);
    cache(file, wanted);
    const router::Plan plan = planner.value().overlapped(wanted.residency);
    const auto model_us = router::microseconds_of(model, plan);
    const std::size_t bytes = wanted.residency.size() * page_bytes;
    std::byte* const place =
        memory.get() + random() % ((memory_bytes - bytes) / page_bytes) * page_bytes;
    const Instant begin = now();
    const router::Outcome outcome =
        execution.run({descriptor, place, bytes, wanted.first_page * page_bytes}, plan,
                      direct.value(), *engine.value(), /*proven=*/true);
    const double us = std::chrono::duration<double, std::micro>(now() - begin).count();
    if (outcome.answer != static_cast<ssize_t>(bytes)) {
      return Error{EIO, "a read of the benchmark's file came short"};
    }
    const double percent = 100 * (us / model_us.overlapped() - 1);
    all.add(percent);
    (model_us.cache == 0 ? direct_only : model_us.direct == 0 ? cache_only : mixed).add(percent);
  }
  ::close(descriptor);
  return nlohmann::ordered_json{{"model",
                                 {{"call_us", rounded(model.call_us)},
                                  {"cutoff_kib", rounded(model.cutoff_bytes / kib)},
                                  {"direct_gbs", rounded(model.direct_gbs)},
                                  {"cache_gbs", rounded(model.cache_gbs)},
                                  {"direct_r2", rounded(fit.value().direct_r2)},
                                  {"cache_r2", rounded(fit.value().cache_r2)}}},
                                {"rows",
                                 {all.row("all"), direct_only.row("direct"),
                                  cache_only.row("cached"), mixed.row("both at once")}}};
}

}  // namespace k2k::bench
