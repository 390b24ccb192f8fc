#pragma once
// The benchmarks behind `k2k bench NAME`: each answers one question and returns one JSON object.
//
// Rules: the floor, the peer or the plain system call is measured in the same run, interleaved with
// ours; medians are compared as ratios; progress goes to standard error.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "runtime/runtime.hpp"

namespace k2k::bench {

struct Benchmark {
  const char* name;
  const char* question;
  const char* must_reach;
  Result<nlohmann::ordered_json> (*run)(const RuntimeConfig& config);
};

// Never empty.
const std::vector<Benchmark>& benchmarks();

Result<nlohmann::ordered_json> round_trip(const RuntimeConfig& config);
Result<nlohmann::ordered_json> head_of_line(const RuntimeConfig& config);
Result<nlohmann::ordered_json> cached_pread(const RuntimeConfig& config);
Result<nlohmann::ordered_json> throughput(const RuntimeConfig& config);
Result<nlohmann::ordered_json> idle(const RuntimeConfig& config);

// Samples of one quantity, in any unit.
class Samples {
 public:
  void add(double value) { values_.push_back(value); }
  void add(const std::vector<double>& values) {
    values_.insert(values_.end(), values.begin(), values.end());
  }
  // Expects at least one sample and 0 <= quantile <= 1.
  [[nodiscard]] double quantile(double quantile) const;
  [[nodiscard]] double median() const { return quantile(0.5); }

 private:
  std::vector<double> values_;
};

// Nanoseconds of single round trips between two threads on two cores: one writes a line, the other
// answers by writing a second one. Nothing that asks a server on another core can be faster.
// Errors: EINVAL where this process may use only one core; EAGAIN without a second thread.
Result<std::vector<double>> cache_line_round_trips(int count);

// Rounded for people and diffs: three significant digits.
double rounded(double value);

}  // namespace k2k::bench
