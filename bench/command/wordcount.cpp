// How fast is a wordcount that makes its own system calls, beside kernels that end for each call
// and beside threads? (thesis, section 3.8.3, figure 3.13 b)
//
// Four ways count 64 strings in all files of a tree, each as a process of its own: by kernel, by
// relaunch, by direct calls of libc on the kernel's threads, and by OpenMP without a device. The
// time is that from the first file to the last count, without the start of process and device. They
// take turns in random order, and a round's ratio compares two of them. Cold: the tree's pages are
// dropped before each turn; names and inodes stay. All must give the same counts.
//
// The thesis names neither its files nor its strings; ours are those of ./dev demo.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "bench/command/app_run.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/figure.hpp"
#include "bench/command/file_tree.hpp"
#include "bench/command/goal.hpp"
#include "bench/command/word_file.hpp"

namespace k2k::bench {

namespace {

constexpr Goal kernel_warm = {"wordcount", "relaunch / kernel, warm"};
constexpr Goal kernel_cold = {"wordcount", "relaunch / kernel, cold"};
constexpr Goal overhead = {"wordcount", "kernel / direct calls on its threads, warm"};
constexpr const char* ways[] = {"openmp", "relaunch", "direct", "kernel"};

struct WayTimes {
  std::map<std::string, Samples> all;
  std::vector<double> relaunch_by_kernel;
  std::vector<double> kernel_by_direct;
};

// One turn of each way, in a random order.
Status take_turns(const AppRun& app, const FileTree& tree, const std::string& words, bool cold,
                  std::mt19937& random, nlohmann::ordered_json& counts, WayTimes& times) {
  std::vector<std::string> order(std::begin(ways), std::end(ways));
  std::shuffle(order.begin(), order.end(), random);
  std::map<std::string, double> seconds;
  for (const std::string& way : order) {
    if (cold) tree.drop_pages();
    auto result = app.run({"--by", way, "-f", words, tree.top()});
    if (!result) return result.error();
    nlohmann::ordered_json& counted = (*result)["counts"];
    if (counts.is_null()) counts = counted;
    if (counted != counts) return Error{EIO, "by " + way + " the counts differ from the others'"};
    seconds[way] = (*result)["seconds"].get<double>();
    times.all[way].add(seconds[way]);
  }
  times.relaunch_by_kernel.push_back(seconds["relaunch"] / seconds["kernel"]);
  times.kernel_by_direct.push_back(seconds["kernel"] / seconds["direct"]);
  return {};
}

nlohmann::ordered_json ways_table(const WayTimes& warm, const WayTimes& cold) {
  nlohmann::ordered_json table;
  for (const char* const way : ways) {
    const Samples& hot = warm.all.at(way);
    const Samples& other = cold.all.at(way);
    table.push_back({{"by", way},
                     {"warm_ms", rounded(hot.median() * 1e3)},
                     {"warm_sd_ms", rounded(hot.deviation() * 1e3)},
                     {"cold_ms", rounded(other.median() * 1e3)},
                     {"cold_sd_ms", rounded(other.deviation() * 1e3)}});
  }
  return table;
}

}  // namespace

Result<nlohmann::ordered_json> wordcount_ways(const RuntimeConfig&, Effort effort) {
  const bool brief = effort == Effort::brief;
  auto app = AppRun::find("wordcount", "wordcount");
  if (!app) return app.error();
  const FileTree tree(brief ? "/usr/include/linux" : "/usr/include");
  if (tree.files() == 0) {
    return Error{ENOENT, std::string("no file below ") + tree.top() +
                             "; install some: apt-get install libc6-dev linux-libc-dev"};
  }
  const WordFile words;
  if (!words.ok()) return Error{errno, "no file in memory for the strings"};
  nlohmann::ordered_json counts;
  WayTimes warm;
  WayTimes cold;
  std::mt19937 random(1);
  for (Rounds rounds = brief ? Rounds("wordcount", 2, 2, 0) : Rounds("wordcount", 3, 15, 38);
       rounds.next();) {
    tree.read_pages();
    for (const bool is_cold : {false, false, true}) {
      const Status taken =
          take_turns(*app, tree, words.path(), is_cold, random, counts, is_cold ? cold : warm);
      if (!taken) return taken.error();
    }
  }
  nlohmann::ordered_json goals = nlohmann::ordered_json::array();
  goals.push_back(goal_row(kernel_warm, warm.relaunch_by_kernel));
  goals.push_back(goal_row(kernel_cold, cold.relaunch_by_kernel));
  goals.push_back(goal_row(overhead, warm.kernel_by_direct));
  return nlohmann::ordered_json{{"runs", warm.relaunch_by_kernel.size()},
                                {"tree", tree.top()},
                                {"files", tree.files()},
                                {"bytes", tree.bytes()},
                                {"strings", counts.size()},
                                {"counts_identical", true},  // take_turns() fails otherwise.
                                {"ways", ways_table(warm, cold)},
                                {"goals", goals}};
}

}  // namespace k2k::bench
