#pragma once
// The benchmarks behind `k2k bench NAME`: each answers one question and returns one JSON object.
//
// Rules: the floor, the peer or the plain system call is measured in the same run, interleaved with
// K2K's measurement; medians are compared as ratios; progress goes to standard error.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "k2k/runtime.hpp"

namespace k2k::bench {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;
inline constexpr std::size_t page_bytes = 4096;

// How much to measure. `brief` takes a second or two and shows that a benchmark works and how its
// result looks; do not record its figures.
enum class Effort : std::uint8_t { full, brief };

// The options of a run.
struct Choice {
  Effort effort = Effort::full;
  std::string only = {};     // A regular expression (ECMAScript) for the cells; empty: all.
  std::uint32_t rounds = 0;  // 0: as many as the benchmark chooses.
};

struct Benchmark {
  const char* name;
  const char* question;
  Result<nlohmann::ordered_json> (*run)(const RuntimeConfig& config, Effort effort);
  // Beside the goals (goal_table.hpp): the figures of a source, or the errors that end the run;
  // empty if there are none.
  const char* expected = "";
  bool has_brief = false;  // Does it observe `effort`?
  bool long_run = false;   // Takes minutes: runs only if named.
  // Instead of `run`, for a benchmark with selectable cells: measures the cells with names that
  // match this regular expression (ECMAScript). Errors: EINVAL, the expression is invalid or
  // matches no name.
  Result<nlohmann::ordered_json> (*run_only)(const RuntimeConfig& config, Effort effort,
                                             const std::string& only) = nullptr;
  // Instead of `run`, for a benchmark whose rounds may be counted: `rounds` of them, or as many as
  // the benchmark chooses (0).
  Result<nlohmann::ordered_json> (*run_rounds)(const RuntimeConfig& config, Effort effort,
                                               std::uint32_t rounds) = nullptr;
  // Instead of `run`, for a benchmark with both. Errors: EINVAL, as run_only.
  Result<nlohmann::ordered_json> (*run_chosen)(const RuntimeConfig& config,
                                               const Choice& choice) = nullptr;

  [[nodiscard]] bool has_only() const { return run_only != nullptr || run_chosen != nullptr; }
  [[nodiscard]] bool has_rounds() const { return run_rounds != nullptr || run_chosen != nullptr; }
};
inline constexpr int rounds_least = 2;  // An interval needs two.
inline constexpr int rounds_most = 1'000;

// Never empty.
const std::vector<Benchmark>& benchmarks();

Result<nlohmann::ordered_json> round_trip(const RuntimeConfig& config);
Result<nlohmann::ordered_json> one_core(const RuntimeConfig& config);
Result<nlohmann::ordered_json> host_calls(const RuntimeConfig& config);
Result<nlohmann::ordered_json> head_of_line(const RuntimeConfig& config);
Result<nlohmann::ordered_json> cached_pread(const RuntimeConfig& config);
Result<nlohmann::ordered_json> throughput(const RuntimeConfig& config);
Result<nlohmann::ordered_json> idle(const RuntimeConfig& config);
Result<nlohmann::ordered_json> control_socket(const RuntimeConfig& config);
Result<nlohmann::ordered_json> small_files(const RuntimeConfig& config, Effort effort);
// Experiments of the thesis, sections 3.6 to 3.8.
Result<nlohmann::ordered_json> granularity(const RuntimeConfig& config, Effort effort);
Result<nlohmann::ordered_json> ordering(const RuntimeConfig& config, Effort effort);
Result<nlohmann::ordered_json> waiting(const RuntimeConfig& config, Effort effort);
Result<nlohmann::ordered_json> coalescing(const RuntimeConfig& config, Effort effort);
Result<nlohmann::ordered_json> grep_peers(const RuntimeConfig& config, Effort effort);
Result<nlohmann::ordered_json> wordcount_ways(const RuntimeConfig& config, Effort effort);
Result<nlohmann::ordered_json> signal_search_ways(const RuntimeConfig& config, Effort effort);
Result<nlohmann::ordered_json> memcached_servers(const RuntimeConfig& config, Effort effort,
                                                 std::uint32_t rounds);
Result<nlohmann::ordered_json> faults(const RuntimeConfig& config, Effort effort);
Result<nlohmann::ordered_json> graph500_modes(const RuntimeConfig& config, Effort effort);
Result<nlohmann::ordered_json> atomics(const RuntimeConfig& config, Effort effort);
// Experiments of SPIN (USENIX ATC'17), section 6.
Result<nlohmann::ordered_json> file_reads(const RuntimeConfig& config, Effort effort,
                                          const std::string& only);
Result<nlohmann::ordered_json> miniamr_memory(const RuntimeConfig& config, Effort effort);
Result<nlohmann::ordered_json> applications_beside_libc(const RuntimeConfig& config,
                                                        const Choice& choice);
Result<nlohmann::ordered_json> demand_runs(const RuntimeConfig& config, const Choice& choice);
Result<nlohmann::ordered_json> mapped_inputs(const RuntimeConfig& config, Effort effort);
Result<nlohmann::ordered_json> file_writes(const RuntimeConfig& config, Effort effort);
Result<nlohmann::ordered_json> route_model(const RuntimeConfig& config, Effort effort);
Result<nlohmann::ordered_json> soak(const RuntimeConfig& config, Effort effort);

// Samples of one quantity, in any unit.
class Samples {
 public:
  Samples() = default;
  explicit Samples(std::vector<double> values) : values_(std::move(values)) {}

  void add(double value) { values_.push_back(value); }
  void add(const std::vector<double>& values) {
    values_.insert(values_.end(), values.begin(), values.end());
  }
  void add(const Samples& samples) { add(samples.values_); }
  // Expects at least one sample and 0 <= quantile <= 1.
  [[nodiscard]] double quantile(double quantile) const;
  [[nodiscard]] double median() const { return quantile(0.5); }
  [[nodiscard]] double mean() const;
  // Standard deviation of the samples; 0 for a single sample.
  [[nodiscard]] double deviation() const;
  [[nodiscard]] std::size_t size() const { return values_.size(); }

 private:
  std::vector<double> values_;
};

// Nanoseconds of single round trips between two threads on two cores: one thread writes a line, the
// other answers by writing a second line. No request to a server on another core can be faster.
// Errors: EINVAL if this process may use only one core; EAGAIN without a second thread.
Result<std::vector<double>> cache_line_round_trips(int count);

// Millions of cache lines a second that one thread hands to a second thread and gets back. Both
// threads write each line. `waves` batches of `lanes` lines are in flight, and one word announces
// each batch. Waves of calls that hand over one line per slot cannot be faster. Errors: as above.
Result<double> lines_handed_over(std::uint32_t waves, std::uint32_t lanes, std::uint64_t lines);

// Rounded for readers and diffs: three significant digits.
double rounded(double value);

}  // namespace k2k::bench
