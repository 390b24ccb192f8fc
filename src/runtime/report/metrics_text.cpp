#include "runtime/report/metrics_text.hpp"

#include <fmt/format.h>

#include <string_view>

#include "base/clock.hpp"

namespace k2k {

namespace {

using server::Stats;

// Upper bounds of a latency's buckets, in seconds: 1 us to 1 s and beyond, three per decade.
constexpr double bounds_s[] = {1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3,
                               2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1,  0.2,  0.5,  1,    10};

std::string escaped(std::string_view value) {
  std::string text;
  for (const char letter : value) {
    if (letter == '\\' || letter == '"') text += '\\';
    if (letter == '\n') {
      text += "\\n";
    } else {
      text += letter;
    }
  }
  return text;
}

// The samples of one name, with its heading.
class Family {
 public:
  Family(std::string& page, const char* name, const char* type, const char* help)
      : page_(page), name_(name) {
    page_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }

  // `label` such as "call"; "": only the runtime's.
  void add(std::uint32_t runtime, double value, const char* label = "",
           std::string_view word = "") {
    sample("", runtime, label, word, "", value);
  }
  void add(std::uint32_t runtime, const telemetry::HistogramSnapshot& cycles, double sum_s,
           const char* label, std::string_view word) {
    const double s = nanoseconds_per_cycle() / 1e9;
    std::uint64_t below = 0;
    std::uint32_t bucket = 0;
    for (const double bound : bounds_s) {
      for (; bucket < telemetry::histogram_buckets; ++bucket) {
        const auto end = static_cast<double>(telemetry::bucket_floor(bucket)) +
                         static_cast<double>(telemetry::bucket_width(bucket));
        if (end * s > bound) break;
        below += cycles.in_bucket(bucket);
      }
      sample("_bucket", runtime, label, word, fmt::format(",le=\"{:g}\"", bound),
             static_cast<double>(below));
    }
    const auto all = static_cast<double>(cycles.count());
    sample("_bucket", runtime, label, word, ",le=\"+Inf\"", all);
    sample("_sum", runtime, label, word, "", sum_s);
    sample("_count", runtime, label, word, "", all);
  }

 private:
  void sample(const char* suffix, std::uint32_t runtime, const char* label, std::string_view word,
              const std::string& more, double value) {
    const std::string labelled =
        *label == '\0' ? "" : fmt::format(",{}=\"{}\"", label, escaped(word));
    page_ += fmt::format("{}{}{{runtime=\"{}\"{}{}}} {}\n", name_, suffix, runtime, labelled, more,
                         value);
  }

  std::string& page_;
  const char* const name_;
};

struct Scalar {
  const char* name;
  const char* type;
  const char* help;
  double (*value)(const Stats& stats);
};

double number(std::uint64_t count) { return static_cast<double>(count); }

const Scalar scalars[] = {
    {"k2k_requests_total", "counter", "Requests that were accepted.",
     [](const Stats& s) { return number(s.requests); }},
    {"k2k_requests_in_flight", "gauge", "Requests accepted and not yet answered.",
     [](const Stats& s) { return number(s.in_flight); }},
    {"k2k_requests_refused_total", "counter", "Requests refused by policy or validation.",
     [](const Stats& s) { return number(s.refused); }},
    {"k2k_requests_rescued_total", "counter",
     "Requests found by the rescan: their doorbell was lost.",
     [](const Stats& s) { return number(s.rescued); }},
    {"k2k_doorbells_total", "counter", "Doorbells taken. Minus wake-ups: interrupts saved.",
     [](const Stats& s) { return number(s.doorbells); }},
    {"k2k_wakes_total", "counter", "Wake-ups of a sleeping poller by a doorbell (interrupts).",
     [](const Stats& s) { return number(s.wakes); }},
    {"k2k_preprocess_wakes_total", "counter", "Wake-ups of the pre-processing thread (staged).",
     [](const Stats& s) { return number(s.preprocess_wakes); }},
    {"k2k_preprocessed_requests_total", "counter", "Requests that it handed to workers.",
     [](const Stats& s) { return number(s.preprocessed); }},
    {"k2k_parks_total", "counter", "Times a poller went to sleep.",
     [](const Stats& s) { return number(s.parks); }},
    {"k2k_bundles_total", "counter", "Bundles of requests served together.",
     [](const Stats& s) { return number(s.bundles); }},
    {"k2k_hand_offs_total", "counter", "Times a thread gave the poller's role away before a wait.",
     [](const Stats& s) { return number(s.hand_offs); }},
    {"k2k_take_overs_total", "counter",
     "Times the poller's role was taken from a thread in a long call.",
     [](const Stats& s) { return number(s.takeovers); }},
    {"k2k_coalescing_changes_total", "counter", "Changes of setting by adaptive coalescing.",
     [](const Stats& s) { return number(s.coalescing_changes); }},
    {"k2k_service_threads", "gauge", "Service threads that exist.",
     [](const Stats& s) { return number(s.threads); }},
    {"k2k_service_cpu_seconds_total", "counter", "CPU time of service threads, by their clocks.",
     [](const Stats& s) { return s.thread_seconds; }},
    {"k2k_idle_cpu_seconds_total", "counter",
     "CPU time of service threads without requests to serve.",
     [](const Stats& s) { return s.idle_seconds; }},
    {"k2k_interrupt_cpu_seconds_total", "counter",
     "CPU time that other threads spent on waking service threads.",
     [](const Stats& s) { return s.interrupt_seconds; }},
    {"k2k_control_cpu_seconds_total", "counter", "CPU time of the control socket's thread.",
     [](const Stats& s) { return s.control.cpu_seconds; }},
    {"k2k_file_cache_bytes_total", "counter", "File data read or written through the page cache.",
     [](const Stats& s) { return static_cast<double>(s.files.bytes_cache); }},
    {"k2k_file_direct_bytes_total", "counter", "File data read or written by direct transfers.",
     [](const Stats& s) { return static_cast<double>(s.files.bytes_direct); }},
    {"k2k_file_direct_writes_total", "counter",
     "Writes that bypassed the page cache, in part or whole.",
     [](const Stats& s) { return number(s.files.writes_direct); }},
    {"k2k_file_read_ahead_pages_total", "counter", "Pages (4 KiB) read ahead for kernels.",
     [](const Stats& s) { return number(s.files.pages_ahead); }},
    {"k2k_file_evicted_pages_total", "counter", "Pages read ahead that were chosen for eviction.",
     [](const Stats& s) { return number(s.files.pages_evicted); }},
    {"k2k_file_kept_pages_total", "counter", "Pages read ahead that host programs use now.",
     [](const Stats& s) { return number(s.files.pages_kept); }},
    {"k2k_file_read_again_pages_total", "counter", "Pages read ahead again after their eviction.",
     [](const Stats& s) { return number(s.files.pages_again); }},
    {"k2k_file_held_pages", "gauge", "Pages in the page cache only for read-ahead of kernels.",
     [](const Stats& s) { return number(s.files.pages_held); }},
    {"k2k_cap_ratio", "gauge", "Cap in force, of all cores' CPU time; 0 = none.",
     [](const Stats& s) { return s.governor.cap; }},
    {"k2k_throttled_seconds_total", "counter", "Time that service threads waited for the governor.",
     [](const Stats& s) { return s.governor.throttled_seconds; }},
    {"k2k_throttle_waits_total", "counter", "Waits of service threads for the governor.",
     [](const Stats& s) { return number(s.governor.waits); }},
    {"k2k_guarantee_conflicts", "gauge", "Guarantees of tenants that the cap does not allow.",
     [](const Stats& s) { return number(s.governor.conflicts.size()); }},
    {"k2k_forced_requests_total", "counter",
     "Requests served in debt after the longest permitted wait.",
     [](const Stats& s) { return number(s.governor.forced); }},
    {"k2k_sensor_cpu_seconds_total", "counter", "CPU time of the governor's sensors.",
     [](const Stats& s) { return s.governor.sensor_seconds; }},
    {"k2k_loss_ratio", "gauge", "Loss of CPU programs at the last sample, as `auto` estimates it.",
     [](const Stats& s) { return s.governor.loss; }},
    {"k2k_charged_seconds_total", "counter", "CPU time that was held against the cap.",
     [](const Stats& s) { return s.governor.charged_seconds; }},
    {"k2k_free_cpu_seconds_total", "counter",
     "CPU time of serving that no other program wanted, which `displaced` does not charge.",
     [](const Stats& s) { return s.governor.free_seconds; }},
    {"k2k_kernel_thread_seconds_total", "counter",
     "Upper bound of kernel threads' work behind calls like fsync, charged to the cap.",
     [](const Stats& s) { return s.governor.kernel_thread_seconds; }},
    {"k2k_request_interrupt_seconds_total", "counter",
     "CPU time of interrupts behind requests, charged to the cap.",
     [](const Stats& s) { return s.governor.request_interrupt_seconds; }},
    {"k2k_host_limit_ratio", "gauge", "Host limit, of all cores' CPU time; 0 = none.",
     [](const Stats& s) { return s.governor.host_limit; }},
    {"k2k_host_part_ratio", "gauge", "This runtime's part of the host limit.",
     [](const Stats& s) { return s.governor.host_part; }},
    {"k2k_host_holders", "gauge", "Runtimes that share the host limit.",
     [](const Stats& s) { return number(s.governor.host_holders); }},
};

// Approximates each sample by the middle of its bucket, within a sixteenth.
double sum_s(const telemetry::HistogramSnapshot& cycles) {
  double sum = 0;
  for (std::uint32_t bucket = 0; bucket < telemetry::histogram_buckets; ++bucket) {
    const auto middle = static_cast<double>(telemetry::bucket_floor(bucket)) +
                        static_cast<double>(telemetry::bucket_width(bucket) - 1) / 2;
    sum += middle * number(cycles.in_bucket(bucket));
  }
  return sum * nanoseconds_per_cycle() / 1e9;
}

// For each runtime and each element of one of its lists.
template <class Runtimes, class List, class Add>
void each(const Runtimes& runtimes, List Stats::* list, const Add& add) {
  for (const RuntimeMetrics& one : runtimes) {
    for (const auto& element : one.stats.*list) add(one.runtime, element);
  }
}

void add_calls(std::string& page, std::span<const RuntimeMetrics> runtimes) {
  Family requests(page, "k2k_call_requests_total", "counter", "Requests answered, by call.");
  each(runtimes, &Stats::calls, [&](std::uint32_t runtime, const server::CallStats& call) {
    requests.add(runtime, number(call.count), "call", call.name);
  });
  Family errors(page, "k2k_call_errors_total", "counter", "Answers that were an errno, by call.");
  each(runtimes, &Stats::calls, [&](std::uint32_t runtime, const server::CallStats& call) {
    errors.add(runtime, number(call.errors), "call", call.name);
  });
  Family seconds(page, "k2k_call_cpu_seconds_total", "counter", "CPU time of serving, by call.");
  each(runtimes, &Stats::calls, [&](std::uint32_t runtime, const server::CallStats& call) {
    seconds.add(runtime, call.cpu_seconds, "call", call.name);
  });
  Family latency(page, "k2k_call_latency_seconds", "histogram",
                 "From the device's publication to the host's answer, by call.");
  each(runtimes, &Stats::calls, [&](std::uint32_t runtime, const server::CallStats& call) {
    latency.add(runtime, call.latency_cycles, sum_s(call.latency_cycles), "call", call.name);
  });
}

void add_times(std::string& page, std::span<const RuntimeMetrics> runtimes, const char* name,
               const char* help, telemetry::RequestReport Stats::* report) {
  const double s = nanoseconds_per_cycle() / 1e9;
  Family family(page, name, "histogram", help);
  for (const RuntimeMetrics& one : runtimes) {
    const telemetry::RequestReport& times = one.stats.*report;
    for (std::size_t part = 0; part < telemetry::request_parts; ++part) {
      family.add(one.runtime, times.cycles[part], number(times.sum_cycles[part]) * s, "stage",
                 telemetry::request_part_names[part]);
    }
  }
}

void add_cpu_time(std::string& page, std::span<const RuntimeMetrics> runtimes) {
  Family stages(page, "k2k_stage_cpu_seconds_total", "counter", "CPU time of serving, by stage.");
  for (const RuntimeMetrics& one : runtimes) {
    for (std::size_t stage = 0; stage < telemetry::stage_count; ++stage) {
      stages.add(one.runtime, one.stats.stage_seconds[stage], "stage",
                 telemetry::stage_keys[stage]);
    }
  }
  Family cores(page, "k2k_core_cpu_seconds_total", "counter", "CPU time of serving, by core.");
  each(runtimes, &Stats::cores, [&](std::uint32_t runtime, const server::CoreStats& core) {
    cores.add(runtime, core.cpu_seconds, "core", std::to_string(core.core));
  });
  Family requests(page, "k2k_tenant_requests_total", "counter", "Requests, by tenant.");
  each(runtimes, &Stats::tenants, [&](std::uint32_t runtime, const server::TenantStats& tenant) {
    requests.add(runtime, number(tenant.requests), "tenant", std::to_string(tenant.tenant));
  });
  Family seconds(page, "k2k_tenant_cpu_seconds_total", "counter",
                 "CPU time of serving, by tenant.");
  each(runtimes, &Stats::tenants, [&](std::uint32_t runtime, const server::TenantStats& tenant) {
    seconds.add(runtime, tenant.cpu_seconds, "tenant", std::to_string(tenant.tenant));
  });
}

// Budgets of the named tenants; tenant 0 stands for all others.
void add_budgets(std::string& page, std::span<const RuntimeMetrics> runtimes) {
  Family parts(page, "k2k_budget_part_ratio", "gauge",
               "A tenant's part of all cores' CPU time, without CPU time lent by other tenants.");
  for (const RuntimeMetrics& one : runtimes) {
    for (const server::BudgetStats& budget : one.stats.governor.budgets) {
      parts.add(one.runtime, budget.part, "tenant", std::to_string(budget.tenant));
    }
  }
  Family throttled(page, "k2k_budget_throttled_seconds_total", "counter",
                   "Time that a tenant's requests waited for its budget.");
  for (const RuntimeMetrics& one : runtimes) {
    for (const server::BudgetStats& budget : one.stats.governor.budgets) {
      throttled.add(one.runtime, budget.throttled_seconds, "tenant", std::to_string(budget.tenant));
    }
  }
}

}  // namespace

std::string to_prometheus(std::span<const RuntimeMetrics> runtimes) {
  std::string page = fmt::format(
      "# HELP k2k_build_info Version of the library; always 1.\n# TYPE k2k_build_info gauge\n"
      "k2k_build_info{{version=\"{}\"}} 1\n",
      K2K_VERSION);
  for (const Scalar& scalar : scalars) {
    Family family(page, scalar.name, scalar.type, scalar.help);
    for (const RuntimeMetrics& one : runtimes) family.add(one.runtime, scalar.value(one.stats));
  }
  add_calls(page, runtimes);
  add_times(page, runtimes, "k2k_request_seconds",
            "A request's time, from the call to the work-item's next step, by stage.",
            &Stats::times);
  add_times(page, runtimes, "k2k_page_fault_seconds",
            "Time of kernels' page faults, from the fault to the work-item's next step, by stage.",
            &Stats::faults);
  add_cpu_time(page, runtimes);
  add_budgets(page, runtimes);
  return page;
}

}  // namespace k2k
