#include "labs/interference/generators/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "labs/interference/governor/study.hpp"
#include "runtime/request_events.hpp"

namespace k2k::labs::generators {

namespace {

using governor::rounded;
using nlohmann::ordered_json;

std::uint64_t faults_of(const server::Stats& stats) {
  for (const server::CallStats& call : stats.calls) {
    if (call.name == "fault_in") return call.count;
  }
  return 0;
}

std::uint64_t pages_of(const Workload& workload) {
  std::uint64_t pages = 0;
  for (const DemandRegion* const region : workload.regions()) pages += region->counters().pages;
  return pages;
}

bool same(double answer, double wanted, double tolerance) {
  return answer == wanted || std::abs(answer - wanted) <= tolerance * std::abs(wanted);
}

}  // namespace

Comparison compare(const std::vector<double>& answers, const std::vector<double>& reference,
                   double tolerance) {
  Comparison result;
  result.compared = std::max(answers.size(), reference.size());
  const std::size_t both = std::min(answers.size(), reference.size());
  result.wrong = result.compared - both;
  for (std::size_t place = 0; place < both; ++place) {
    if (same(answers[place], reference[place], tolerance)) continue;
    ++result.wrong;
    if (!result.first.empty()) continue;
    result.first = fmt::format("answer {} is {}, the reference has {}", place, answers[place],
                               reference[place]);
  }
  if (result.wrong != 0 && result.first.empty()) {
    result.first =
        fmt::format("there are {} answers, the reference has {}", answers.size(), reference.size());
  }
  return result;
}

Result<Row> measure(const Generator& generator, const RuntimeConfig& config,
                    const Settings& settings, Result<std::vector<telemetry::Event>>* events) {
  Result<Runtime> runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  Result<std::unique_ptr<Workload>> made = generator.make(runtime.value(), settings);
  if (!made) return made.error();
  Workload& workload = *made.value();

  Row row;
  row.generator = &generator;
  const server::Stats before = runtime->stats();
  const std::uint64_t pages_before = pages_of(workload);
  const Instant begin = now();
  if (Status status = workload.run(runtime.value()); !status) return status.error();
  row.elapsed_s = static_cast<double>((now() - begin).count()) / 1e9;
  const server::Stats after = runtime->stats();
  if (events != nullptr) *events = RequestEvents::of(runtime.value());
  row.pages = pages_of(workload) - pages_before;
  row.faults = faults_of(after) - faults_of(before);
  row.calls = after.requests - before.requests - row.faults;
  row.service_cpu_s = after.thread_seconds - before.thread_seconds;

  row.note = workload.skipped();
  row.skipped = !row.note.empty();
  if (row.skipped) return row;
  row.note = workload.note();
  if (runtime->device().platform != "cpu" && !workload.regions().empty() && row.note.empty()) {
    row.note = "page faults are resolved by Linux or the device's driver, which count none here";
  }
  row.answers = compare(workload.answers(), workload.reference(), workload.tolerance());
  return row;
}

ordered_json json_of(const Row& row) {
  const auto requests = static_cast<double>(row.requests());
  ordered_json object = {{"generator", row.generator->name},
                         {"requests", row.generator->row},
                         {"pages", row.pages},
                         {"faults", row.faults},
                         {"calls", row.calls},
                         {"elapsed_s", rounded(row.elapsed_s)},
                         {"requests_per_s", rounded(requests / row.elapsed_s)},
                         {"service_cpu_s", rounded(row.service_cpu_s)},
                         {"service_us_per_request", nullptr},
                         {"compared", row.answers.compared},
                         {"wrong", row.answers.wrong},
                         {"agrees", nullptr},
                         {"note", row.note}};
  if (row.requests() != 0) {
    object["service_us_per_request"] = rounded(row.service_cpu_s * 1e6 / requests);
  }
  if (!row.skipped) object["agrees"] = row.agrees();
  return object;
}

}  // namespace k2k::labs::generators
