#include "labs/interference/harm/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "telemetry/html.hpp"

namespace k2k::labs::harm {

namespace {

using nlohmann::ordered_json;
using telemetry::in_html;

constexpr const char* style = R"(
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:70rem;padding:1rem;color:#1b1f24;background:#fff}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}
.wide{overflow-x:auto}table{border-collapse:collapse;min-width:100%}
td,th{border-bottom:1px solid #d0d7de;padding:.4rem .6rem;text-align:left;vertical-align:top}
td.number{text-align:right;white-space:nowrap}
.reproduced{color:#116329;font-weight:600}.not-reproduced{color:#a40e26;font-weight:600}
.cannot-tell,.not-measured,.not-measurable-here{color:#57606a}
svg{max-width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:#1b1f24}
)";

std::string ratio_text(const ordered_json& ours) {
  if (ours.is_null()) return "-";
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", ours["ratio"].get<double>(),
                     ours["low"].get<double>(), ours["high"].get<double>());
}

std::string claims_table(const ordered_json& claims) {
  std::string rows;
  for (const ordered_json& one : claims) {
    const std::string verdict = one["verdict"];
    std::string name = verdict;
    std::replace(name.begin(), name.end(), ' ', '-');
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=number>{}</td><td class=number>{}</td>"
        "<td class={}>{}</td><td>{}</td></tr>\n",
        in_html(one["section"]), in_html(one["says"]), in_html(one["paper"]),
        in_html(ratio_text(one["ours"])), name, verdict, in_html(one["note"]));
  }
  return "<div class=wide><table><tr><th>section<th>the paper says<th>paper<th>ours, as a ratio"
         "<th>verdict<th>note</tr>\n" +
         rows + "</table></div>\n";
}

std::string percent(const ordered_json& estimate) {
  return fmt::format("{:+.2f} % [{:+.2f}, {:+.2f}]", 100 * estimate["mean"].get<double>(),
                     100 * estimate["low"].get<double>(), 100 * estimate["high"].get<double>());
}

std::string comparisons_table(const ordered_json& comparisons) {
  std::string rows;
  for (const ordered_json& one : comparisons) {
    if (!one["problem"].is_null()) {
      rows += fmt::format("<tr><td>{}<td>{}<td>{}<td colspan=5>not measured: {}</tr>\n",
                          in_html(one["victim"]), in_html(one["comparison"]),
                          in_html(one["setting"]), in_html(one["problem"]));
      continue;
    }
    rows += fmt::format(
        "<tr><td>{}<td>{}<td>{}<td class=number>{}<td class=number>{}<td class=number>{}"
        "<td class=number>{}<td>{}</tr>\n",
        in_html(one["victim"]), in_html(one["comparison"]), in_html(one["setting"]),
        percent(one["run_delay"]), percent(one["inflation"]), percent(one["wall"]),
        one["pairs"].get<std::size_t>(), in_html(one["end"]));
  }
  return "<div class=wide><table><tr><th>victim<th>comparison<th>setting<th>run delay added"
         "<th>CPU time<th>wall time<th>pairs<th>end</tr>\n" +
         rows + "</table></div>\n";
}

// Horizontal bars with their intervals: the victims' wall time, B against A.
std::string chart(const ordered_json& comparisons) {
  struct Bar {
    std::string name;
    double low, mean, high;
  };
  std::vector<Bar> bars;
  double least = 0;
  double most = 0.01;
  for (const ordered_json& one : comparisons) {
    if (!one["problem"].is_null() || one["comparison"] == "reverse") continue;
    const ordered_json& wall = one["wall"];
    bars.push_back(
        {fmt::format("{}, {} {}", one["victim"].get<std::string>(),
                     one["comparison"].get<std::string>(), one["setting"].get<std::string>()),
         wall["low"], wall["mean"], wall["high"]});
    least = std::min(least, bars.back().low);
    most = std::max(most, bars.back().high);
  }
  if (bars.empty()) return "<p>No comparison has figures.</p>\n";
  constexpr double left = 340;
  constexpr double width = 480;
  constexpr double row = 22;
  const auto x_of = [&](double value) { return left + width * (value - least) / (most - least); };
  std::string svg = fmt::format(
      "<div class=wide><svg role=img aria-label=\"wall time of victims\" viewBox=\"0 0 {:.0f} "
      "{:.0f}\" width=\"{:.0f}\">\n",
      left + width + 90, row * static_cast<double>(bars.size()) + 30, left + width + 90);
  double y = 4;
  for (const Bar& bar : bars) {
    const double from = std::min(x_of(0), x_of(bar.mean));
    svg += fmt::format(
        "<text x=\"0\" y=\"{:.1f}\">{}</text><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"14\" fill=\"#4c78a8\"/><line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" "
        "y2=\"{:.1f}\" stroke=\"#1b1f24\"/><text x=\"{:.1f}\" y=\"{:.1f}\">{:+.1f} %</text>\n",
        y + 12, in_html(bar.name), from, y, std::max(0.5, std::abs(x_of(bar.mean) - x_of(0))),
        x_of(bar.low), x_of(bar.high), y + 7, y + 7, left + width + 10, y + 12, 100 * bar.mean);
    y += row;
  }
  svg += fmt::format(
      "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1:.1f}\" "
      "stroke=\"#57606a\"/></svg></div>\n",
      x_of(0), y);
  return svg;
}

std::string machine_list(const ordered_json& machine) {
  std::string rows;
  for (const auto& [key, value] : machine.items()) {
    rows += fmt::format("<tr><th>{}<td>{}</tr>\n", in_html(key),
                        in_html(value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return "<div class=wide><table>" + rows + "</table></div>\n";
}

}  // namespace

std::string page_of(const ordered_json& result) {
  return fmt::format(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
      "<meta name=viewport content=\"width=device-width, initial-scale=1\">"
      "<link rel=icon href=\"data:,\">"
      "<title>Interference from accelerators' requests</title><style>{}</style></head><body>\n"
      "<h1>Interference from accelerators' requests</h1>\n"
      "<p>Seed {}, {} threads a victim, runs of {:.2g} s{}. Each figure compares runs in pairs, in "
      "the order ABBA or BAAB; intervals are of 95 %.</p>\n"
      "<h2>The paper's claims beside ours</h2>\n{}"
      "<h2>Wall time of the victims</h2>\n{}"
      "<h2>Comparisons</h2>\n<p>Run delay is added time on a run queue, as a part of the CPU time "
      "alone; CPU time and wall time are logarithms of the ratio. A comparison that ends "
      "&quot;exhausted&quot; or &quot;cut&quot; is not as precise as it should be.</p>\n{}"
      "<h2>Machine</h2>\n{}</body></html>\n",
      style, result["seed"].get<std::uint64_t>(), result["threads"].get<unsigned>(),
      result["run_s"].get<double>(), result["complete"].get<bool>() ? "" : ", not complete",
      claims_table(result["claims"]), chart(result["comparisons"]),
      comparisons_table(result["comparisons"]), machine_list(result["machine"]));
}

}  // namespace k2k::labs::harm
