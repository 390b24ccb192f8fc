// What does it gain that a kernel tells the host of each finished block? (thesis, section 3.8.2,
// figure 3.12)
//
// Four ways look up keys and hash the results with SHA-512, each as a process of its own: threads
// that hash once the kernel has ended (launch, the thesis' baseline), threads that hash meanwhile,
// told by the kernel's signals (signals), the same with signals by libc on the kernel's threads
// (direct), and one thread without a device (serial). The time is that from the launch to the last
// digest. They take turns in random order; all must give the same digests.
//
// The gain is overlap. Where kernel and hashing threads share all cores there is nothing to
// overlap, so the gain is told and not judged.

#include <algorithm>
#include <cerrno>
#include <cstring>
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

constexpr Goal signal_overhead = {"signal_search", "signals / direct signals on its threads"};
constexpr const char* search_ways[] = {"serial", "launch", "direct", "signals"};

}  // namespace

Result<nlohmann::ordered_json> signal_search_ways(const RuntimeConfig&, Effort effort) {
  const bool brief = effort == Effort::brief;
  auto app = AppRun::find("signal_search", "signal-search");
  if (!app) return app.error();
  const Result<TemporaryFolder> folder = TemporaryFolder::create("k2k-bench-in");
  if (!folder) return folder.error();
  const std::string inputs = folder->path() + "/in";
  const std::string count = brief ? "20000" : "262144";
  const Status made =
      app->run_plainly({"--generate", inputs, "--records", count, "--queries", count});
  if (!made) return made.error();
  std::map<std::string, Samples> seconds;
  std::vector<double> launch_by_signals;
  std::vector<double> signals_by_direct;
  std::uint64_t swept = 0;
  nlohmann::ordered_json digests;
  std::mt19937 random(1);
  for (Rounds rounds = brief ? Rounds("signal_search", 2, 2, 0)
                             : Rounds("signal_search", 5, 30, 20);
       rounds.next();) {
    std::vector<std::string> order(std::begin(search_ways), std::end(search_ways));
    std::shuffle(order.begin(), order.end(), random);
    std::map<std::string, double> now;
    for (const std::string& way : order) {
      auto result = app->run({"--by", way, inputs + "/records", inputs + "/queries"});
      if (!result) return result.error();
      if (digests.is_null()) digests = (*result)["digests"];
      if ((*result)["digests"] != digests) {
        return Error{EIO, "by " + way + " the digests differ from the others'"};
      }
      if (way == "signals") swept += (*result)["swept"].get<std::uint64_t>();
      now[way] = (*result)["seconds"].get<double>();
      seconds[way].add(now[way]);
    }
    launch_by_signals.push_back(now["launch"] / now["signals"]);
    signals_by_direct.push_back(now["signals"] / now["direct"]);
  }
  nlohmann::ordered_json table;
  for (const char* const way : search_ways) {
    table.push_back({{"by", way},
                     {"ms", rounded(seconds[way].median() * 1e3)},
                     {"sd_ms", rounded(seconds[way].deviation() * 1e3)}});
  }
  return nlohmann::ordered_json{
      {"runs", signals_by_direct.size()},
      {"blocks", digests.size()},
      {"digests_identical", true},  // The loop ends with an error otherwise.
      {"swept", swept},
      {"ways", table},
      {"gain", nlohmann::ordered_json::array({ratio_row("launch / signals", launch_by_signals)})},
      {"goals", nlohmann::ordered_json::array({goal_row(signal_overhead, signals_by_direct)})}};
}

}  // namespace k2k::bench
