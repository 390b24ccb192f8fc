#include "cli/watch/show/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/command.hpp"
#include "cli/text_table.hpp"

namespace k2k::watch {

namespace {

using Cells = std::vector<std::vector<std::string>>;

std::string harmless_text(std::string text) {
  cli::blank_control_characters(text);
  return text;
}

std::string dash_if_empty(const std::string& text) {
  return text.empty() ? "-" : harmless_text(text);
}

std::string part_of(double seconds, double all) {
  return fmt::format("{:.2f} %", all > 0 ? 100 * seconds / all : 0);
}

std::string milliseconds(double seconds) { return fmt::format("{:.3f}", 1e3 * seconds); }

std::string heading_text(const watch::Report& report) {
  const watch::Classes& classes = report.classes;
  const double sum = classes.sum_s();
  std::string text = fmt::format("k2k watch  {:.2f} s on {} core{}, by {}\n\n", report.seconds,
                                 report.cores.size(), report.cores.size() == 1 ? "" : "s",
                                 report.traced ? "BPF tracepoints" : "counters");
  if (!report.traced) {
    text += fmt::format("no BPF: {}\n\n", harmless_text(report.no_trace));
  }
  for (const int core : report.went_offline) {
    text += fmt::format("core {} went offline meanwhile: it is left out\n", core);
  }
  if (!report.complete) text += "more threads than there is room for: some are left out\n";
  text += report.traced ? fmt::format("programs {}", part_of(classes.user_s, sum))
                        : fmt::format("user {}, system calls {}", part_of(classes.user_s, sum),
                                      part_of(classes.system_calls_s, sum));
  text += fmt::format(
      ", kernel threads {}, interrupts {}, softirqs {}, steal {}, idle {}\n"
      "together {} of /proc/stat and {} of the clock\n\n",
      part_of(classes.kernel_threads_s, sum), part_of(classes.interrupts_s, sum),
      part_of(classes.softirqs_s, sum), part_of(classes.steal_s, sum), part_of(classes.idle_s, sum),
      part_of(sum, classes.total_s), part_of(sum, report.wall_s()));
  return text;
}

std::string paths_text(const watch::Report& report, std::size_t rows, bool color) {
  Cells cells = {{"part", "kind", "source", "device", "driver", "CPU ms", "of a core", "events/s",
                  "cores", "name"}};
  bool estimated = false;
  for (const watch::Row& row : report.rows) {
    if (cells.size() > rows) break;
    std::vector<int> cores;
    for (const auto& [core, cpu_s] : row.by_core) cores.push_back(core);
    estimated |= row.estimated;
    cells.push_back({harmless_text(row.part), row.kind, row.source, dash_if_empty(row.device),
                     dash_if_empty(row.driver),
                     (row.estimated ? "~" : "") + milliseconds(row.cpu_s),
                     part_of(row.cpu_s, report.seconds),
                     row.count && report.seconds > 0
                         ? fmt::format("{:.0f}", static_cast<double>(*row.count) / report.seconds)
                         : "-",
                     cores.empty() ? "-" : watch::list_of(cores), harmless_text(row.name)});
  }
  std::string text = cli::text_table(cells, color);
  if (report.rows.size() + 1 > cells.size()) {
    text += fmt::format("and {} more; --rows shows them\n", report.rows.size() + 1 - cells.size());
  }
  if (estimated) text += "~ estimated: divided by counts, or by a worker's last workqueue\n";
  return text + "\n";
}

std::string victims_text(const watch::Report& report, bool color) {
  constexpr std::size_t shown_max = 5;
  if (report.victims.empty()) return {};
  Cells cells = {{"pid", "waited ms", "behind kernel threads", "interrupted ms", "program"}};
  for (const watch::Victim& victim : report.victims) {
    if (cells.size() > shown_max) break;
    cells.push_back({fmt::format("{}", victim.process), milliseconds(victim.waited_s),
                     victim.behind_s ? milliseconds(*victim.behind_s) : "needs BPF",
                     victim.interrupted_s ? milliseconds(*victim.interrupted_s) : "needs BPF",
                     harmless_text(victim.name)});
  }
  return "programs that waited for a core\n" + cli::text_table(cells, color) + "\n";
}

std::string harms_text(const watch::Report& report, bool color) {
  constexpr std::size_t shown_max = 5;
  if (report.harms.empty()) return {};
  Cells cells = {{"waited ms", "times", "pid", "program", "behind"}};
  for (const watch::Harm& harm : report.harms) {
    if (cells.size() > shown_max) break;
    cells.push_back({milliseconds(harm.waited_s), fmt::format("{}", harm.times),
                     fmt::format("{}", harm.process), harmless_text(harm.victim),
                     harmless_text(harm.cause)});
  }
  return "waits that kernel threads caused\n" + cli::text_table(cells, color) + "\n";
}

}  // namespace

std::string as_text(const Report& report, std::size_t rows, bool color) {
  return heading_text(report) + paths_text(report, rows, color) + victims_text(report, color) +
         harms_text(report, color) +
         fmt::format(
             "k2k watch itself: {:.3f} s of CPU time in {:.2f} s, {:.3f} % of all cores; its start "
             "took {:.3f} s\n",
             report.own_cpu_s, report.own_wall_s, 100 * report.own_share(), report.own_start_s);
}

}  // namespace k2k::watch
