#include "cli/watch/show/metrics.hpp"

#include <fmt/format.h>

#include <string_view>

namespace k2k::watch {

namespace {

std::string in_label(std::string_view value) {
  std::string text;
  for (const char letter : value) {
    if (letter == '\\' || letter == '"') text += '\\';
    // Prometheus refuses a page with a byte that is no UTF-8, and a thread may have any name.
    text += letter < ' ' || letter > '~' ? '?' : letter;
  }
  return text;
}

std::string heading(const char* name, const char* type, const char* help) {
  return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

std::string labels_of(const Row& row) {
  return fmt::format(
      "part=\"{}\",kind=\"{}\",source=\"{}\",name=\"{}\",device=\"{}\",driver=\"{}\"",
      in_label(row.part), in_label(row.kind), in_label(row.source), in_label(row.name),
      in_label(row.device), in_label(row.driver));
}

}  // namespace

std::string as_metrics(const Report& total) {
  std::string page = heading("k2k_watch_cpu_seconds_total", "counter",
                             "CPU time of a device path of Linux, by its source.");
  for (const Row& row : total.rows) {
    page += fmt::format("k2k_watch_cpu_seconds_total{{{},estimated=\"{}\"}} {}\n", labels_of(row),
                        row.estimated ? 1 : 0, row.cpu_s);
  }
  page += heading("k2k_watch_events_total", "counter", "Interrupts, softirqs and work items.");
  for (const Row& row : total.rows) {
    if (!row.count) continue;
    page += fmt::format("k2k_watch_events_total{{{}}} {}\n", labels_of(row), *row.count);
  }
  page += heading("k2k_watch_class_seconds_total", "counter", "CPU time of all cores, by class.");
  const Classes& classes = total.classes;
  const std::pair<const char*, double> sums[] = {
      {total.traced ? "programs" : "user", classes.user_s},
      {"system_calls", classes.system_calls_s},
      {"kernel_threads", classes.kernel_threads_s},
      {"interrupts", classes.interrupts_s},
      {"softirqs", classes.softirqs_s},
      {"idle", classes.idle_s},
      {"steal", classes.steal_s}};
  for (const auto& [name, seconds] : sums) {
    page += fmt::format("k2k_watch_class_seconds_total{{class=\"{}\"}} {}\n", name, seconds);
  }
  page += heading("k2k_watch_run_delay_seconds_total", "counter",
                  "Time that threads of a program waited for a core, of the longest waits.");
  for (const Victim& victim : total.victims) {
    page += fmt::format("k2k_watch_run_delay_seconds_total{{process=\"{}\",pid=\"{}\"}} {}\n",
                        in_label(victim.name), victim.process, victim.waited_s);
  }
  page += heading("k2k_watch_covered_ratio", "gauge",
                  "All classes together, as a fraction of the total of /proc/stat.");
  page += fmt::format("k2k_watch_covered_ratio {}\n", classes.covered());
  page += heading("k2k_watch_own_cpu_seconds_total", "counter", "CPU time of k2k watch itself.");
  page += fmt::format("k2k_watch_own_cpu_seconds_total {}\n", total.own_cpu_s);
  page += heading("k2k_watch_bpf", "gauge", "1 if measured by tracepoints, 0 by counters.");
  page += fmt::format("k2k_watch_bpf {}\n", total.traced ? 1 : 0);
  return page;
}

}  // namespace k2k::watch
