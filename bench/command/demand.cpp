// What memory does a program save, and what time does it lose, whose input comes on demand instead
// of before its kernels? (thesis, section 4.5.2, figures 4.8 and 4.9)
//
// Programs of apps/ run on the same unsorted input with pages on demand and with pages read before
// (pinned), as processes of their own that take turns in random order; both have the same answer.
//
// Time (figure 4.9): the input is in the page cache. The time is that from the open file to the
// answer, the device's part that of the launches, and the host's the rest.
//
// Memory (figure 4.8): the input's pages were dropped from the page cache before. The process' own
// resident memory and the input's pages in the page cache are sampled at 500 Hz, and told apart:
// the page cache belongs to no process.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "base/descriptor.hpp"
#include "base/temporary_folder.hpp"
#include "bench/command/app_run.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/figure.hpp"
#include "bench/command/goal.hpp"

namespace k2k::bench {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t memory_places = 13;  // Of the time axis of figure 4.8.
constexpr const char* demand_modes[] = {"demand", "pinned"};

struct DemandTimes {
  double seconds = 0;
  double device_seconds = 0;
  ordered_json answer;
};

DemandTimes times_of(const ordered_json& result) {
  return {result["seconds"].get<double>(), result["kernel_seconds"].get<double>(), result["bits"]};
}

DemandTimes graph_times_of(const ordered_json& result) {
  DemandTimes times;
  times.device_seconds = result["kernel_seconds"].get<double>();
  times.seconds = result["load_seconds"].get<double>() + result["search_seconds"].get<double>();
  for (const auto& one : result["searches"]) times.answer.push_back(one["digest"]);
  return times;
}

struct DemandCase {
  const char* title;
  const char* key;  // Of figure 4.8: memory_KEY; nullptr: another case has the figure.
  const char* program;
  std::vector<std::string> generate;
  std::vector<std::string> brief;  // Instead, for --brief.
  std::vector<std::string> work;
  const char* input;  // In the folder of the case.
  DemandTimes (*read)(const ordered_json& result);
};

const DemandCase demand_cases[] = {
    {"BPT, 2,000 lookups",
     "bpt",
     "bpt",
     {"--keys", "4000000", "--lookups", "2000"},
     {"--keys", "20000", "--lookups", "50"},
     {},
     "in/unsorted",
     times_of},
    {"XSBench, 500 lookups",
     nullptr,
     "xsbench",
     {"--grid-points", "1024", "--lookups", "500"},
     {"--nuclides", "20", "--grid-points", "50", "--lookups", "5"},
     {},
     "in/unsorted",
     times_of},
    {"XSBench, 60,000 lookups",
     "xsbench",
     "xsbench",
     {"--grid-points", "1024", "--lookups", "60000"},
     {"--nuclides", "20", "--grid-points", "50", "--lookups", "500"},
     {},
     "in/unsorted",
     times_of},
    {"graph500, 16 searches",
     "graph500",
     "graph500",
     {"--scale", "18", "--order", "unsorted"},
     {"--scale", "12", "--order", "unsorted"},
     {"--roots", "16"},
     "in",
     graph_times_of},
    {"CoMD, 3 steps",
     "comd",
     "comd",
     {"--unit-cells", "20"},
     {"--unit-cells", "6"},
     {"--steps", "3", "--every", "3"},
     "in/unsorted",
     times_of},
};

// Drops the file's pages, which nobody has changed, from the page cache.
void drop_from_cache(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ::fsync(file.number());  // A generator's pages may still be dirty.
  ::posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
}

struct MemoryCurve {
  std::vector<double> seconds;
  std::vector<double> own;
  std::vector<double> cached;

  // The value of the last sample at or before the moment.
  [[nodiscard]] double at(const std::vector<double>& values, double moment) const {
    const auto behind = std::upper_bound(seconds.begin(), seconds.end(), moment);
    const auto place = static_cast<std::size_t>(behind - seconds.begin());
    return values[place == 0 ? 0 : place - 1];
  }
};

// In MiB. Own memory is told as what it grew by since the first sample, before the input.
MemoryCurve curve_of(const ordered_json& samples) {
  constexpr double bytes_a_mib = 1 << 20;
  MemoryCurve curve;
  double begin = 0;
  for (const auto& sample : samples) {
    const double own = sample["anonymous_bytes"].get<double>() +
                       sample["file_bytes"].get<double>() + sample["shared_bytes"].get<double>();
    if (curve.seconds.empty()) begin = own;
    curve.seconds.push_back(sample["seconds"].get<double>());
    curve.own.push_back(std::max(0.0, own - begin) / bytes_a_mib);
    curve.cached.push_back(sample["page_cache_bytes"].get<double>() / bytes_a_mib);
  }
  return curve;
}

// One program with one input.
class DemandRuns {
 public:
  // Makes the input. Errors: as AppRun.
  static Result<DemandRuns> create(const DemandCase& one, const std::string& folder, bool brief) {
    auto app = AppRun::find(one.program, one.program);
    if (!app) return app.error();
    DemandRuns made(one, std::move(app.value()), folder);
    std::vector<std::string> words = {"--generate", folder + "/in"};
    const std::vector<std::string>& more = brief ? one.brief : one.generate;
    words.insert(words.end(), more.begin(), more.end());
    if (Status done = made.app_.run_plainly(words); !done) return done.error();
    return made;
  }

  // Each mode once with a warm page cache and once with a cold one. Errors: as AppRun; EIO (the
  // answers differ).
  Status run_round(std::mt19937& random) {
    std::size_t order[] = {0, 1};
    if (random() % 2 == 0) std::swap(order[0], order[1]);
    for (const std::size_t mode : order) {
      if (Status done = run_cold(mode); !done) return done;
    }
    // The last cold run may have left out pages of the input, or have lost some.
    if (const auto warmed = run("pinned", false); !warmed) return warmed.error();
    DemandTimes now[2];
    for (const std::size_t mode : order) {
      const auto result = run(demand_modes[mode], false);
      if (!result) return result.error();
      now[mode] = one_->read(*result);
      if (Status same = compare(now[mode].answer, mode); !same) return same;
      device_[mode].add(now[mode].device_seconds);
      host_[mode].add(std::max(0.0, now[mode].seconds - now[mode].device_seconds));
      total_[mode].add(now[mode].seconds);
    }
    ratios_.push_back(now[0].seconds / now[1].seconds);
    return {};
  }

  // Times are parts of the median time of pinned pages.
  [[nodiscard]] ordered_json row() const {
    const double whole = total_[1].median();
    ordered_json row = {{"program", one_->title}};
    for (std::size_t mode = 0; mode < 2; ++mode) {
      const std::string name = demand_modes[mode];
      row[name + "_ms"] = rounded(total_[mode].median() * 1e3);
      row[name + "_sd_ms"] = rounded(total_[mode].deviation() * 1e3);
      row[name + "_device"] = rounded(device_[mode].median() / whole);
      row[name + "_device_sd"] = rounded(device_[mode].deviation() / whole);
      row[name + "_host"] = rounded(host_[mode].median() / whole);
      row[name + "_host_sd"] = rounded(host_[mode].deviation() / whole);
      row[name + "_mib"] = rounded(most_own_[mode].median());
      row[name + "_cache_mib"] = rounded(most_cached_[mode].median());
    }
    row.update(ratio_row("demand / pinned", ratios_));
    return row;
  }

  // Figure 4.8 over the time of the longest run; a run that has ended keeps its last memory.
  [[nodiscard]] ordered_json memory_figure() const {
    double longest = 0;
    for (const auto& curves : curves_) {
      for (const MemoryCurve& curve : curves) longest = std::max(longest, curve.seconds.back());
    }
    std::vector<double> places;
    for (std::size_t place = 0; place < memory_places; ++place) {
      places.push_back(rounded(longest * 1e3 * static_cast<double>(place) / (memory_places - 1)));
    }
    Figure figure(
        {"time", "ms"}, {"memory", "MiB"}, places,
        {"demand, process", "demand, page cache", "pinned, process", "pinned, page cache"});
    for (std::size_t mode = 0; mode < 2; ++mode) {
      for (const MemoryCurve& curve : curves_[mode]) {
        for (std::size_t place = 0; place < memory_places; ++place) {
          const double moment = places[place] / 1e3;
          figure.at(2 * mode, place).add(curve.at(curve.own, moment));
          figure.at(2 * mode + 1, place).add(curve.at(curve.cached, moment));
        }
      }
    }
    return figure.json();
  }

  [[nodiscard]] const DemandCase& one() const { return *one_; }

 private:
  DemandRuns(const DemandCase& one, AppRun app, std::string folder)
      : one_(&one), app_(std::move(app)), input_(std::move(folder) + "/" + one.input) {}

  [[nodiscard]] Result<ordered_json> run(const std::string& mode, bool sampled) const {
    std::vector<std::string> words = one_->work;
    if (sampled) words.emplace_back("--resident");
    words.insert(words.end(), {"--mode", mode, input_});
    return app_.run(words);
  }

  Status run_cold(std::size_t mode) {
    drop_from_cache(input_);
    const auto result = run(demand_modes[mode], true);
    if (!result) return result.error();
    const MemoryCurve curve = curve_of((*result)["resident"]);
    most_own_[mode].add(*std::ranges::max_element(curve.own));
    most_cached_[mode].add(*std::ranges::max_element(curve.cached));
    curves_[mode].push_back(curve);
    return compare(one_->read(*result).answer, mode);
  }

  Status compare(const ordered_json& answer, std::size_t mode) {
    if (answer_.is_null()) answer_ = answer;
    if (answer == answer_) return {};
    return Error{EIO, std::string(one_->title) + ": with " + demand_modes[mode] +
                          " pages the answer is another one than in the run before"};
  }

  const DemandCase* one_;
  AppRun app_;
  std::string input_;
  ordered_json answer_;
  Samples total_[2];
  Samples device_[2];
  Samples host_[2];
  Samples most_own_[2];
  Samples most_cached_[2];
  std::vector<MemoryCurve> curves_[2];
  std::vector<double> ratios_;
};

// The cases in whose titles the expression is found. Errors: EINVAL.
Result<std::vector<const DemandCase*>> chosen_cases(const std::string& only) {
  std::vector<const DemandCase*> some;
  try {
    const std::regex wanted(only);
    for (const DemandCase& one : demand_cases) {
      if (std::regex_search(one.title, wanted)) some.push_back(&one);
    }
  } catch (const std::regex_error&) {
    return Error{EINVAL, "--only '" + only + "' is no regular expression"};
  }
  if (some.empty()) return Error{EINVAL, "--only '" + only + "' names no program"};
  return some;
}

}  // namespace

Result<ordered_json> demand_runs(const RuntimeConfig&, const Choice& choice) {
  const bool brief = choice.effort == Effort::brief;
  const auto some = chosen_cases(choice.only);
  if (!some) return some.error();
  std::vector<TemporaryFolder> folders;
  std::vector<DemandRuns> runs;
  for (const DemandCase* const one : *some) {
    auto folder = TemporaryFolder::create("k2k-bench-in");
    if (!folder) return folder.error();
    auto made = DemandRuns::create(*one, folder->path(), brief);
    if (!made) return made.error();
    folders.push_back(std::move(folder.value()));
    runs.push_back(std::move(made.value()));
  }
  std::mt19937 random(1);
  std::vector<DemandRuns*> order;
  for (DemandRuns& one : runs) order.push_back(&one);
  std::uint64_t done = 0;
  const auto most = static_cast<int>(choice.rounds);
  for (Rounds rounds = most != 0 ? Rounds("demand", most, most, 0)
                       : brief   ? Rounds("demand", 2, 2, 0)
                                 : Rounds("demand", 7, 20, 90);
       rounds.next(); ++done) {
    std::shuffle(order.begin(), order.end(), random);
    for (DemandRuns* const one : order) {
      if (Status ran = one->run_round(random); !ran) return ran.error();
    }
  }
  ordered_json result = {{"runs", done}, {"answers_identical", true}};  // An error otherwise.
  ordered_json& rows = result["programs"] = ordered_json::array();
  for (const DemandRuns& one : runs) rows.push_back(one.row());
  for (const DemandRuns& one : runs) {
    if (one.one().key == nullptr) continue;
    result[std::string("memory_") + one.one().key] = one.memory_figure();
  }
  return result;
}

}  // namespace k2k::bench
