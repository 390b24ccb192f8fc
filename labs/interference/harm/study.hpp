#pragma once
// The comparisons of a study: which arms of which victim, in pairs; their runs, measured or read
// from an earlier part of the same study; their figures.
//
//   a_a       twin against twin: must contain 0
//   presence  no source against its twin
//   no_op     twin against as many no-ops a second
//   service   twin against the source, under a setting of the server
//   idle      no victim: the cores' sleep beside the twin against beside the source
//   reverse   the source with idle cores against the source beside the victim: requests a second
//
// Threading: the laboratory's thread, the only one of its process.

#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/temporary_folder.hpp"
#include "base/units.hpp"
#include "bench/verdict.hpp"
#include "k2k/runtime.hpp"
#include "labs/interference/harm/machine.hpp"
#include "labs/interference/harm/pairs.hpp"
#include "labs/interference/harm/sources.hpp"
#include "labs/interference/harm/victims.hpp"

namespace k2k::labs::harm {

enum class Kind : std::uint8_t { a_a, presence, no_op, service, idle, reverse };
const char* name_of(Kind kind);

struct Comparison {
  Victim victim;
  std::string source;
  Kind kind = Kind::a_a;
  std::string setting;

  [[nodiscard]] std::string key() const;  // "compute|ubench|service|staged"
};

// Is its policy `auto`? False for a setting that does not exist.
bool is_automatic(const std::string& setting, const RuntimeConfig& config);

// One run of a victim, or of a source alone.
struct Run {
  double wall_s = 0;
  double cpu_s = 0;
  double run_delay_s = 0;
  double rate = 0;  // Requests a second,
  double service_cpu_s = 0;
  double service_share = 0;  // of all cores' CPU time.
  double governor_cpu_s = 0;
  double wakes = 0;       // A request.
  double interrupts = 0;  // Between cores, a second and core.
  double asleep = -1;     // Part of all cores' time in sleep states; -1: not shown,
  double polling = -1;    // in the idle states of polling; -1: not shown,
  double idle = 0;        // and idle by /proc/stat.
  double tail_s = -1;     // 99th percentile of the victim's latency; -1: it has none.
  Counts counts = {};     // Of the victim in user mode.
  double stolen = 0;      // By the hypervisor; a part of all cores' time.
};
nlohmann::ordered_json json_of(const Run& run);
Run run_from(const nlohmann::ordered_json& json);

// A pair with a run in which the hypervisor took more than this is not counted.
inline constexpr double stolen_max = 0.02;

// Cores that sleep less than this without requests have no sleep to lose.
inline constexpr double asleep_least = 0.2;
// cpuidle and /proc/stat agree if their idle times differ by at most this part of all cores' time.
inline constexpr double idle_gap_max = 0.02;

// Why there is no figure of sleep.
inline constexpr const char* no_sleep_states = "this machine shows no sleep states (cpuidle)";

struct Figures {
  Estimate occupied;   // Logarithm of (CPU time + run delay), B against A: stolen and polluted.
  Estimate inflation;  // Logarithm of CPU time: polluted caches and predictors.
  Estimate delay;      // Run delay added, of the CPU time of A: stolen.
  Estimate wall;       // Logarithm of wall time.
  // The paper's figure 5, as parts of A's CPU time and run delay: run delay added, and CPU time
  // added. Their sum is the loss of a victim whose threads never wait for each other.
  Estimate stolen;
  Estimate polluted;
  Estimate loss;      // Wall time added, of A's.
  Estimate share;     // Of all cores' CPU time, by the service threads of the B runs.
  Estimate idle_gap;  // Idle time by cpuidle less that by /proc/stat, parts of all cores' time.
  Estimate rate;      // Logarithm of requests a second (reverse).
  // Logarithms of the B runs alone, to compare settings: requests a second, wake-ups, sleep.
  Estimate rate_level;
  Estimate wakes_level;
  Estimate asleep_level;
  Estimate asleep;                // Part of all cores' time, added by B.
  Estimate asleep_ratio;          // Logarithm of the sleep.
  Estimate tail;                  // Logarithm of the 99th percentile of the victim's latency.
  Estimate cache_misses;          // Logarithms of the victim's misses of the first data cache,
  Estimate branch_misses;         // and of its mispredicted branches; no pairs without a counter.
  Estimate interrupts;            // Logarithm of interrupts between cores.
  double mean_rate = 0;           // Of the B runs.
  double mean_service_share = 0;  // Likewise,
  double mean_governor_share = 0;
  double mean_wakes = 0;
  double mean_asleep_before = 0;  // Of the A runs,
  double mean_asleep = 0;         // and of the B runs,
  double mean_idle = 0;           // which were idle so long by /proc/stat,
  double mean_polling = 0;        // and in idle states of polling.
  bool sleep_shown = false;
  std::size_t made = 0;       // Pairs,
  std::size_t discarded = 0;  // and those that did not count.
  End end = End::goes_on;
  bool cut = false;  // It ended by time or Ctrl-C.
};
// `runs` are pairs: A and B in turn.
Figures figures_of(const std::vector<std::pair<Run, Run>>& pairs, Kind kind, const StopRule& rule,
                   std::uint64_t seed);

struct StudyOptions {
  RuntimeConfig config = {};
  std::uint64_t seed = 1;
  unsigned threads = 1;
  double run_s = 0.25;
  StopRule rule = {};
  // Under a host limit the runtimes must have seen each other before a victim begins, and have
  // spent their full buckets: a source settles so long at least, and for some refreshes.
  double settling_limited_s = 1.5;
  // And a run lasts at least so long: what is left of the buckets of 16 devices is a tenth of the
  // limit in one second, and a fiftieth in six.
  double run_limited_s = 4;
  // `auto` begins with a small cap and raises it by a quarter a sample of 100 ms at most: a victim
  // runs beside it so long, unmeasured, before it is measured.
  double settling_auto_s = 3;
  double longest_s = 0;     // Of all comparisons together; 0: no limit.
  bool sleep_shown = true;  // Does the machine show sleep states (cpuidle)?
  std::string online = "/sys/devices/system/cpu/online";
  LaunchReads kernel =
      on_cpu::launch_reads;  // Of the source "kernel", for the backend of `config`.
};

struct Outcome {
  Comparison comparison = {};
  Figures figures = {};
  std::string problem = {};  // The reason why it has no figures.
};

// The time of a pair, in pairs of the usual time. 1 for a setting that is refused later.
double cost_of(const Comparison& comparison, const StudyOptions& options);

// The part of the time left that each comparison takes when it begins, so that all have as many
// pairs.
std::vector<double> parts_of(const std::vector<Comparison>& comparisons,
                             const StudyOptions& options);

// Earlier runs, by comparison and place.
using EarlierRuns = std::map<std::string, Run>;

class Study {
 public:
  // Called for each run that was measured, with its record.
  using Keep = std::function<Status(const nlohmann::ordered_json& record)>;
  // Called before each pair: the comparison's number, its pairs so far, and the time left.
  using Progress = std::function<void(std::size_t at, const Comparison& comparison,
                                      std::size_t pairs, double left_s)>;

  Study(StudyOptions options, const volatile std::sig_atomic_t& stopped)
      : options_(std::move(options)), stopped_(&stopped), online_(text_of(options_.online)) {}

  // Measures until each comparison ends, the time is over, or a signal stops it. Errors: of `keep`;
  // ENXIO, a core went offline or came online, so that later runs have another machine.
  // A problem of a victim or a source is its comparisons' outcome.
  Result<std::vector<Outcome>> run(const std::vector<Comparison>& comparisons,
                                   const EarlierRuns& earlier, const Keep& keep,
                                   const Progress& progress);
  [[nodiscard]] bool stopped() const { return *stopped_ != 0; }

 private:
  Result<Run> measure(const Comparison& comparison, bool side);
  // Lets `auto` find its cap. Errors: of the victim; ECANCELED.
  [[nodiscard]] Status let_auto_settle(const Comparison& comparison, bool no_victim) const;
  // Errors: ENXIO, if there are more or fewer cores than at the beginning.
  [[nodiscard]] Status same_cores() const;
  Result<Figures> compare(const Comparison& comparison, const EarlierRuns& earlier,
                          const Keep& keep, double until_s,
                          const std::function<void(std::size_t)>& progress);
  Result<double> rate_of(const Comparison& comparison);
  // One, or the setting's number of devices, under its host limit in the folder `limited`.
  Result<std::vector<SourceProcess>> start_sources(const Comparison& comparison, Arm arm,
                                                   std::optional<TemporaryFolder>& limited);
  [[nodiscard]] double elapsed_s() const;

  const StudyOptions options_;
  const volatile std::sig_atomic_t* stopped_;
  const std::string online_;  // The cores that were online at the beginning.
  Instant begin_{};
  std::map<std::string, double> rates_;  // Of sources, for no-ops at the same rate.
};

}  // namespace k2k::labs::harm
