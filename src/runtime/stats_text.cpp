#include "runtime/stats_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/clock.hpp"

namespace k2k {

namespace {

double ledger_seconds(const server::Stats& stats) {
  return std::accumulate(stats.stage_seconds.begin(), stats.stage_seconds.end(), 0.0);
}

double requests_a_bundle(const server::Stats& stats) {
  return stats.bundles == 0
             ? 0
             : static_cast<double>(stats.requests) / static_cast<double>(stats.bundles);
}

std::string calls_text(const server::Stats& stats) {
  std::string text = fmt::format("{:<18}{:>12}{:>10}{:>12}{:>12}\n", "call", "count", "errors",
                                 "p50 us", "p99 us");
  for (const server::CallStats& call : stats.calls) {
    text += fmt::format("{:<18}{:>12}{:>10}{:>12.2f}{:>12.2f}\n", call.name, call.count,
                        call.errors, call.p50_us, call.p99_us);
  }
  return text;
}

std::string time_text(const server::Stats& stats) {
  const double ledger = ledger_seconds(stats);
  std::string text = "CPU time serving\n";
  for (std::size_t stage = 0; stage < stats.stage_seconds.size(); ++stage) {
    const double seconds = stats.stage_seconds[stage];
    text += fmt::format("  {:<16}{:>12.6f} s{:>8.1f} %\n", telemetry::stage_names[stage], seconds,
                        ledger > 0 ? 100 * seconds / ledger : 0.0);
  }
  text += fmt::format("  {:<16}{:>12.6f} s\n", "our ledger", ledger);
  text += fmt::format("  {:<16}{:>12.6f} s  ledger {:+.1f} %\n", "observer", stats.thread_seconds,
                      ledger_disagreement_percent(stats));
  return text;
}

double mean_us(const telemetry::FaultReport& faults, std::size_t part) {
  return static_cast<double>(faults.sum_cycles[part]) / static_cast<double>(faults.count()) *
         nanoseconds_per_cycle() / 1000;
}

double quantile_us(const telemetry::FaultReport& faults, std::size_t part, double quantile) {
  return faults.cycles[part].quantile(quantile) * nanoseconds_per_cycle() / 1000;
}

std::string faults_text(const server::Stats& stats) {
  if (stats.faults.count() == 0) return "";
  std::string text =
      fmt::format("{:<18}{:>12}{:>12}{:>12}\n", "page fault", "mean us", "p50 us", "p99 us");
  for (std::size_t part = 0; part < telemetry::fault_parts; ++part) {
    text += fmt::format("  {:<16}{:>12.2f}{:>12.2f}{:>12.2f}\n", telemetry::fault_part_names[part],
                        mean_us(stats.faults, part), quantile_us(stats.faults, part, 0.5),
                        quantile_us(stats.faults, part, 0.99));
  }
  return text + fmt::format("faults {}, resolved as {} ranges\n", stats.faults.count(),
                            stats.fault_ranges);
}

nlohmann::ordered_json faults_json(const server::Stats& stats) {
  nlohmann::ordered_json faults = {{"count", stats.faults.count()}, {"ranges", stats.fault_ranges}};
  for (std::size_t part = 0; part < telemetry::fault_parts && stats.faults.count() != 0; ++part) {
    faults[telemetry::fault_part_names[part]] = {{"mean_us", mean_us(stats.faults, part)},
                                                 {"p50_us", quantile_us(stats.faults, part, 0.5)},
                                                 {"p99_us", quantile_us(stats.faults, part, 0.99)}};
  }
  return faults;
}

}  // namespace

double ledger_disagreement_percent(const server::Stats& stats) {
  if (stats.thread_seconds <= 0) return 0;
  return 100 * (ledger_seconds(stats) - stats.thread_seconds) / stats.thread_seconds;
}

std::string to_table(const server::Stats& stats) {
  std::string text = calls_text(stats);
  text += fmt::format(
      "requests {}, in flight {}, refused {}\n"
      "doorbells {}, bundles {} ({:.2f} requests each), rescued {}\n"
      "threads {}, hand-offs {}, take-overs {}, parks {}\n",
      stats.requests, stats.in_flight, stats.refused, stats.doorbells, stats.bundles,
      requests_a_bundle(stats), stats.rescued, stats.threads, stats.hand_offs, stats.takeovers,
      stats.parks);
  if (stats.governor.cap > 0) {
    text += fmt::format("cap {:.1f} %, throttled {:.3f} s in {} waits, {} served in debt\n",
                        100 * stats.governor.cap, stats.governor.throttled_seconds,
                        stats.governor.waits, stats.governor.forced);
  }
  for (const server::DetachedError& error : stats.detached_errors) {
    text += fmt::format("detached {} failed {} times with errno {}\n", error.name, error.count,
                        error.error);
  }
  return text + faults_text(stats) + time_text(stats);
}

nlohmann::ordered_json to_json(const server::Stats& stats) {
  using nlohmann::ordered_json;
  ordered_json calls = ordered_json::array();
  for (const server::CallStats& call : stats.calls) {
    calls.push_back({{"name", call.name},
                     {"number", call.number},
                     {"count", call.count},
                     {"errors", call.errors},
                     {"p50_us", call.p50_us},
                     {"p99_us", call.p99_us}});
  }
  ordered_json stages = ordered_json::object();
  for (std::size_t stage = 0; stage < stats.stage_seconds.size(); ++stage) {
    std::string name = telemetry::stage_names[stage];
    for (char& letter : name) letter = letter == ' ' ? '_' : letter;
    stages[name] = stats.stage_seconds[stage];
  }
  ordered_json detached = ordered_json::array();
  for (const server::DetachedError& error : stats.detached_errors) {
    detached.push_back({{"name", error.name}, {"errno", error.error}, {"count", error.count}});
  }
  return {{"calls", calls},
          {"requests", stats.requests},
          {"in_flight", stats.in_flight},
          {"refused", stats.refused},
          {"doorbells", stats.doorbells},
          {"bundles", stats.bundles},
          {"requests_per_bundle", requests_a_bundle(stats)},
          {"rescued", stats.rescued},
          {"threads", stats.threads},
          {"hand_offs", stats.hand_offs},
          {"takeovers", stats.takeovers},
          {"parks", stats.parks},
          {"stage_seconds", stages},
          {"ledger_seconds", ledger_seconds(stats)},
          {"observer_seconds", stats.thread_seconds},
          {"ledger_disagreement_percent", ledger_disagreement_percent(stats)},
          {"governor",
           {{"cap", stats.governor.cap},
            {"throttled_seconds", stats.governor.throttled_seconds},
            {"waits", stats.governor.waits},
            {"forced", stats.governor.forced}}},
          {"faults", faults_json(stats)},
          {"detached_errors", detached}};
}

}  // namespace k2k
