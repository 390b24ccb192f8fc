// What does a kernel gain, and pay, that returns memory between its steps? (thesis, section 3.8.1,
// figure 3.11)
//
// miniAMR runs without a watermark, with a high and with a low one, each as a process of its own,
// in turns of random order. Their cells must be equal. The watermarks lie between the resident
// memory of the first step and that of a run that returns nothing, so that they fit any size.
//
// Within a memory cgroup, whose limit lies between the high watermark's memory and that of the run
// that returns nothing, Linux kills the latter and both others end.

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "bench/command/app_run.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/figure.hpp"
#include "bench/command/goal.hpp"

namespace k2k::bench {

namespace {

constexpr double amr_mib = 1 << 20;

struct Watermark {
  const char* name;
  std::uint64_t mib;  // 0: none.
  Samples seconds = {};
  std::uint64_t resident = 0;  // The most of any run, in bytes.
  std::uint64_t returned = 0;
  std::string within_limit = {};
};

std::uint64_t most_resident(const nlohmann::ordered_json& result) {
  std::uint64_t most = 0;
  for (const auto& bytes : result["resident_bytes"])
    most = std::max(most, bytes.get<std::uint64_t>());
  return most;
}

std::vector<std::string> with_watermark(std::vector<std::string> size, const Watermark& one) {
  size.insert(size.end(), {"--watermark", std::to_string(one.mib)});
  return size;
}

}  // namespace

Result<nlohmann::ordered_json> miniamr_memory(const RuntimeConfig&, Effort effort) {
  const bool brief = effort == Effort::brief;
  auto app = AppRun::find("miniamr", "miniamr");
  if (!app) return app.error();
  std::vector<std::string> size = {"--roots", "8", "--steps", "12", "--period", "12"};
  if (!brief) size = {"--roots", "12", "--steps", "60", "--period", "40"};

  const auto first = app->run(size);
  if (!first) return first.error();
  const std::uint64_t most = most_resident(*first);
  const std::uint64_t begin = (*first)["resident_begin_bytes"].get<std::uint64_t>();
  const std::uint64_t least = (*first)["resident_bytes"][0].get<std::uint64_t>();
  const auto between = [&](double part) {
    const double bytes =
        static_cast<double>(least) + part * static_cast<double>(most - std::min(least, most));
    return static_cast<std::uint64_t>(std::ceil(bytes / amr_mib));
  };
  Watermark watermarks[] = {{"none", 0}, {"high", between(0.55)}, {"low", between(0.2)}};

  std::vector<double> low_by_high;
  std::mt19937 random(1);
  for (Rounds rounds = brief ? Rounds("miniamr", 2, 2, 0) : Rounds("miniamr", 5, 20, 20);
       rounds.next();) {
    std::vector<Watermark*> order;
    for (Watermark& one : watermarks) order.push_back(&one);
    std::shuffle(order.begin(), order.end(), random);
    double seconds[3] = {};
    for (Watermark* const one : order) {
      const auto result = app->run(with_watermark(size, *one));
      if (!result) return result.error();
      if ((*result)["checksum"] != (*first)["checksum"]) {
        return Error{EIO, std::string("with the watermark ") + one->name +
                              " the cells differ from the others'"};
      }
      const double now = (*result)["seconds"].get<double>();
      seconds[one - watermarks] = now;
      one->seconds.add(now);
      one->resident = std::max(one->resident, most_resident(*result));
      one->returned = (*result)["returned_bytes"].get<std::uint64_t>();
    }
    low_by_high.push_back(seconds[2] / seconds[1]);
  }

  // Linux charges the group with what its process touches after the begin.
  const std::uint64_t limit =
      between(0.8) - static_cast<std::uint64_t>(static_cast<double>(begin) / amr_mib);
  const auto ends_within = [&](const Watermark& one) {
    std::vector<std::string> words = with_watermark(size, one);
    words.insert(words.end(), {"--limit", std::to_string(limit)});
    return static_cast<bool>(app->run(words));
  };
  const bool available = ends_within(watermarks[2]);
  for (Watermark& one : watermarks) {
    one.within_limit = !available ? "not measured" : ends_within(one) ? "ends" : "killed";
  }

  nlohmann::ordered_json rows;
  for (const Watermark& one : watermarks) {
    rows.push_back({{"watermark", one.name},
                    {"mib", one.mib},
                    {"resident_mib", rounded(static_cast<double>(one.resident) / amr_mib)},
                    {"returned_mib", rounded(static_cast<double>(one.returned) / amr_mib)},
                    {"seconds", rounded(one.seconds.median())},
                    {"sd", rounded(one.seconds.deviation())},
                    {"within_limit", one.within_limit}});
  }
  return nlohmann::ordered_json{
      {"cells_identical", true},  // An error otherwise.
      {"watermarks", rows},
      {"times", nlohmann::ordered_json::array({ratio_row("low / high watermark", low_by_high)})},
      {"limit", available ? std::to_string(limit) + " MiB" : "not available"}};
}

}  // namespace k2k::bench
