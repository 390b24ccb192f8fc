#pragma once
// One row of the table: runs a generator on a runtime of its own, measures the cost, and checks the
// answers.
//
// Threading: the caller's thread; a runtime has threads of its own.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "labs/interference/generators/generator.hpp"
#include "telemetry/event_ring.hpp"

namespace k2k::labs::generators {

struct Comparison {
  std::uint64_t compared = 0;
  std::uint64_t wrong = 0;  // Including missing and surplus answers.
  std::string first;        // A description of the first wrong answer.
};
// Compares each answer with the reference at the same index; `tolerance` is relative, 0: must be
// equal.
Comparison compare(const std::vector<double>& answers, const std::vector<double>& reference,
                   double tolerance);

struct Row {
  const Generator* generator = nullptr;
  std::uint64_t pages = 0;   // Filled during the run: equal for equal seeds.
  std::uint64_t faults = 0;  // Requests: a page has several if work-items touch it before it is
                             // there, and how many depends on the host's speed.
  std::uint64_t calls = 0;   // Every request that is not a fault.
  double elapsed_s = 0;
  double service_cpu_s = 0;  // Of all service threads, by their CPU clocks.
  Comparison answers;
  bool skipped = false;
  std::string note;  // The reason for skipping, or a remark for the reader.

  [[nodiscard]] std::uint64_t requests() const { return faults + calls; }
  [[nodiscard]] bool agrees() const { return !skipped && answers.wrong == 0; }
};

// `events`, if given, are those of the runtime after the run (runtime/request_events.hpp). Errors:
// as Runtime::create(), the generator and its run.
Result<Row> measure(const Generator& generator, const RuntimeConfig& config,
                    const Settings& settings,
                    Result<std::vector<telemetry::Event>>* events = nullptr);

// generator, requests (the row of table I), pages, faults, calls, elapsed_s, requests_per_s,
// service_cpu_s, service_us_per_request (null without requests), compared, wrong, agrees (null if
// skipped), note.
nlohmann::ordered_json json_of(const Row& row);

}  // namespace k2k::labs::generators
