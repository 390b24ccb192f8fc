// What does a program pay for K2K, beside the same code that calls libc on the same threads?
//
// Each program of apps/ does one work in two ways, as processes of their own that take turns in
// random order: by its kernel, and by the same code without K2K. Files and page cache are warm, and
// both ways must have the same answer. A round's ratio is device / direct, of the time of the work:
// the start of the process and of the device is left out.
//
//   wordcount, signal_search, memcached, miniamr   the same kernel, its calls by libc
//   display, comd, minife, bpt, xsbench, graph500  threads of the host by the kernel's code; the
//                                                  input is mapped by Linux (demand) or read
//                                                  (pinned)
//
// The modes of an input are run in the same rounds, so a row of pages on demand also tells the part
// of its difference that the faults make (fault_share.hpp).

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <regex>

#include "base/temporary_folder.hpp"
#include "bench/command/app_run.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/fault_share.hpp"
#include "bench/command/figure.hpp"
#include "bench/command/goal.hpp"

namespace k2k::bench {

namespace {

using Words = std::vector<std::string>;
using nlohmann::ordered_json;

constexpr Goal of_wordcount = {"applications", "wordcount"};
constexpr Goal of_signal_search = {"applications", "signal_search"};
constexpr Goal of_memcached = {"applications", "memcached"};
constexpr Goal of_miniamr = {"applications", "miniamr"};
constexpr Goal of_display = {"applications", "display"};
constexpr Goal of_comd = {"applications", "comd, pinned"};
constexpr Goal of_comd_demand = {"applications", "comd, demand"};
constexpr Goal of_minife = {"applications", "minife, pinned"};
constexpr Goal of_minife_demand = {"applications", "minife, demand"};
constexpr Goal of_bpt = {"applications", "bpt, pinned"};
constexpr Goal of_bpt_demand = {"applications", "bpt, demand"};
constexpr Goal of_xsbench = {"applications", "xsbench, pinned"};
constexpr Goal of_xsbench_demand = {"applications", "xsbench, demand"};
constexpr Goal of_graph500 = {"applications", "graph500, pinned"};
constexpr Goal of_graph500_demand = {"applications", "graph500, demand"};

// What one run says: its time, and an answer that is equal in all runs.
struct AppResult {
  double seconds = 0;
  ordered_json answer;
  std::uint64_t pages = 0;  // That came on demand by faults of the kernel.
};

AppResult kernel_time(const ordered_json& result) {
  return {result["kernel_seconds"].get<double>(), result["bits"],
          result["demand_pages"].get<std::uint64_t>()};
}

AppResult graph_time(const ordered_json& result) {
  AppResult read = {result["search_seconds"].get<double>(), {}, 0};
  read.pages = result["demand_pages"].get<std::uint64_t>();
  for (const auto& one : result["searches"]) read.answer.push_back(one["digest"]);
  return read;
}

// Of one request. Answers are judged by the clients.
AppResult request_time(const ordered_json& result) {
  const bool right = result["wrong"] == 0 && result["misses"] == 0 && result["requests"] != 0;
  return {right ? 1 / result["requests_per_s"].get<double>() : 0, right, 0};
}

// In arguments, @ is the folder of the program's inputs.
struct Application {
  const char* name;  // k2k-NAME of apps/FOLDER.
  const char* folder;
  Words generate;  // --generate with what follows; empty: no input.
  Words brief;     // For --brief: options with other values, of the input or else the work.
  Words work;      // Of both ways.
  AppResult (*read)(const ordered_json& result);
};

// Two ways of one application.
struct Comparison {
  const char* application;
  Goal goal;
  Words device;
  Words direct;
  bool faults = false;  // Beside the same two ways with pages read before (fault_share.hpp).
};

const Application applications[] = {
    {"wordcount",
     "wordcount",
     {"@/in"},
     {"--files", "100"},
     {"-f", "@/in/strings", "@/in/files"},
     [](const ordered_json& result) -> AppResult {
       return {result["seconds"].get<double>(), result["counts"], 0};
     }},
    {"signal-search",
     "signal_search",
     {"@/in"},
     {"--records", "20000", "--queries", "20000"},
     {"@/in/records", "@/in/queries"},
     [](const ordered_json& result) -> AppResult {
       return {result["seconds"].get<double>(), result["digests"], 0};
     }},
    {"memcached",
     "memcached",
     {},
     {"--keys", "1000", "--seconds", "0.05"},
     {"--load", "--buckets", "16", "--elements", "1024", "--keys", "8000", "--value-bytes", "1000",
      "--seconds", "0.3"},
     request_time},
    {"miniamr",
     "miniamr",
     {},
     {"--roots", "4", "--steps", "6"},
     {"--roots", "6", "--steps", "12", "--period", "12", "--watermark", "1"},
     [](const ordered_json& result) -> AppResult {
       return {result["seconds"].get<double>(), result["checksum"], 0};
     }},
    {"display",
     "display",
     {"@/picture.bmp", "--width", "1920", "--height", "1080"},
     {},
     {"--screen", "@/screen", "--geometry", "1920x1080x32", "@/picture.bmp"},
     [](const ordered_json& result) -> AppResult {
       return {result["seconds"].get<double>(), result["picture"], 0};
     }},
    {"comd",
     "comd",
     {"@/in", "--unit-cells", "16"},
     {"--unit-cells", "5"},
     {"--steps", "3", "--every", "3", "@/in/unsorted"},
     kernel_time},
    {"minife",
     "minife",
     {"@/in", "--elements", "32"},
     {"--elements", "8"},
     {"@/in/unsorted"},
     kernel_time},
    {"bpt",
     "bpt",
     {"@/in", "--keys", "1000000", "--lookups", "200000"},
     {"--keys", "20000", "--lookups", "500"},
     {"@/in/unsorted"},
     kernel_time},
    {"xsbench",
     "xsbench",
     {"@/in", "--grid-points", "512", "--lookups", "60000"},
     {"--nuclides", "20", "--grid-points", "50", "--lookups", "500"},
     {"@/in/unsorted"},
     kernel_time},
    {"graph500",
     "graph500",
     {"@/in", "--scale", "17", "--order", "unsorted"},
     {"--scale", "12"},
     {"--roots", "8", "@/in"},
     graph_time},
};

const Comparison comparisons[] = {
    {"wordcount", of_wordcount, {"--by", "kernel"}, {"--by", "direct"}},
    {"signal-search", of_signal_search, {"--by", "signals"}, {"--by", "direct"}},
    {"memcached", of_memcached, {"--by", "kernel"}, {"--by", "direct"}},
    {"miniamr", of_miniamr, {"--by", "kernel"}, {"--by", "direct"}},
    {"display", of_display, {"--by", "map"}, {"--by", "threads"}},
    {"comd", of_comd, {"--mode", "pinned"}, {"--by", "threads", "--mode", "pinned"}},
    {"comd", of_comd_demand, {"--mode", "demand"}, {"--by", "threads", "--mode", "demand"}, true},
    {"minife", of_minife, {"--mode", "pinned"}, {"--by", "threads", "--mode", "pinned"}},
    {"minife",
     of_minife_demand,
     {"--mode", "demand"},
     {"--by", "threads", "--mode", "demand"},
     true},
    {"bpt", of_bpt, {"--mode", "pinned"}, {"--by", "threads", "--mode", "pinned"}},
    {"bpt", of_bpt_demand, {"--mode", "demand"}, {"--by", "threads", "--mode", "demand"}, true},
    {"xsbench", of_xsbench, {"--mode", "pinned"}, {"--by", "threads", "--mode", "pinned"}},
    {"xsbench",
     of_xsbench_demand,
     {"--mode", "demand"},
     {"--by", "threads", "--mode", "demand"},
     true},
    {"graph500", of_graph500, {"--mode", "pinned"}, {"--by", "threads", "--mode", "pinned"}},
    {"graph500",
     of_graph500_demand,
     {"--mode", "demand"},
     {"--by", "threads", "--mode", "demand"},
     true},
};

// `words` with the values of these options instead.
Words with_values(Words words, const Words& options) {
  for (std::size_t at = 0; at + 1 < options.size(); at += 2) {
    const auto place = std::find(words.begin(), words.end(), options[at]);
    if (place == words.end()) {
      words.insert(words.end(), {options[at], options[at + 1]});
    } else {
      *std::next(place) = options[at + 1];
    }
  }
  return words;
}

// A program with its input.
struct Ready {
  const Application* application;
  AppRun app;
  std::string folder;
  bool brief;

  [[nodiscard]] Words filled(Words words) const {
    for (std::string& word : words) {
      if (word.starts_with('@')) word.replace(0, 1, folder);
    }
    return words;
  }
  [[nodiscard]] Words work_in(const Words& way) const {
    Words words = way;
    words.insert(words.end(), application->work.begin(), application->work.end());
    const bool smaller = brief && application->generate.empty();
    return filled(smaller ? with_values(words, application->brief) : words);
  }
};

// Errors: as AppRun; ENOENT for a program that was not built.
Result<Ready> prepare_application(const Application& application, const std::string& folder,
                                  bool brief) {
  auto app = AppRun::find(application.folder, application.name);
  if (!app) return app.error();
  Ready ready{&application, std::move(app.value()), folder + "/" + application.folder, brief};
  std::error_code error;
  std::filesystem::create_directory(ready.folder, error);
  if (error) return Error{error.value(), ready.folder + ": " + error.message()};
  if (application.generate.empty()) return ready;
  Words words = {"--generate"};
  words.insert(words.end(), application.generate.begin(), application.generate.end());
  if (brief) words = with_values(std::move(words), application.brief);
  if (Status made = ready.app.run_plainly(ready.filled(std::move(words))); !made) {
    return made.error();
  }
  return ready;
}

// The ways of one application that its comparisons need, each run once a round.
class Arms {
 public:
  explicit Arms(Ready ready) : ready_(std::move(ready)) {}

  // The arm with these words.
  std::size_t arm_of(const Words& way) {
    const auto same = [&](const Arm& arm) { return arm.way == way; };
    const auto place = std::ranges::find_if(arms_, same);
    const auto at = static_cast<std::size_t>(place - arms_.begin());
    if (place == arms_.end()) arms_.push_back({way, {}, 0});
    return at;
  }
  // All of them, in random order. Errors: as AppRun; EIO (an answer differs).
  Status run_round(std::mt19937& random) {
    std::vector<Arm*> order;
    for (Arm& arm : arms_) order.push_back(&arm);
    std::shuffle(order.begin(), order.end(), random);
    for (Arm* const arm : order) {
      if (Status ran = run(*arm); !ran) return ran;
    }
    return {};
  }
  [[nodiscard]] const std::vector<double>& seconds(std::size_t arm) const {
    return arms_[arm].seconds;
  }
  // That came on demand, by faults of the kernel.
  [[nodiscard]] std::uint64_t pages(std::size_t arm) const { return arms_[arm].pages; }

 private:
  struct Arm {
    Words way;
    std::vector<double> seconds;  // A value a round.
    std::uint64_t pages;
  };

  Status run(Arm& arm) {
    const auto run = ready_.app.run(ready_.work_in(arm.way));
    if (!run) return run.error();
    const AppResult result = ready_.application->read(*run);
    if (answer_.is_null()) answer_ = result.answer;
    if (result.answer != answer_ || result.seconds <= 0) {
      return Error{EIO, fmt::format("k2k-{} {} has another answer than the run before, or none",
                                    ready_.application->name, fmt::join(arm.way, " "))};
    }
    arm.seconds.push_back(result.seconds);
    arm.pages = result.pages;
    return {};
  }

  Ready ready_;
  std::vector<Arm> arms_;
  ordered_json answer_;
};

// A comparison, and its arms.
class Measured {
 public:
  // Expects that `arms` stays where it is.
  Measured(const Comparison& comparison, Arms& arms)
      : comparison_(&comparison),
        arms_(&arms),
        device_(arms.arm_of(comparison.device)),
        direct_(arms.arm_of(comparison.direct)) {
    if (!comparison.faults) return;
    const Words before = {"--mode", "pinned"};
    pinned_device_ = arms.arm_of(with_values(comparison.device, before));
    pinned_direct_ = arms.arm_of(with_values(comparison.direct, before));
  }

  [[nodiscard]] ordered_json row() const {
    const Goal goal = comparison_->goal;
    const ArmTimes times = {arms_->seconds(device_), arms_->seconds(direct_)};
    const Samples device(times.device);
    const Samples direct(times.direct);
    ordered_json row = {{"program", goal->title},
                        {"device_ms", rounded(device.median() * 1e3)},
                        {"device_sd_ms", rounded(device.deviation() * 1e3)},
                        {"direct_ms", rounded(direct.median() * 1e3)},
                        {"direct_sd_ms", rounded(direct.deviation() * 1e3)},
                        {"demand_pages", arms_->pages(device_)}};
    row.update(goal_row(goal, ratios_of(times)));
    std::optional<ArmTimes> pinned;
    if (comparison_->faults) {
      pinned = {arms_->seconds(pinned_device_), arms_->seconds(pinned_direct_)};
    }
    row.update(fault_columns(goal, times, pinned, arms_->pages(device_), row["verdict"]));
    return row;
  }

 private:
  const Comparison* comparison_;
  Arms* arms_;
  std::size_t device_;
  std::size_t direct_;
  std::size_t pinned_device_ = 0;
  std::size_t pinned_direct_ = 0;
};

// The comparisons in whose names the expression is found. Errors: EINVAL.
Result<std::vector<const Comparison*>> chosen(const std::string& only) {
  std::vector<const Comparison*> some;
  try {
    const std::regex wanted(only);
    for (const Comparison& one : comparisons) {
      if (std::regex_search(std::string(one.goal->title), wanted)) some.push_back(&one);
    }
  } catch (const std::regex_error&) {
    return Error{EINVAL, "--only '" + only + "' is no regular expression"};
  }
  if (some.empty()) return Error{EINVAL, "--only '" + only + "' names no program"};
  return some;
}

}  // namespace

Result<ordered_json> applications_beside_libc(const RuntimeConfig&, const Choice& choice) {
  const bool brief = choice.effort == Effort::brief;
  const auto some = chosen(choice.only);
  if (!some) return some.error();
  const auto folder = TemporaryFolder::create("k2k-bench-in");
  if (!folder) return folder.error();
  std::deque<Arms> arms;
  ordered_json left_out = ordered_json::array();
  std::vector<Measured> measured;
  for (const Application& application : applications) {
    const bool wanted = std::ranges::any_of(*some, [&](const Comparison* one) {
      return std::string_view(one->application) == application.name;
    });
    if (!wanted) continue;
    auto made = prepare_application(application, folder->path(), brief);
    if (!made && made.error().code == ENOENT) {  // As signal_search without OpenSSL.
      left_out.push_back(application.name);
      continue;
    }
    if (!made) return made.error();
    arms.emplace_back(std::move(made.value()));
    for (const Comparison* const one : *some) {
      if (std::string_view(one->application) == application.name) {
        measured.emplace_back(*one, arms.back());
      }
    }
  }
  if (measured.empty()) {
    return Error{ENOENT,
                 "no program is there; they are built by ./dev build and not installed: "
                 "run this benchmark from the build tree"};
  }
  std::mt19937 random(1);
  std::vector<Arms*> order;
  for (Arms& one : arms) order.push_back(&one);
  std::uint64_t done = 0;
  const auto most = static_cast<int>(choice.rounds);
  for (Rounds rounds = most != 0 ? Rounds("applications", most, most, 0)
                       : brief   ? Rounds("applications", 2, 2, 0)
                                 : Rounds("applications", 7, 30, 150);
       rounds.next(); ++done) {
    std::shuffle(order.begin(), order.end(), random);
    for (Arms* const one : order) {
      if (Status ran = one->run_round(random); !ran) return ran.error();
    }
  }
  ordered_json rows;
  for (const Measured& one : measured) rows.push_back(one.row());
  return ordered_json{{"rounds", done},
                      {"answers_identical", true},  // An error otherwise.
                      {"left_out", left_out},
                      {"rows", rows}};
}

}  // namespace k2k::bench
