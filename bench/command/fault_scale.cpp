// Which part of a page fault's time is work, and which is waiting, with one unit and with eight?
// (thesis, section 4.5.1, figure 4.6)
//
// The thesis' micro-benchmark: a constant number of soft faults in bursts of n. A burst here
// belongs to a unit: each unit has one work-group with n work-items, which touch the pages of the
// group's part in turn. More units than cores share cores with each other and with the service
// threads; the rows say so. Budget: none; the thesis' shape: latency grows with the faults at a
// time, throughput is flat.

#include "bench/command/fault_scale.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/clock.hpp"
#include "bench/command/progress.hpp"
#include "bench/thread_cores.hpp"
#include "device/k2k.hpp"
#include "k2k/demand_region.hpp"

namespace k2k::bench {

namespace {

constexpr std::uint32_t many = 64;  // Faults at a time, of a unit.
constexpr std::uint32_t units_max = 8;
constexpr std::uint32_t units_brief = 2;
constexpr std::size_t large_page_bytes = 2 * mib;

// The pages of a launch are given back after it, so that the memory for all faults is not needed at
// once. 8 x 64,000 are the thesis' 512,000. The same memory in large pages is 8 x 125 faults.
struct Scale {
  std::size_t launches;
  std::size_t pages;
};
Scale scale_of(Effort effort) {
  return effort == Effort::brief ? Scale{2, 1'024} : Scale{8, 64'000};
}

// Of one unit's group. No two units share a cache line.
struct alignas(64) Tally {
  std::uint64_t ended = 0;   // Faults.
  std::uint64_t passed = 0;  // Faults that ended during others, for all of them.
};

struct Touches {
  std::byte* memory;
  float* latencies_us;
  Tally* tallies;
  std::size_t pages;
  std::size_t bytes_a_page;
  double scale_us;

  K2K_DEVICE void operator()() const {
    const std::size_t group = k2k::group_rank();
    const std::size_t groups = k2k::group_count();
    Tally& tally = tallies[group];
    const std::size_t end = pages * (group + 1) / groups;
    for (std::size_t page = pages * group / groups + k2k::item_rank(); page < end;
         page += k2k::group_size()) {
      const std::uint64_t before = tally.ended;
      const std::uint64_t begin = cycles();
      *static_cast<volatile std::byte*>(memory + page * bytes_a_page) = std::byte{1};
      latencies_us[page] = static_cast<float>(static_cast<double>(cycles() - begin) * scale_us);
      tally.passed += tally.ended - before;
      ++tally.ended;
    }
  }
};

struct FaultCell {
  std::uint32_t units = 1;
  std::uint32_t outstanding = 1;
  std::size_t bytes_a_page = page_bytes;
};

// Sums over all faults of a cell, seconds; latencies in us.
struct Sums {
  double faults = 0;
  double requests = 0;
  double elapsed = 0;
  double passed = 0;
  double handler = 0;
  double working = 0;  // Of service threads: all stages but polling and upkeep.
  std::array<double, telemetry::request_parts> parts{};
  Samples latencies;
};

double seconds_in(const server::Stats& stats, telemetry::Stage stage) {
  return stats.stage_seconds[static_cast<std::size_t>(stage)];
}
double working_seconds(const server::Stats& stats) {
  using telemetry::Stage;
  return seconds_in(stats, Stage::top_half) + seconds_in(stats, Stage::bottom_half) +
         seconds_in(stats, Stage::service) + seconds_in(stats, Stage::completion);
}

void add_difference(Sums& sums, const server::Stats& before, const server::Stats& after) {
  sums.requests = static_cast<double>(after.faults.count() - before.faults.count());
  sums.handler =
      seconds_in(after, telemetry::Stage::service) - seconds_in(before, telemetry::Stage::service);
  sums.working = working_seconds(after) - working_seconds(before);
  for (std::size_t part = 0; part < telemetry::request_parts; ++part) {
    sums.parts[part] =
        static_cast<double>(after.faults.sum_cycles[part] - before.faults.sum_cycles[part]) *
        nanoseconds_per_cycle() / 1e9;
  }
}

Result<Sums> measure(Runtime& runtime, const FaultCell& cell, const Scale& scale) {
  auto made = DemandRegion::zero(runtime, scale.pages * page_bytes,
                                 {.name = "bench", .page_bytes = cell.bytes_a_page});
  if (!made) return made.error();
  DemandRegion region = std::move(made).value();
  const std::size_t pages = region.bytes() / cell.bytes_a_page;
  std::vector<float> latencies(pages);
  std::vector<Tally> tallies(cell.units);
  const Touches touches{region.data(), latencies.data(),  tallies.data(),
                        pages,         cell.bytes_a_page, nanoseconds_per_cycle() / 1'000};
  Sums sums;
  const server::Stats before = runtime.stats();
  for (std::size_t launch = 0; launch < scale.launches; ++launch) {
    const auto report = runtime.launch({.groups = cell.units, .group_items = cell.outstanding},
                                       touches, "bench fault_scale");
    if (!report) return report.error();
    sums.elapsed += static_cast<double>(report.value().elapsed.count()) / 1e9;
    sums.latencies.add(std::vector<double>(latencies.begin(), latencies.end()));
    if (Status given = region.discard(0, region.bytes()); !given) return given.error();
  }
  add_difference(sums, before, runtime.stats());
  for (const Tally& tally : tallies) {
    sums.faults += static_cast<double>(tally.ended);
    sums.passed += static_cast<double>(tally.passed);
  }
  return sums;
}

// Means of a fault, us, and what follows from them.
struct Split {
  double latency = 0;
  double signal = 0;
  double initialise = 0;
  double before = 0;
  double handler = 0;
  double batch = 0;
  double after = 0;
};

Split split_of(const Sums& sums) {
  using telemetry::RequestPart;
  const double requests = std::max(sums.requests, 1.0);
  const auto part = [&](RequestPart which) {
    return sums.parts[static_cast<std::size_t>(which)] / requests * 1e6;
  };
  Split split;
  split.latency = sums.latencies.mean();
  split.signal = split.latency - part(RequestPart::total);
  split.initialise = part(RequestPart::initialisation);
  split.before = part(RequestPart::scheduling);
  split.handler = sums.handler / requests * 1e6;
  split.batch = part(RequestPart::processing) - split.handler;
  split.after = part(RequestPart::completion);
  return split;
}

nlohmann::ordered_json row_of(const FaultCell& cell, const Sums& sums, std::size_t cores) {
  const Split split = split_of(sums);
  const double unit_us = sums.elapsed * cell.units / sums.faults * 1e6;
  const double passed = sums.passed / sums.faults;
  nlohmann::ordered_json row;
  row["units"] = cell.units;
  row["shares_cores"] = cell.units + 1 > cores;  // One more for the service threads.
  row["at_a_time"] = cell.outstanding;
  row["page_kib"] = cell.bytes_a_page / kib;
  row["faults"] = static_cast<std::uint64_t>(sums.faults);
  row["requests"] = static_cast<std::uint64_t>(sums.requests);
  row["faults_per_ms"] = rounded(sums.faults / sums.elapsed / 1'000);
  row["mib_per_s"] =
      rounded(sums.faults * static_cast<double>(cell.bytes_a_page) / mib / sums.elapsed);
  row["latency_us"] = rounded(split.latency);
  row["p50_us"] = rounded(sums.latencies.median());
  row["p99_us"] = rounded(sums.latencies.quantile(0.99));
  row["signal_us"] = rounded(split.signal);
  row["initialise_us"] = rounded(split.initialise);
  row["before_us"] = rounded(split.before);
  row["handler_us"] = rounded(split.handler);
  row["batch_us"] = rounded(split.batch);
  row["after_us"] = rounded(split.after);
  row["passed"] = rounded(passed);
  row["unit_us"] = rounded(unit_us);
  row["queue_us"] = rounded(passed * unit_us);
  row["host_busy"] = rounded(sums.working / sums.elapsed);
  return row;
}

// What makes a fault longer when many wait, in shares of its growth.
nlohmann::ordered_json growth_row(const FaultCell& cell, const Split& lone, const Split& crowded) {
  const double grown = crowded.latency - lone.latency;
  const auto share = [grown](double few, double more) { return rounded((more - few) / grown); };
  nlohmann::ordered_json row;
  row["units"] = cell.units;
  row["page_kib"] = cell.bytes_a_page / kib;
  row["grown_us"] = rounded(grown);
  row["signal"] = share(lone.signal + lone.initialise, crowded.signal + crowded.initialise);
  row["before"] = share(lone.before, crowded.before);
  row["handler"] = share(lone.handler, crowded.handler);
  row["batch"] = share(lone.batch, crowded.batch);
  row["after"] = share(lone.after, crowded.after);
  return row;
}

// All lanes of a wave touch each page: how many requests are made of their touches?
Result<nlohmann::ordered_json> lanes_together(Runtime& runtime, std::size_t pages) {
  const auto region = DemandRegion::zero(runtime, pages * page_bytes, {.name = "together"});
  if (!region) return region.error();
  std::byte* const memory = region.value().data();
  const std::uint64_t before = runtime.stats().faults.count();
  const auto report = runtime.launch(
      {.groups = 1, .group_items = many},
      [=] {
        for (std::size_t page = 0; page < pages; ++page) {
          static_cast<volatile std::byte*>(memory)[page * page_bytes + k2k::item_rank()] =
              std::byte{1};
        }
      },
      "bench fault_scale");
  if (!report) return report.error();
  const std::uint64_t requests = runtime.stats().faults.count() - before;
  const std::size_t touches = pages * many;
  return nlohmann::ordered_json{{"lanes", many},
                                {"pages", pages},
                                {"touches", touches},
                                {"requests", requests},
                                {"requests_to_touches", rounded(static_cast<double>(requests) /
                                                                static_cast<double>(touches))}};
}

}  // namespace

Result<nlohmann::ordered_json> fault_scale(const RuntimeConfig& base, Effort effort) {
  const Scale scale = scale_of(effort);
  const std::size_t cores = std::max<std::size_t>(cores_of_thread().size(), 1);
  auto cells = nlohmann::ordered_json::array();
  auto queueing = nlohmann::ordered_json::array();
  nlohmann::ordered_json together;
  const std::uint32_t last = effort == Effort::brief ? units_brief : units_max;
  const auto kinds = static_cast<std::size_t>(std::bit_width(last)) * 2;
  Progress progress("bench fault_scale", "numbers of units and sizes of pages");
  std::size_t done = 0;
  for (std::uint32_t units = 1; units <= last; units *= 2) {
    RuntimeConfig config = base;
    config.device.compute_units = units;
    config.device.wave_lanes = many;
    config.device.resident_waves = 1;  // A group for each unit.
    auto runtime = Runtime::create(config);
    if (!runtime) return runtime.error();
    if (units == 1) {
      const auto counted = lanes_together(runtime.value(), scale.pages / many);
      if (!counted) return counted.error();
      together = counted.value();
    }
    for (const std::size_t bytes_a_page : {page_bytes, large_page_bytes}) {
      progress.tell(done++, kinds);
      const std::size_t pages = scale.pages * page_bytes / bytes_a_page;
      const std::uint32_t most = std::clamp(static_cast<std::uint32_t>(pages / units), 1u, many);
      std::array<Split, 2> splits;
      for (const std::uint32_t outstanding : {1u, most}) {
        const FaultCell cell{units, outstanding, bytes_a_page};
        const auto sums = measure(runtime.value(), cell, scale);
        if (!sums) return sums.error();
        cells.push_back(row_of(cell, sums.value(), cores));
        splits[outstanding == 1 ? 0 : 1] = split_of(sums.value());
        if (most == 1) break;
      }
      if (most > 1)
        queueing.push_back(growth_row({units, most, bytes_a_page}, splits[0], splits[1]));
    }
  }
  return nlohmann::ordered_json{
      {"cores", cores}, {"cells", cells}, {"queueing", queueing}, {"lanes_together", together}};
}

}  // namespace k2k::bench
