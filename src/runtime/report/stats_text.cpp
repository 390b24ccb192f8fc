#include "runtime/report/stats_text.hpp"

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

// Doorbells that needed no wake-up.
std::uint64_t interrupts_saved(const server::Stats& stats) {
  return stats.doorbells > stats.wakes ? stats.doorbells - stats.wakes : 0;
}

std::string calls_text(const server::Stats& stats) {
  std::string text = fmt::format("{:<18}{:>12}{:>10}{:>12}{:>12}{:>12}\n", "call", "count",
                                 "errors", "p50 us", "p99 us", "CPU s");
  for (const server::CallStats& call : stats.calls) {
    text += fmt::format("{:<18}{:>12}{:>10}{:>12.2f}{:>12.2f}{:>12.6f}\n", call.name, call.count,
                        call.errors, call.p50_us, call.p99_us, call.cpu_seconds);
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
  text += fmt::format("  {:<16}{:>12.6f} s  beside these: {} wake-ups\n", "interrupts",
                      stats.interrupt_seconds, stats.wakes);
  return text;
}

// The tenants and the cores; one line each if there is more than one.
std::string whose_text(const server::Stats& stats) {
  std::string text;
  const bool told_apart =
      stats.tenants.size() > 1 || (stats.tenants.size() == 1 && stats.tenants.front().tenant != 0);
  for (const server::TenantStats& tenant : stats.tenants) {
    if (!told_apart) break;
    text += fmt::format("  tenant {:<9}{:>12.6f} s  {} requests\n", tenant.tenant,
                        tenant.cpu_seconds, tenant.requests);
  }
  text += fmt::format("  {:<16}{:>12.6f} s\n", "idle", stats.idle_seconds);
  for (const server::CoreStats& core : stats.cores) {
    text += fmt::format("  core {:<11}{:>12.6f} s\n", core.core, core.cpu_seconds);
  }
  return text;
}

std::string files_text(const router::ReaderStats& files) {
  if (files.reads + files.writes == 0) return "";
  constexpr double mib = 1024 * 1024;
  constexpr double pages_a_mib = 256;
  std::string text = fmt::format(
      "files: {} reads, {} in part directly; {} writes, {} in part directly; {:.1f} MiB by the "
      "page cache, {:.1f} MiB directly; {} transfers refused; {:.1f} MiB read ahead, {:.1f} of it "
      "evicted\n",
      files.reads, files.mixed, files.writes, files.writes_direct,
      static_cast<double>(files.bytes_cache) / mib, static_cast<double>(files.bytes_direct) / mib,
      files.fall_backs, static_cast<double>(files.pages_ahead) / pages_a_mib,
      static_cast<double>(files.pages_evicted) / pages_a_mib);
  if (files.misaligned > 0) {
    text += fmt::format(
        "files: {} transfers took a copy more, for their memory does not lie as the file's offsets "
        "do; that of allocate(), allocate_shared() and K2K_LOCAL does from 4 KiB on\n",
        files.misaligned);
  }
  return text;
}

struct PartTimes {
  std::uint64_t count = 0;
  double mean_us = 0;
  double p50_us = 0;
  double p99_us = 0;
};

PartTimes times_of(const telemetry::RequestReport& report, std::size_t part) {
  const double us = nanoseconds_per_cycle() / 1000;
  const telemetry::HistogramSnapshot& cycles = report.cycles[part];
  if (cycles.count() == 0) return {};
  return {cycles.count(),
          static_cast<double>(report.sum_cycles[part]) / static_cast<double>(cycles.count()) * us,
          cycles.quantile(0.5) * us, cycles.quantile(0.99) * us};
}

std::string parts_text(const char* what, const telemetry::RequestReport& report) {
  std::string text = fmt::format("{:<18}{:>12}{:>12}{:>12}\n", what, "mean us", "p50 us", "p99 us");
  bool any = false;
  for (std::size_t part = 0; part < telemetry::request_parts; ++part) {
    const PartTimes times = times_of(report, part);
    if (times.count == 0) continue;
    any = true;
    text +=
        fmt::format("  {:<16}{:>12.2f}{:>12.2f}{:>12.2f}\n", telemetry::request_part_names[part],
                    times.mean_us, times.p50_us, times.p99_us);
  }
  return any ? text : "";
}

nlohmann::ordered_json parts_json(const telemetry::RequestReport& report) {
  nlohmann::ordered_json parts = nlohmann::ordered_json::object();
  for (std::size_t part = 0; part < telemetry::request_parts; ++part) {
    const PartTimes times = times_of(report, part);
    if (times.count == 0) continue;
    parts[telemetry::request_part_names[part]] = {{"count", times.count},
                                                  {"mean_us", times.mean_us},
                                                  {"p50_us", times.p50_us},
                                                  {"p99_us", times.p99_us}};
  }
  return parts;
}

std::string faults_text(const server::Stats& stats) {
  if (stats.faults.count() == 0) return "";
  return parts_text("page fault", stats.faults) + fmt::format("faults {}, resolved as {} ranges\n",
                                                              stats.faults.count(),
                                                              stats.fault_ranges);
}

nlohmann::ordered_json faults_json(const server::Stats& stats) {
  nlohmann::ordered_json faults = parts_json(stats.faults);
  faults["count"] = stats.faults.count();
  faults["ranges"] = stats.fault_ranges;
  return faults;
}

nlohmann::ordered_json budgets_json(const server::Stats& stats) {
  nlohmann::ordered_json budgets = nlohmann::ordered_json::array();
  for (const server::BudgetStats& budget : stats.governor.budgets) {
    budgets.push_back({{"tenant", budget.tenant},
                       {"part", budget.part},
                       {"throttled_seconds", budget.throttled_seconds},
                       {"waits", budget.waits}});
  }
  return budgets;
}

nlohmann::ordered_json tenants_json(const server::Stats& stats) {
  nlohmann::ordered_json tenants = nlohmann::ordered_json::array();
  for (const server::TenantStats& tenant : stats.tenants) {
    tenants.push_back({{"tenant", tenant.tenant},
                       {"requests", tenant.requests},
                       {"cpu_seconds", tenant.cpu_seconds}});
  }
  return tenants;
}

nlohmann::ordered_json cores_json(const server::Stats& stats) {
  nlohmann::ordered_json cores = nlohmann::ordered_json::array();
  for (const server::CoreStats& core : stats.cores) {
    cores.push_back({{"core", core.core}, {"cpu_seconds", core.cpu_seconds}});
  }
  return cores;
}

std::string sensors_text(const server::GovernorStats& governor) {
  return fmt::format(
      "sensors: {}, {:.3f} s of CPU time; loss {:.1f} %; {:.3f} s that no other program wanted, "
      "{} rests without doorbells\n",
      governor.sensors, governor.sensor_seconds, 100 * governor.loss, governor.free_seconds,
      governor.masked_rests);
}

std::string budgets_text(const server::GovernorStats& governor) {
  std::string text;
  for (const server::BudgetStats& budget : governor.budgets) {
    text += fmt::format("budget of {:<14} {:.4g} %, throttled {:.3f} s in {} waits\n",
                        budget.tenant == 0 ? "others" : fmt::format("tenant {}", budget.tenant),
                        100 * budget.part, budget.throttled_seconds, budget.waits);
  }
  for (const std::string& conflict : governor.conflicts) text += conflict + "\n";
  return text;
}

nlohmann::ordered_json files_json(const router::ReaderStats& files) {
  return {{"reads", files.reads},
          {"writes", files.writes},
          {"unprobed", files.unprobed},
          {"probed", files.probed},
          {"mixed", files.mixed},
          {"bytes_cache", files.bytes_cache},
          {"bytes_direct", files.bytes_direct},
          {"fall_backs", files.fall_backs},
          {"files_refused", files.files_refused},
          {"misaligned", files.misaligned},
          {"pages_ahead", files.pages_ahead},
          {"pages_evicted", files.pages_evicted},
          {"pages_held", files.pages_held},
          {"pages_kept", files.pages_kept},
          {"pages_again", files.pages_again},
          {"writes_direct", files.writes_direct}};
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
      "threads {}, hand-offs {}, take-overs {}, parks {}, wake-ups {}\n",
      stats.requests, stats.in_flight, stats.refused, stats.doorbells, stats.bundles,
      requests_a_bundle(stats), stats.rescued, stats.threads, stats.hand_offs, stats.takeovers,
      stats.parks, stats.wakes);
  if (stats.preprocess_wakes != 0) {
    text += fmt::format(
        "pre-processing: {} requests in {} wake-ups ({:.2f} a wake-up)\n", stats.preprocessed,
        stats.preprocess_wakes,
        static_cast<double>(stats.preprocessed) / static_cast<double>(stats.preprocess_wakes));
  }
  if (stats.governor.cap > 0) {
    text += fmt::format(
        "cap {:.1f} %, {:.3f} s charged, throttled {:.3f} s in {} waits, {} served in debt\n",
        100 * stats.governor.cap, stats.governor.charged_seconds, stats.governor.throttled_seconds,
        stats.governor.waits, stats.governor.forced);
    if (stats.governor.kernel_thread_seconds > 0) {
      text += fmt::format("cap: {:.3f} s charged for kernel threads behind fsync and its like\n",
                          stats.governor.kernel_thread_seconds);
    }
    if (stats.governor.request_interrupt_seconds > 0) {
      text += fmt::format(
          "cap: {:.3f} s charged for interrupts behind requests, now {:.1f} us each{}\n",
          stats.governor.request_interrupt_seconds, stats.governor.interrupt_us,
          stats.governor.interrupts.empty() ? "" : ", " + stats.governor.interrupts);
    }
  }
  if (!stats.governor.sensors.empty()) text += sensors_text(stats.governor);
  if (stats.governor.host_limit > 0) {
    text += fmt::format("host limit {:.4g} %, this runtime's part {:.4g} %, shared by {}\n",
                        100 * stats.governor.host_limit, 100 * stats.governor.host_part,
                        stats.governor.host_holders);
  }
  text += budgets_text(stats.governor);
  text += files_text(stats.files);
  if (!stats.control.absent.empty()) {
    text += fmt::format("no control socket: {}\n", stats.control.absent);
  }
  if (!stats.control.device_file.empty()) {
    text +=
        fmt::format("device file {}: {} launches, {} resident waves, {} bytes of local memory\n",
                    stats.control.device_file, stats.device.launches, stats.device.resident_waves,
                    stats.device.local_bytes_max);
  }
  for (const server::DetachedError& error : stats.detached_errors) {
    text += fmt::format("detached {} failed {} times with errno {}\n", error.name, error.count,
                        error.error);
  }
  return text + parts_text("request", stats.times) + faults_text(stats) + time_text(stats) +
         whose_text(stats);
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
                     {"p99_us", call.p99_us},
                     {"cpu_seconds", call.cpu_seconds}});
  }
  ordered_json stages = ordered_json::object();
  for (std::size_t stage = 0; stage < stats.stage_seconds.size(); ++stage) {
    stages[telemetry::stage_keys[stage]] = stats.stage_seconds[stage];
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
          {"coalescing_changes", stats.coalescing_changes},
          {"threads", stats.threads},
          {"hand_offs", stats.hand_offs},
          {"takeovers", stats.takeovers},
          {"parks", stats.parks},
          {"wakes", stats.wakes},
          {"preprocess_wakes", stats.preprocess_wakes},
          {"preprocessed", stats.preprocessed},
          {"interrupts_saved", interrupts_saved(stats)},
          {"tenants", tenants_json(stats)},
          {"cores", cores_json(stats)},
          {"times", parts_json(stats.times)},
          {"stage_seconds", stages},
          {"ledger_seconds", ledger_seconds(stats)},
          {"idle_seconds", stats.idle_seconds},
          {"observer_seconds", stats.thread_seconds},
          {"interrupt_seconds", stats.interrupt_seconds},
          {"ledger_disagreement_percent", ledger_disagreement_percent(stats)},
          {"governor",
           {{"cap", stats.governor.cap},
            {"throttled_seconds", stats.governor.throttled_seconds},
            {"waits", stats.governor.waits},
            {"forced", stats.governor.forced},
            {"charged_seconds", stats.governor.charged_seconds},
            {"sensors", stats.governor.sensors},
            {"sensor_seconds", stats.governor.sensor_seconds},
            {"kernel_thread_seconds", stats.governor.kernel_thread_seconds},
            {"request_interrupt_seconds", stats.governor.request_interrupt_seconds},
            {"interrupt_us", stats.governor.interrupt_us},
            {"interrupts", stats.governor.interrupts},
            {"free_seconds", stats.governor.free_seconds},
            {"masked_rests", stats.governor.masked_rests},
            {"loss", stats.governor.loss},
            {"host_limit", stats.governor.host_limit},
            {"host_part", stats.governor.host_part},
            {"host_holders", stats.governor.host_holders},
            {"budgets", budgets_json(stats)},
            {"conflicts", stats.governor.conflicts}}},
          {"files", files_json(stats.files)},
          {"control",
           {{"socket", stats.control.socket},
            {"absent", stats.control.absent},
            {"cpu_seconds", stats.control.cpu_seconds},
            {"device_file", stats.control.device_file}}},
          {"device",
           {{"platform", stats.device.platform},
            {"compute_units", stats.device.compute_units},
            {"wave_lanes", stats.device.wave_lanes},
            {"resident_waves", stats.device.resident_waves},
            {"group_items_max", stats.device.group_items_max},
            {"local_bytes_max", stats.device.local_bytes_max},
            {"area_bytes", stats.device.area_bytes},
            {"launches", stats.device.launches},
            {"launching", stats.device.launching}}},
          {"faults", faults_json(stats)},
          {"detached_errors", detached}};
}

std::string to_json_text(const server::Stats& stats) { return to_json(stats).dump(); }

std::string files_json_text(const router::ReaderStats& files) { return files_json(files).dump(); }

}  // namespace k2k
