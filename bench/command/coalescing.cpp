// When does it pay to serve up to eight calls at once? (thesis, section 3.7, figure 3.10)
//
// 64 work-items each make the same number of preads from a file in memory; the bytes per call grow
// from left to right. One call at a time, or up to eight that arrive within 20 us of the first:
//
//   woken    every bundle wakes two threads, as the thesis' interrupt and work queue do
//   polled   the server's default: it polls, and serves requests on the polling thread
//
// Budget: none; the thesis' shape: 10 to 15 % with small reads, nothing with large reads.

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/clock.hpp"
#include "bench/command/figure.hpp"
#include "device/k2k.hpp"

namespace k2k::bench {

namespace {

constexpr std::uint32_t item_count = 64;
constexpr std::uint32_t window_us = 20;
constexpr std::uint32_t bundle_max = 8;
constexpr std::size_t bytes_max = 65536;
constexpr int calls_per_item = 200;

struct Holding {
  const char* name;
  bool woken;
  bool coalesced;
};
constexpr Holding holdings[] = {
    {"woken, one", true, false},
    {"woken, up to 8", true, true},
    {"polled, one", false, false},
    {"polled, up to 8", false, true},
};

server::ServerConfig config_of(const Holding& manner, server::ServerConfig config) {
  config.coalesce_window_us = manner.coalesced ? window_us : 0;
  config.coalesce_max = manner.coalesced ? bundle_max : 1;
  if (manner.woken) {
    config.bottom_half = server::BottomHalfMode::split;
    config.notify = server::Notify::interrupt;
    config.spin_us = 0;
  }
  return config;
}

struct HeldTimes {
  double ns_per_byte = 0;
  std::uint64_t requests = 0;
  std::uint64_t bundles = 0;
};

Result<HeldTimes> measure(Runtime& runtime, const MemoryFile& file, std::vector<char>& buffers,
                          std::size_t bytes) {
  std::uint64_t failure_count = 0;
  std::uint64_t* const failures = &failure_count;
  char* const buffer = buffers.data();
  const int descriptor = file.descriptor();
  const auto kernel = [=] {
    const std::uint32_t item = k2k::item_rank();
    const auto offset = static_cast<std::int64_t>(item * bytes);
    for (int call = 0; call < calls_per_item; ++call) {
      const long count =
          k2k::pread(k2k::work_item, descriptor, buffer + item * bytes_max, bytes, offset);
      if (count != static_cast<long>(bytes)) {
        __atomic_fetch_add(failures, std::uint64_t{1}, __ATOMIC_RELAXED);
      }
    }
  };
  const server::Stats before = runtime.stats();
  auto report =
      runtime.launch({.groups = 1, .group_items = item_count}, kernel, "bench coalescing");
  if (!report) return report.error();
  if (failure_count != 0) return Error{EIO, "a pread from the device came back short"};
  const server::Stats after = runtime.stats();
  // Each work-item waits for its own bytes while the others wait for theirs.
  return HeldTimes{static_cast<double>(report.value().elapsed.count()) / calls_per_item /
                       (static_cast<double>(bytes) * item_count),
                   after.requests - before.requests, after.bundles - before.bundles};
}

}  // namespace

Result<nlohmann::ordered_json> coalescing(const RuntimeConfig& base, Effort effort) {
  RuntimeConfig config = base;
  config.device.compute_units = 1;
  config.device.wave_lanes = item_count;
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  auto file = MemoryFile::create(item_count * bytes_max);
  if (!file) return file.error();
  std::vector<char> buffers(item_count * bytes_max);

  std::vector<double> places = {16, 64, 256, 1024, 4096, 16384, 65536};
  if (effort == Effort::brief) places.resize(2);
  std::vector<std::string> names;
  for (const Holding& manner : holdings) names.emplace_back(manner.name);
  Figure figure({"bytes a call", "B"}, {"time a requested byte", "ns"}, places, names);
  std::vector<std::uint64_t> requests(names.size());
  std::vector<std::uint64_t> bundles(names.size());
  // Forwards and backwards, so that a drift of the machine favours neither.
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (Rounds rounds = effort == Effort::brief ? Rounds("coalescing", 1, 1, 0)
                                               : Rounds("coalescing", 3, 40, 40);
       rounds.next(); std::reverse(order.begin(), order.end())) {
    for (const std::size_t series : order) {
      const server::ServerConfig server = config_of(holdings[series], config.server);
      if (Status status = runtime->reconfigure(server); !status) return status.error();
      for (std::size_t place = 0; place < places.size(); ++place) {
        auto took = measure(runtime.value(), file.value(), buffers,
                            static_cast<std::size_t>(places[place]));
        if (!took) return took.error();
        figure.at(series, place).add(took->ns_per_byte);
        requests[series] += took->requests;
        bundles[series] += took->bundles;
      }
    }
  }
  const auto saved = [&](std::size_t one, std::size_t place) {
    return rounded(1 - figure.median(one + 1, place) / figure.median(one, place));
  };
  nlohmann::ordered_json result;
  result["figure"] = figure.json();
  result["woken_saved"] = {{"least", saved(0, 0)}, {"most", saved(0, places.size() - 1)}};
  result["polled_saved"] = {{"least", saved(2, 0)}, {"most", saved(2, places.size() - 1)}};
  for (std::size_t series = 0; series < names.size(); ++series) {
    result["requests_a_bundle"][names[series]] =
        rounded(static_cast<double>(requests[series]) / static_cast<double>(bundles[series]));
  }
  return result;
}

}  // namespace k2k::bench
