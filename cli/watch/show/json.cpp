#include "cli/watch/show/json.hpp"

namespace k2k::watch {

namespace {

using nlohmann::ordered_json;

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json row_json(const Row& row) {
  ordered_json by_core = ordered_json::object();
  for (const auto& [core, cpu_s] : row.by_core) by_core[std::to_string(core)] = cpu_s;
  return {{"part", row.part},           {"kind", row.kind},
          {"source", row.source},       {"name", row.name},
          {"device", row.device},       {"driver", row.driver},
          {"cpu_s", row.cpu_s},         {"count", or_null(row.count)},
          {"estimated", row.estimated}, {"cores", by_core}};
}

ordered_json classes_json(const Report& report) {
  const Classes& classes = report.classes;
  ordered_json json;
  if (report.traced) {
    json["programs_s"] = classes.user_s;
  } else {
    json["user_s"] = classes.user_s;
    json["system_calls_s"] = classes.system_calls_s;
  }
  json["kernel_threads_s"] = classes.kernel_threads_s;
  json["interrupts_s"] = classes.interrupts_s;
  json["softirqs_s"] = classes.softirqs_s;
  json["idle_s"] = classes.idle_s;
  json["steal_s"] = classes.steal_s;
  json["total_s"] = classes.total_s;
  json["covered"] = classes.covered();
  json["wall_s"] = report.wall_s();
  return json;
}

}  // namespace

ordered_json as_json(const Report& report, const char* event) {
  ordered_json by_core = ordered_json::object();
  for (const auto& [core, times] : report.by_core) {
    by_core[std::to_string(core)] = {
        {"user_s", times.user_s},        {"system_s", times.system_s},
        {"idle_s", times.idle_s},        {"interrupts_s", times.interrupt_s},
        {"softirqs_s", times.softirq_s}, {"steal_s", times.steal_s}};
  }
  ordered_json rows = ordered_json::array();
  for (const Row& row : report.rows) rows.push_back(row_json(row));
  ordered_json victims = ordered_json::array();
  for (const Victim& victim : report.victims) {
    victims.push_back({{"pid", victim.process},
                       {"name", victim.name},
                       {"waited_s", victim.waited_s},
                       {"behind_kernel_threads_s", or_null(victim.behind_s)},
                       {"interrupted_s", or_null(victim.interrupted_s)}});
  }
  ordered_json harms = ordered_json::array();
  for (const Harm& harm : report.harms) {
    harms.push_back({{"cause", harm.cause},
                     {"victim", harm.victim},
                     {"pid", harm.process},
                     {"waited_s", harm.waited_s},
                     {"times", harm.times}});
  }
  return {{"schema", report_schema},
          {"event", event},
          {"seconds", report.seconds},
          {"cores", report.cores},
          {"went_offline", report.went_offline},
          {"measured_by", report.traced ? "bpf" : "counters"},
          {"no_bpf", report.no_trace},
          {"complete", report.complete},
          {"classes", classes_json(report)},
          {"by_core", by_core},
          {"rows", rows},
          {"victims", victims},
          {"harms", harms},
          {"own",
           {{"cpu_s", report.own_cpu_s},
            {"share", report.own_share()},
            {"start_cpu_s", report.own_start_s}}}};
}

std::string json_line(const Report& report, const char* event) {
  return as_json(report, event).dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace k2k::watch
