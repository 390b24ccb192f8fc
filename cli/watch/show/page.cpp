#include "cli/watch/show/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "telemetry/html.hpp"

namespace k2k::watch {

namespace {

// Names of threads may hold control characters.
std::string in_html(std::string_view text) {
  std::string safe = telemetry::in_html(std::string(text));
  std::ranges::replace_if(
      safe, [](char letter) { return static_cast<unsigned char>(letter) < ' '; }, ' ');
  return safe;
}

constexpr const char* page_style = R"(
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:70rem;padding:1rem;color:#1b1f24;background:#fff}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}
.wide{overflow-x:auto}table{border-collapse:collapse;min-width:100%}
td,th{border-bottom:1px solid #d0d7de;padding:.3rem .6rem;text-align:left;vertical-align:top}
td.number{text-align:right;white-space:nowrap}.quiet{color:#57606a}
svg{width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:#1b1f24}
)";

struct Part {
  const char* name;
  const char* color;
  double seconds;
};

// One bar of the whole time, and its legend.
std::string class_bar(const Report& report) {
  const Classes& classes = report.classes;
  const Part parts[] = {{report.traced ? "programs" : "user", "#54aeff", classes.user_s},
                        {"system calls", "#0969da", classes.system_calls_s},
                        {"kernel threads", "#bc4c00", classes.kernel_threads_s},
                        {"interrupts", "#cf222e", classes.interrupts_s},
                        {"softirqs", "#8250df", classes.softirqs_s},
                        {"steal", "#6e7781", classes.steal_s},
                        {"idle", "#d0d7de", classes.idle_s}};
  double sum = 0;
  for (const Part& part : parts) sum += part.seconds;
  std::string bar;
  std::string legend;
  double x = 0;
  for (const Part& part : parts) {
    const double width = sum > 0 ? 1000 * part.seconds / sum : 0;
    bar += fmt::format(
        "<rect x='{:.1f}' y='0' width='{:.1f}' height='40' fill='{}'><title>{} {:.3f} s</title>"
        "</rect>",
        x, width, part.color, part.name, part.seconds);
    x += width;
    legend += fmt::format(
        "<tr><td><span style='color:{}'>&#9632;</span> {}<td class=number>{:.4f} s<td "
        "class=number>{:.2f} %</tr>\n",
        part.color, part.name, part.seconds, sum > 0 ? 100 * part.seconds / sum : 0);
  }
  return "<svg viewBox='0 0 1000 40' role='img' aria-label='CPU time by class'>" + bar +
         "</svg>\n<div class=wide><table><tr><th>class<th>CPU time<th>of all cores</tr>\n" +
         legend + "</table></div>\n";
}

std::string rows_table(const Report& report) {
  std::string text =
      "<div class=wide><table><tr><th>part<th>kind<th>source<th>name<th>device<th>driver<th>CPU "
      "time<th>of one core<th>events<th>cores</tr>\n";
  for (const Row& row : report.rows) {
    std::vector<int> cores;
    for (const auto& [core, cpu_s] : row.by_core) cores.push_back(core);
    text += fmt::format(
        "<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td class=number>{}{:.6f} s<td "
        "class=number>{:.3f} %<td class=number>{}<td>{}</tr>\n",
        in_html(row.part), in_html(row.kind), in_html(row.source), in_html(row.name),
        in_html(row.device), in_html(row.driver), row.estimated ? "&#8776; " : "", row.cpu_s,
        report.seconds > 0 ? 100 * row.cpu_s / report.seconds : 0,
        row.count ? fmt::format("{}", *row.count) : "", list_of(cores));
  }
  return text + "</table></div>\n";
}

std::string victims_table(const Report& report) {
  std::string text =
      "<div class=wide><table><tr><th>program<th>process<th>waited<th>behind kernel "
      "threads<th>interrupted</tr>\n";
  const auto seconds = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.6f} s", *value) : std::string("needs BPF");
  };
  for (const Victim& victim : report.victims) {
    text += fmt::format(
        "<tr><td>{}<td class=number>{}<td class=number>{:.6f} s<td class=number>{}<td "
        "class=number>{}</tr>\n",
        in_html(victim.name), victim.process, victim.waited_s, seconds(victim.behind_s),
        seconds(victim.interrupted_s));
  }
  return text + "</table></div>\n";
}

std::string harms_table(const Report& report) {
  if (report.harms.empty()) return {};
  std::string text =
      "<h2>Waits that kernel threads caused</h2>\n<div class=wide><table><tr><th>kernel "
      "thread<th>program<th>process<th>waited<th>times</tr>\n";
  for (const Harm& harm : report.harms) {
    text += fmt::format(
        "<tr><td>{}<td>{}<td class=number>{}<td class=number>{:.6f} s<td class=number>{}</tr>\n",
        in_html(harm.cause), in_html(harm.victim), harm.process, harm.waited_s, harm.times);
  }
  return text + "</table></div>\n";
}

}  // namespace

std::string page_of(const Report& report, const std::string& moment, const std::string& machine) {
  const std::string how = report.traced ? "by BPF tracepoints"
                                        : fmt::format("by counters (no BPF: {})", report.no_trace);
  return fmt::format(
      "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport "
      "content='width=device-width,initial-scale=1'><title>k2k watch</title>\n<style>{}</style>\n"
      "<h1>What Linux' device paths cost</h1>\n<p>{}, {}: {:.2f} s on {} cores, measured {}. "
      "The classes cover {:.2f} % of /proc/stat and {:.2f} % of the clock; k2k watch itself took "
      "{:.3f} % of all cores' "
      "time.</p>\n{}<h2>Device paths</h2>\n<p class=quiet>&#8776;: estimated, divided by "
      "counts.</p>\n{}<h2>Programs that waited for a core</h2>\n{}{}</html>\n",
      page_style, in_html(machine), in_html(moment), report.seconds, report.cores.size(),
      in_html(how), 100 * report.classes.covered(),
      report.wall_s() > 0 ? 100 * report.classes.sum_s() / report.wall_s() : 0,
      100 * report.own_share(), class_bar(report), rows_table(report), victims_table(report),
      harms_table(report));
}

}  // namespace k2k::watch
