// How much does the predicted time of a request (by the router's model) differ from the measured
// time?
//
// The model is measured and fitted as by `k2k calibrate`, on the disk with the temporary files.
// Then a file is divided into requests of 64 KiB to 8 MiB, cached in extents of 32 to 512 KiB to
// any share. These requests are planned and executed one after the other in random order, as a
// program makes them. The error of a request is its time / the predicted time, less 1. The first
// request, which follows the caching, does not count. This repeats until there are enough requests.
// SPIN reports a mean of 1.6 % (USENIX ATC'17, 4.3.1), for a model with the bandwidths of its own
// device.
//
// The speed of a shared machine varies by a fifth within a minute, in everything. So a second error
// is reported, with each file's requests divided by their median error: "at the machine's speed".

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/cached_file.hpp"
#include "bench/command/measured_model.hpp"
#include "io/engine/engine.hpp"
#include "io/file/direct_file.hpp"
#include "router/plan/planner.hpp"
#include "router/read/execution.hpp"

namespace k2k::bench {

namespace {

constexpr std::uint32_t pages_max = 2048;
constexpr std::uint32_t pages_min = 16;
constexpr std::size_t file_pages = CachedFile::file_bytes / page_bytes;
constexpr std::uint32_t outstanding = 64;
constexpr std::size_t memory_bytes = 64 * mib;  // Larger than any cache of the CPU.
constexpr std::size_t requests_full = 5000;
constexpr std::size_t requests_brief = 60;

// One request: its place, and its cached pages.
struct Wanted {
  std::size_t first_page = 0;
  std::vector<std::uint8_t> residency;
};

// `left` pages of the file do not belong to a request yet.
Wanted draw(std::mt19937_64& random, std::size_t left) {
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  Wanted wanted;
  const double octaves = std::log2(pages_max / pages_min);
  const auto pages = static_cast<std::size_t>(pages_min * std::exp2(uniform(0, octaves)));
  wanted.first_page = file_pages - left;
  wanted.residency.resize(std::min(pages, left));
  const auto extent = std::size_t{8} << random() % 5;
  const double share = uniform(-0.1, 1.1);  // Some are cached wholly, some not at all.
  for (std::size_t at = 0; at < wanted.residency.size(); at += extent) {
    const auto begin = wanted.residency.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t length = std::min(extent, wanted.residency.size() - at);
    std::fill_n(begin, length, std::uint8_t{uniform(0, 1) < share});
  }
  return wanted;
}

// All requests of the file.
std::vector<Wanted> draw_all(std::mt19937_64& random) {
  std::vector<Wanted> all;
  for (std::size_t left = file_pages; left > 0;) {
    all.push_back(draw(random, left));
    left -= all.back().residency.size();
  }
  return all;
}

void cache(const CachedFile& file, const std::vector<Wanted>& all) {
  file.evict(0, CachedFile::file_bytes);
  for (const auto& [first_page, pages] : all) {
    for (auto at = pages.begin(); (at = std::find(at, pages.end(), 1)) != pages.end();) {
      const auto end = std::find(at, pages.end(), 0);
      const auto first = first_page + static_cast<std::size_t>(at - pages.begin());
      file.rewrite(first * page_bytes, static_cast<std::size_t>(end - at) * page_bytes);
      at = end;
    }
  }
  file.sync();
}

struct Errors {
  Samples absolute;  // Percent.
  Samples with_sign;
  // `ratio` is the measured time / the predicted time.
  void add(double ratio) {
    const double percent = 100 * (ratio - 1);
    absolute.add(std::abs(percent));
    with_sign.add(percent);
  }
  [[nodiscard]] std::size_t size() const { return absolute.size(); }
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

// Requests of one file, planned and executed by one model.
class Validation {
 public:
  static Result<Validation> create(const router::Model& model, const CachedFile& file) {
    Descriptor descriptor(file.open(0));
    auto direct = io::DirectFile::open(descriptor.number(), io::DirectFile::Access::read);
    if (!direct) return no_disk(direct.error());
    auto engine = io::make_direct(outstanding);
    if (!engine) return engine.error();
    auto planner = router::Planner::create(model, pages_max);
    if (!planner) return planner.error();
    return Validation{std::move(descriptor), std::move(direct).value(), std::move(engine).value(),
                      std::move(planner).value()};
  }

  // Measured time / predicted time, for one kind of request.
  struct Seen {
    double ratio;
    enum class By : std::uint8_t { direct, cache, both } by;
  };
  Result<Seen> run(const Wanted& wanted, std::mt19937_64& random) {
    const router::Plan plan = planner_.overlapped(wanted.residency);
    const auto model_us = router::microseconds_together(planner_.model(), plan);
    const std::size_t bytes = wanted.residency.size() * page_bytes;
    std::byte* const place =
        memory_.get() + random() % ((memory_bytes - bytes) / page_bytes) * page_bytes;
    const Instant begin = now();
    const router::Outcome outcome =
        execution_.run({descriptor_.number(), place, bytes, wanted.first_page * page_bytes}, plan,
                       direct_, *engine_, /*proven=*/true);
    const double us = std::chrono::duration<double, std::micro>(now() - begin).count();
    if (outcome.answer != static_cast<ssize_t>(bytes)) {
      return Error{EIO, "a read of the benchmark's file came short"};
    }
    const Seen::By by = model_us.cache == 0    ? Seen::By::direct
                        : model_us.direct == 0 ? Seen::By::cache
                                               : Seen::By::both;
    return Seen{us / model_us.overlapped(), by};
  }

 private:
  Validation(Descriptor descriptor, io::DirectFile direct, std::unique_ptr<io::Engine> engine,
             router::Planner planner)
      : descriptor_(std::move(descriptor)),
        direct_(std::move(direct)),
        engine_(std::move(engine)),
        planner_(std::move(planner)) {}

  Descriptor descriptor_;
  io::DirectFile direct_;
  std::unique_ptr<io::Engine> engine_;
  router::Planner planner_;
  router::Execution execution_{pages_max};
  Memory memory_ = memory_of(memory_bytes);
};

}  // namespace

Result<nlohmann::ordered_json> route_model(const RuntimeConfig&, Effort effort) {
  const bool brief = effort == Effort::brief;
  const auto longest = brief ? router::calibrate_time_min * 6 : router::calibrate_time_default;
  const auto fit = measured_fit(longest);
  if (!fit) return fit.error();
  const router::Model& model = fit.value().model;
  auto file = CachedFile::make();
  if (!file) return file.error();
  auto validation = Validation::create(model, *file.value());
  if (!validation) return validation.error();

  Errors all, at_speed, by[3];
  std::mt19937_64 random(5);
  const std::size_t enough = brief ? requests_brief : requests_full;
  while (all.size() < enough) {
    std::vector<Wanted> requests = draw_all(random);
    cache(*file.value(), requests);
    std::shuffle(requests.begin(), requests.end(), random);
    Samples of_file;
    std::vector<Validation::Seen> seen;
    for (const Wanted& wanted : requests) {
      const auto one = validation.value().run(wanted, random);
      if (!one) return one.error();
      if (&wanted == &requests.front()) continue;
      seen.push_back(one.value());
      of_file.add(one.value().ratio);
    }
    for (const Validation::Seen& one : seen) {
      if (all.size() == enough) break;
      all.add(one.ratio);
      by[static_cast<int>(one.by)].add(one.ratio);
      at_speed.add(one.ratio / of_file.median());
    }
  }
  return nlohmann::ordered_json{
      {"model",
       {{"call_us", rounded(model.call_us)},
        {"cutoff_kib", rounded(model.cutoff_bytes / kib)},
        {"direct_gbs", rounded(model.direct_gbs)},
        {"cache_gbs", rounded(model.cache_gbs)},
        {"next_us", rounded(model.next_us)},
        {"direct_r2", rounded(fit.value().direct_r2)},
        {"cache_r2", rounded(fit.value().cache_r2)}}},
      {"rows",
       {all.row("all"), by[0].row("direct"), by[1].row("cached"), by[2].row("both at once"),
        at_speed.row("all, at the machine's speed")}}};
}

}  // namespace k2k::bench
