// What do page faults of a kernel save in memory, and cost in time, where a whole graph is
// searched? (thesis, section 4.5.2, figures 4.8 and 4.9)
//
// graph500 searches one Kronecker graph in both orders and in each mode (input_modes.hpp), by its
// kernel and by threads of the host. The file is in the page cache. The levels of all searches must
// be equal.
//
// Time is that of load and searches, from the open file to the last tree; validation is left out.
// The ratios pinned / huge and those of two orders or ways are of the searches alone.

#include <algorithm>

#include "base/temporary_folder.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/goal.hpp"
#include "bench/command/input_modes.hpp"

namespace k2k::bench {

namespace {

constexpr Goal graph_overhead = {"graph500",
                                 "kernel / the same threads without a device, read before"};

double grown_bytes(const nlohmann::ordered_json& result, std::size_t first, std::size_t last) {
  const auto own = [](const nlohmann::ordered_json& sample) {
    return sample["anonymous_bytes"].get<double>() + sample["file_bytes"].get<double>() +
           sample["shared_bytes"].get<double>();
  };
  const nlohmann::ordered_json& samples = result["resident"];
  double most = 0;
  for (std::size_t place = first; place <= last; ++place) {
    most = std::max(most, own(samples[place]));
  }
  return most - own(samples[0]);
}

ModeRun graph_run(const nlohmann::ordered_json& result) {
  ModeRun run;
  for (const auto& one : result["searches"]) run.answer.push_back(one["digest"]);
  run.work_seconds = result["search_seconds"].get<double>();
  run.seconds = result["load_seconds"].get<double>() + run.work_seconds;
  run.cpu_seconds = result["cpu_seconds"].get<double>();
  run.device_seconds = result["kernel_seconds"].get<double>();
  run.grown_bytes = grown_bytes(result, 1, result["resident"].size() - 1);
  run.demand_pages = result["demand_pages"].get<std::uint64_t>();
  run.huge_bytes = result["huge_bytes"].get<std::uint64_t>();
  run.more = {{"mteps", result["harmonic_mean_teps"].get<double>() / 1e6},
              {"cpu_ms", run.cpu_seconds * 1e3},
              {"steps", result["steps"].get<double>()},
              {"load_mib", grown_bytes(result, 1, 1) / static_cast<double>(mib)},
              {"linux_faults",
               result["minor_faults"].get<double>() + result["major_faults"].get<double>()}};
  return run;
}

void add_graph_ratios(const InputModes& modes, Ratios& ratios, std::vector<double>& overhead) {
  modes.add_ratios(ratios);
  const ModeRun& kernel = modes.row("unsorted", "kernel", "pinned").last;
  const ModeRun& threads = modes.row("unsorted", "threads", "pinned").last;
  ratios["graph500: unsorted / sorted"].push_back(
      kernel.work_seconds / modes.row("sorted", "kernel", "pinned").last.work_seconds);
  // Other programs on the cores lengthen a search and not its CPU time.
  ratios["graph500 unsorted: kernel / threads, CPU time"].push_back(kernel.cpu_seconds /
                                                                    threads.cpu_seconds);
  overhead.push_back(kernel.work_seconds / threads.work_seconds);
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
  auto modes = InputModes::create({"graph500", {"--roots", brief ? "4" : "16"}, graph_run},
                                  std::move(app.value()), folder->path(), {"threads"});
  if (!modes) return modes.error();
  Ratios ratios;
  std::vector<double> overhead;
  std::uint32_t seed = 1;
  for (Rounds rounds = brief ? Rounds("graph500", 2, 2, 0) : Rounds("graph500", 5, 20, 60);
       rounds.next(); ++seed) {
    if (Status done = modes->run_round(seed); !done) return done.error();
    add_graph_ratios(*modes, ratios, overhead);
  }
  nlohmann::ordered_json table;
  modes->add_rows(table);
  nlohmann::ordered_json times;
  for (const auto& [name, values] : ratios) times.push_back(ratio_row(name.c_str(), values));
  return nlohmann::ordered_json{
      {"levels_identical", true},  // An error otherwise.
      {"huge_pages", modes->huge() ? "given" : "not available"},
      {"scale", std::stoi(scale)},
      {"modes", table},
      {"times", times},
      {"goals", nlohmann::ordered_json::array({goal_row(graph_overhead, overhead)})}};
}

}  // namespace k2k::bench
