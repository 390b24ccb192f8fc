// What do page faults of a kernel save in memory, and cost in time, where a whole graph is
// searched? (thesis, section 4.5.2, figures 4.8 and 4.9)
//
// graph500 searches one Kronecker graph in both orders, by its kernel with the file's pages on
// demand, read before in small pages and in huge ones, and by threads of the host on demand and
// read before. Each run is a process of its own, in turns of random order, and the file is in the
// page cache. The levels of all searches must be equal.
//
// Time is that of load and searches, from the open file to the last tree; validation is left out.

#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/temporary_folder.hpp"
#include "bench/command/app_run.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/figure.hpp"
#include "bench/command/goal.hpp"

namespace k2k::bench {

namespace {

constexpr Goal graph_overhead = {"graph500",
                                 "kernel / the same threads without a device, read before"};
constexpr double graph_mib = 1 << 20;

struct GraphWay {
  std::string order;
  std::string by;
  std::string mode;
  Samples teps = {};
  Samples seconds = {};  // Load and searches.
  Samples device_share = {};
  Samples resident_mib = {};  // Grown since the load began, at most.
  Samples load_mib = {};      // Grown by the load.
  std::uint64_t region_pages = 0;
  std::uint64_t linux_faults = 0;
  double huge_mib = 0;
  double last_seconds = 0;  // Of the round.
  double last_search = 0;
};

std::vector<GraphWay> graph_ways() {
  std::vector<GraphWay> ways;
  for (const char* const order : {"unsorted", "sorted"}) {
    for (const char* const mode : {"demand", "pinned", "huge"}) {
      ways.push_back({order, "kernel", mode});
    }
    for (const char* const mode : {"demand", "pinned"}) ways.push_back({order, "threads", mode});
  }
  return ways;
}

double grown_mib(const nlohmann::ordered_json& result, std::size_t first, std::size_t last) {
  const auto own = [](const nlohmann::ordered_json& sample) {
    return sample["anonymous_bytes"].get<double>() + sample["file_bytes"].get<double>() +
           sample["shared_bytes"].get<double>();
  };
  const nlohmann::ordered_json& samples = result["resident"];
  double most = 0;
  for (std::size_t place = first; place <= last; ++place)
    most = std::max(most, own(samples[place]));
  return (most - own(samples[0])) / graph_mib;
}

void add_run(GraphWay& way, const nlohmann::ordered_json& result) {
  way.last_search = result["search_seconds"].get<double>();
  way.last_seconds = result["load_seconds"].get<double>() + way.last_search;
  way.seconds.add(way.last_seconds);
  way.teps.add(result["harmonic_mean_teps"].get<double>());
  way.device_share.add(result["device_seconds"].get<double>() / way.last_seconds);
  way.load_mib.add(grown_mib(result, 1, 1));
  way.resident_mib.add(grown_mib(result, 1, result["resident"].size() - 1));
  way.region_pages = result["region_pages"].get<std::uint64_t>();
  way.huge_mib = result["huge_bytes"].get<double>() / graph_mib;
  way.linux_faults =
      result["minor_faults"].get<std::uint64_t>() + result["major_faults"].get<std::uint64_t>();
}

nlohmann::ordered_json levels_of(const nlohmann::ordered_json& result) {
  nlohmann::ordered_json levels;
  for (const auto& one : result["searches"]) levels.push_back(one["digest"]);
  return levels;
}

// The ratios of one round, by their names.
using GraphRatios = std::map<std::string, std::vector<double>>;

void add_ratios(const std::vector<GraphWay>& ways, GraphRatios& ratios) {
  const auto of = [&](const char* order, const char* by, const char* mode) -> const GraphWay& {
    return *std::find_if(ways.begin(), ways.end(), [&](const GraphWay& way) {
      return way.order == order && way.by == by && way.mode == mode;
    });
  };
  for (const char* const order : {"unsorted", "sorted"}) {
    const GraphWay& pinned = of(order, "kernel", "pinned");
    const std::string behind = std::string(", ") + order;
    ratios["demand / pinned" + behind].push_back(of(order, "kernel", "demand").last_seconds /
                                                 pinned.last_seconds);
    ratios["pinned / huge, searches" + behind].push_back(pinned.last_search /
                                                         of(order, "kernel", "huge").last_search);
  }
  const GraphWay& unsorted = of("unsorted", "kernel", "pinned");
  ratios["unsorted / sorted, searches"].push_back(unsorted.last_search /
                                                  of("sorted", "kernel", "pinned").last_search);
  ratios["overhead"].push_back(unsorted.last_search /
                               of("unsorted", "threads", "pinned").last_search);
}

nlohmann::ordered_json graph_table(const std::vector<GraphWay>& ways) {
  nlohmann::ordered_json rows;
  for (const GraphWay& way : ways) {
    rows.push_back({{"order", way.order},
                    {"by", way.by},
                    {"mode", way.mode},
                    {"mteps", rounded(way.teps.median() / 1e6)},
                    {"seconds", rounded(way.seconds.median())},
                    {"sd", rounded(way.seconds.deviation())},
                    {"in_kernels", rounded(way.device_share.median())},
                    {"load_mib", rounded(way.load_mib.median())},
                    {"resident_mib", rounded(way.resident_mib.median())},
                    {"huge_mib", rounded(way.huge_mib)},
                    {"region_pages", way.region_pages},
                    {"linux_faults", way.linux_faults}});
  }
  return rows;
}

}  // namespace

Result<nlohmann::ordered_json> graph500_modes(const RuntimeConfig&, Effort effort) {
  const bool brief = effort == Effort::brief;
  auto app = AppRun::find("graph500", "graph500");
  if (!app) return app.error();
  const auto folder = TemporaryFolder::create("k2k-bench-graph500");
  if (!folder) return folder.error();
  const std::string scale = brief ? "15" : "18";  // Beyond a huge page.
  for (const char* const order : {"unsorted", "sorted"}) {
    const Status made = app->run_plainly(
        {"--generate", folder->path() + "/" + order, "--scale", scale, "--order", order});
    if (!made) return made.error();
  }
  std::vector<GraphWay> ways = graph_ways();
  std::map<std::string, nlohmann::ordered_json> levels;  // By order.
  std::uint64_t graph_bytes = 0;
  GraphRatios ratios;
  std::mt19937 random(1);
  for (Rounds rounds = brief ? Rounds(2, 2, 0) : Rounds(5, 20, 60); rounds.next();) {
    std::vector<GraphWay*> order;
    for (GraphWay& way : ways) order.push_back(&way);
    std::shuffle(order.begin(), order.end(), random);
    for (GraphWay* const way : order) {
      const auto result = app->run({"--by", way->by, "--mode", way->mode, "--roots",
                                    brief ? "4" : "16", folder->path() + "/" + way->order});
      if (!result) return result.error();
      nlohmann::ordered_json& right = levels[way->order];
      if (right.is_null()) right = levels_of(*result);
      if (levels_of(*result) != right) {
        return Error{EIO, "by " + way->by + " with mode " + way->mode +
                              " the levels differ from the others'"};
      }
      graph_bytes = (*result)["graph_bytes"].get<std::uint64_t>();
      add_run(*way, *result);
    }
    add_ratios(ways, ratios);
  }
  nlohmann::ordered_json ratio_rows = nlohmann::ordered_json::array();
  for (const auto& [name, values] : ratios) {
    if (name != "overhead") ratio_rows.push_back(ratio_row(name.c_str(), values));
  }
  return nlohmann::ordered_json{
      {"levels_identical", true},  // An error otherwise.
      {"scale", std::stoi(scale)},
      {"graph_mib", rounded(static_cast<double>(graph_bytes) / graph_mib)},
      {"modes", graph_table(ways)},
      {"ratios", ratio_rows},
      {"goals", nlohmann::ordered_json::array({goal_row(graph_overhead, ratios["overhead"])})}};
}

}  // namespace k2k::bench
