#include "labs/interference/harm/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "labs/interference/study_page.hpp"
#include "telemetry/html.hpp"

namespace k2k::labs::harm {

namespace {

using nlohmann::ordered_json;
using telemetry::in_html;

constexpr const char* own_rules =
    ".cannot-tell,.not-measured,.not-measurable-here{color:#57606a}\n"
    ".matrix th{vertical-align:bottom}.matrix th span{writing-mode:vertical-rl}\n";

std::string ratio_text(const ordered_json& ours) {
  if (ours.is_null()) return "-";
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", ours["ratio"].get<double>(),
                     ours["low"].get<double>(), ours["high"].get<double>());
}

std::string claims_table(const ordered_json& claims) {
  std::string rows;
  for (const ordered_json& one : claims) {
    const std::string verdict = one["verdict"];
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=number>{}</td><td class=number>{}</td>"
        "<td class={}>{}</td><td>{}</td></tr>\n",
        in_html(one["section"]), in_html(one["says"]), in_html(one["paper"]),
        in_html(ratio_text(one["ours"])), class_of_verdict(verdict), verdict, in_html(one["note"]));
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
      rows +=
          fmt::format("<tr><td>{}<td>{}<td>{}<td>{}<td colspan=5>not measured: {}</tr>\n",
                      in_html(one["victim"]), in_html(one["source"]), in_html(one["comparison"]),
                      in_html(one["setting"]), in_html(one["problem"]));
      continue;
    }
    rows += fmt::format(
        "<tr><td>{}<td>{}<td>{}<td>{}<td class=number>{}<td class=number>{}<td class=number>{}"
        "<td class=number>{}<td>{}</tr>\n",
        in_html(one["victim"]), in_html(one["source"]), in_html(one["comparison"]),
        in_html(one["setting"]), percent(one["run_delay"]), percent(one["inflation"]),
        percent(one["wall"]), one["pairs"].get<std::size_t>(), in_html(one["end"]));
  }
  return "<details><summary>All of them</summary>\n<div class=wide><table><tr><th>victim<th>source"
         "<th>comparison<th>setting<th>run delay added<th>CPU time<th>wall time<th>pairs<th>end"
         "</tr>\n" +
         rows + "</table></div></details>\n";
}

// A comparison of a victim beside the service.
bool is_of_service(const ordered_json& one) {
  return one["comparison"] == "service" && one["problem"].is_null();
}

// The values of a key, each once, in the order of the comparisons.
std::vector<std::string> every(const ordered_json& comparisons, const char* key) {
  std::vector<std::string> all;
  for (const ordered_json& one : comparisons) {
    const std::string value = one[key];
    if (is_of_service(one) && std::find(all.begin(), all.end(), value) == all.end()) {
      all.push_back(value);
    }
  }
  return all;
}

std::string matrix_cell(const ordered_json& comparisons, const std::string& victim,
                        const std::string& source, const std::string& setting) {
  constexpr double darkest = 0.5;  // A loss.
  for (const ordered_json& one : comparisons) {
    if (!is_of_service(one) || one["victim"] != victim || one["source"] != source ||
        one["setting"] != setting) {
      continue;
    }
    const double loss = std::expm1(one["wall"]["mean"].get<double>());
    return fmt::format(
        "<td class=number title=\"{}\" style=\"background:rgba(191,57,137,{:.2f})\">{:+.1f}",
        percent(one["wall"]), std::clamp(loss / darkest, 0.0, 1.0) * 0.6, 100 * loss);
  }
  return "<td>";
}

struct Column {
  std::string source;
  std::string setting;
};

// What each victim loses in each column, named `heading_of`; without victims that have no cell.
template <class HeadingOf>
std::string matrix(const ordered_json& comparisons, const std::vector<Column>& columns,
                   HeadingOf heading_of) {
  std::string rows = "<tr><th>victim";
  for (const Column& column : columns) {
    rows += fmt::format("<th><span>{}</span>", in_html(heading_of(column)));
  }
  rows += "</tr>\n";
  for (const std::string& victim : every(comparisons, "victim")) {
    std::string cells;
    bool any = false;
    for (const auto& [source, setting] : columns) {
      cells += matrix_cell(comparisons, victim, source, setting);
      any = any || !cells.ends_with("<td>");
    }
    if (any) rows += fmt::format("<tr><td>{}{}</tr>\n", in_html(victim), cells);
  }
  return "<div class=wide><table class=matrix>" + rows + "</table></div>\n";
}

// What each victim loses under each setting, a table a source; sources with one setting share one.
std::string matrices(const ordered_json& comparisons) {
  std::string all;
  std::vector<Column> alone;
  for (const std::string& source : every(comparisons, "source")) {
    std::vector<Column> columns;
    for (const std::string& setting : every(comparisons, "setting")) {
      const bool measured =
          std::any_of(comparisons.begin(), comparisons.end(), [&](const ordered_json& one) {
            return is_of_service(one) && one["source"] == source && one["setting"] == setting;
          });
      if (measured) columns.push_back({source, setting});
    }
    if (columns.size() == 1) {
      alone.push_back(columns.front());
      continue;
    }
    all += fmt::format("<h3>Beside {}, percent</h3>\n", in_html(source)) +
           matrix(comparisons, columns, [](const Column& one) { return one.setting; });
  }
  if (alone.empty()) return all;
  return all + "<h3>Beside other sources, percent</h3>\n" +
         matrix(comparisons, alone,
                [](const Column& one) { return one.source + ", " + one.setting; });
}

// Horizontal bars with their intervals: the victims' wall time beside the first source, under the
// first setting.
std::string chart(const ordered_json& comparisons) {
  struct Bar {
    std::string name;
    double low, mean, high;
  };
  std::vector<Bar> bars;
  double least = 0;
  double most = 0.01;
  const ordered_json* first = nullptr;
  for (const ordered_json& one : comparisons) {
    if (!is_of_service(one)) continue;
    if (first == nullptr) first = &one;
    if (one["source"] != (*first)["source"] || one["setting"] != (*first)["setting"]) continue;
    const ordered_json& wall = one["wall"];
    bars.push_back(
        {fmt::format("{}, {}", one["victim"].get<std::string>(), one["setting"].get<std::string>()),
         wall["low"], wall["mean"], wall["high"]});
    least = std::min(least, bars.back().low);
    most = std::max(most, bars.back().high);
  }
  if (bars.empty()) return "<p>No comparison has figures.</p>\n";
  constexpr double left = 200;
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

double loss_of(const ordered_json& wall, const char* key) {
  return 100 * (wall[key].get<double>() - 1);
}

// A scale of a chart's axis.
struct Axis {
  double least, most;  // Values,
  double from, to;     // and their places.

  [[nodiscard]] double at(double value) const {
    return from + (to - from) * (value - least) / (most - least);
  }
};

Axis axis_over(const std::vector<double>& values, double from, double to) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double margin = std::max(0.05 * (*most - *least), 1e-3);
  return {*least - margin, *most + margin, from, to};
}

// The paper's figures 7 and 8: each combination's loss of the victims and requests a second.
std::string pareto_chart(const std::string& source, const std::vector<ordered_json>& points) {
  constexpr double left = 60, right = 620, top = 20, bottom = 360;
  std::vector<double> losses = {0};
  std::vector<double> rates = {1};
  for (const ordered_json& one : points) {
    for (const char* key : {"low", "high"}) {
      losses.push_back(loss_of(one["wall"], key));
      rates.push_back(one["rate_to_base"][key]);
    }
  }
  const Axis x = axis_over(losses, left, right);
  const Axis y = axis_over(rates, bottom, top);
  std::string svg = fmt::format(
      "<h3>{0}</h3>\n<div class=wide><svg role=img aria-label=\"Pareto chart of {0}\" viewBox=\"0 "
      "0 "
      "820 400\" width=\"820\">\n<line x1=\"{1}\" x2=\"{2}\" y1=\"{3}\" y2=\"{3}\" "
      "stroke=\"#57606a\"/><line x1=\"{1}\" x2=\"{1}\" y1=\"{4}\" y2=\"{3}\" "
      "stroke=\"#57606a\"/>\n",
      in_html(source), left, right, bottom, top);
  const auto text = [&](double at_x, double at_y, const std::string& words) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", at_x, at_y, in_html(words));
  };
  text(left, bottom + 18, fmt::format("{:.1f} %", x.least));
  text(right - 40, bottom + 18, fmt::format("{:.1f} %", x.most));
  text((left + right) / 2 - 90, bottom + 34, "victims lose (less is left)");
  text(4, bottom, fmt::format("{:.2f} x", y.least));
  text(4, top + 10, fmt::format("{:.2f} x", y.most));
  text(left + 6, top, "requests a second, of the base's");
  for (const ordered_json& one : points) {
    const bool front = one["front"];
    const double at_x = x.at(loss_of(one["wall"], "mean"));
    const double at_y = y.at(one["rate_to_base"]["mean"]);
    svg += fmt::format(
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#8c959f\"/>"
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#8c959f\"/>"
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/>\n",
        x.at(loss_of(one["wall"], "low")), x.at(loss_of(one["wall"], "high")), at_y, at_y, at_x,
        at_x, y.at(one["rate_to_base"]["low"]), y.at(one["rate_to_base"]["high"]), at_x, at_y,
        front ? "#bf3989" : "#4c78a8");
    text(at_x + 8, at_y + 4, one["setting"].get<std::string>() + (front ? " *" : ""));
  }
  return svg + "</svg></div>\n";
}

std::string pareto_charts(const ordered_json& settings) {
  std::vector<std::string> sources;
  for (const ordered_json& one : settings) {
    const std::string source = one["source"];
    if (std::find(sources.begin(), sources.end(), source) == sources.end()) {
      sources.push_back(source);
    }
  }
  std::string all;
  for (const std::string& source : sources) {
    std::vector<ordered_json> points;
    for (const ordered_json& one : settings) {
      const bool shown =
          one["source"] == source && one.contains("front") && !one["rate_to_base"].is_null();
      if (shown) points.push_back(one);
    }
    if (points.size() >= 2) all += pareto_chart(source, points);
  }
  return all.empty() ? "<p>This study has no two settings without a cap.</p>\n" : all;
}

std::string interval_text(const ordered_json& interval, bool loss) {
  if (interval.is_null()) return "-";
  if (!loss) {
    return fmt::format("{:.3f} [{:.3f}, {:.3f}]", interval["mean"].get<double>(),
                       interval["low"].get<double>(), interval["high"].get<double>());
  }
  return fmt::format("{:+.2f} % [{:+.2f}, {:+.2f}]", loss_of(interval, "mean"),
                     loss_of(interval, "low"), loss_of(interval, "high"));
}

// The paper's figure 12, and every other setting.
std::string settings_table(const ordered_json& settings) {
  std::string rows;
  for (const ordered_json& one : settings) {
    std::string remark;
    if (one.value("front", false)) remark = "Pareto optimal";
    if (one.value("dominates", false)) remark += ", dominates the base";
    if (one.contains("kept")) {
      remark = fmt::format("{} of the limit: {}", interval_text(one["of_limit"], false),
                           one["kept"].get<bool>() ? "kept" : "exceeded");
    }
    rows += fmt::format(
        "<tr><td>{}<td>{}<td class=number>{}<td class=number>{:.2f} %<td class=number>{:.2f} %"
        "<td class=number>{}<td>{}<td>{}</tr>\n",
        in_html(one["source"]), in_html(one["setting"]), interval_text(one["wall"], true),
        100 * one["share"].get<double>(), 100 * one["governor_share"].get<double>(),
        interval_text(one["rate_to_base"], false), in_html(one["base"]), remark);
  }
  return "<div class=wide><table><tr><th>source<th>setting<th>victims lose<th>service threads, of "
         "all cores<th>governor's own thread, of a core<th>requests/s, of the "
         "base's<th>base<th>remark</tr>\n" +
         rows + "</table></div>\n";
}

// `auto` on victims that its constant was not taken from.
std::string auto_tables(const ordered_json& points) {
  std::string all;
  for (const ordered_json& point : points) {
    std::string rows;
    for (const ordered_json& one : point["victims"]) {
      const ordered_json& factor = one["factor"];
      const ordered_json& loss = one["loss"];
      rows += fmt::format(
          "<tr><td>{}<td class=number>{}<td class=number>{:.2f}<td class=number>{:+.2f} % "
          "[{:+.2f}, "
          "{:+.2f}]<td class=number>{:+.2f} %<td>{}</tr>\n",
          in_html(one["victim"]),
          factor.is_null() ? "-" : fmt::format("{:.2f}", factor.get<double>()),
          one["constant"].get<double>(), 100 * loss["mean"].get<double>(),
          100 * loss["low"].get<double>(), 100 * loss["high"].get<double>(),
          100 * one["scaled_high"].get<double>(),
          one["kept"].get<bool>()       ? "yes"
          : one["exceeded"].get<bool>() ? "no"
                                        : "cannot tell");
    }
    all += fmt::format(
        "<h3>{}, {:g} % permitted: {} of {} victims keep it, {} do not ({}); {} throttled for "
        "somebody else's load</h3>\n<div class=wide><table><tr>"
        "<th>victim<th>its factor<th>the others' constant<th>loss, with the constant {:g}"
        "<th>upper end, with the others' constant<th>kept</tr>\n{}</table></div>\n",
        in_html(point["source"]), 100 * point["loss_max"].get<double>(),
        point["kept"].get<std::size_t>(), point["of"].get<std::size_t>(),
        point["exceeded"].get<std::size_t>(), point["verdict"].get<std::string>(),
        point["needless"].get<std::size_t>(), point["assumed"].get<double>(), rows);
  }
  return all.empty() ? "<p>This study has no setting of auto.</p>\n" : all;
}

// Of victims that answer requests of their own.
std::string tails_table(const ordered_json& comparisons) {
  std::string rows;
  for (const ordered_json& one : comparisons) {
    if (!one.contains("tail")) continue;
    rows += fmt::format("<tr><td>{}<td>{}<td>{}<td class=number>{}</tr>\n", in_html(one["victim"]),
                        in_html(one["comparison"]), in_html(one["setting"]), percent(one["tail"]));
  }
  if (rows.empty()) return "<p>This study has no victim with a load generator.</p>\n";
  return "<div class=wide><table><tr><th>victim<th>comparison<th>setting<th>99th percentile"
         "</tr>\n" +
         rows + "</table></div>\n";
}

// The paper's figure 5.
std::string decomposition_table(const ordered_json& comparisons) {
  std::string rows;
  for (const ordered_json& one : comparisons) {
    if (!one.contains("decomposed")) continue;
    const ordered_json& parts = one["decomposed"];
    rows += fmt::format(
        "<tr><td>{}<td>{}<td class=number>{}<td class=number>{}<td class=number>{:+.2f} %"
        "<td class=number>{}<td>{}</tr>\n",
        in_html(one["victim"]), in_html(one["setting"]), percent(parts["stolen"]),
        percent(parts["polluted"]), 100 * parts["sum"].get<double>(), percent(parts["loss"]),
        parts["sum_in_interval"].get<bool>() ? "yes" : "no");
  }
  return "<div class=wide><table><tr><th>victim<th>setting<th>stolen time<th>pollution<th>sum"
         "<th>measured loss<th>sum in its interval</tr>\n" +
         rows + "</table></div>\n";
}

}  // namespace

std::string page_of(const ordered_json& result) {
  const std::string body = fmt::format(
      "<h1>Interference from accelerators' requests</h1>\n"
      "<p>Seed {}, {} threads a victim, runs of {:.2g} s{}. Each figure compares runs in pairs, in "
      "the order ABBA or BAAB; intervals are of 95 %.</p>\n"
      "<h2>The paper's claims beside ours</h2>\n{}"
      "<h2>Wall time of the victims</h2>\n<p>Logarithms of the ratio, beside the first source "
      "under the first setting.</p>\n{}{}"
      "<h2>Combinations of the mitigations: figures 7 and 8</h2>\n<p>Settings without a cap. A "
      "star "
      "marks those that no other one beats in both. The paper has four cores.</p>\n{}"
      "<h2>Settings, governors and devices: figure 12</h2>\n{}"
      "<h2>auto, each victim left out</h2>\n<p>A victim's factor is its loss under budgets over "
      "the "
      "share of the service threads; the constant is the geometric mean of the others' factors.</p>"
      "\n{}"
      "<h2>Where the loss comes from: figure 5</h2>\n<p>Stolen time is run delay added, pollution "
      "CPU time added, both as parts of the CPU time and run delay without requests. The sum is "
      "the "
      "loss of a victim whose threads do not wait for each other.</p>\n{}"
      "<h2>Latency of victims that serve</h2>\n<p>Logarithm of the ratio of the 99th "
      "percentile.</p>"
      "\n{}"
      "<h2>Comparisons</h2>\n<p>Run delay is added time on a run queue, as a part of the CPU time "
      "alone; CPU time and wall time are logarithms of the ratio. A comparison that ends "
      "&quot;exhausted&quot; or &quot;cut&quot; is not as precise as it should be.</p>\n{}"
      "<h2>Machine</h2>\n{}",
      result["seed"].get<std::uint64_t>(), result["threads"].get<unsigned>(),
      result["run_s"].get<double>(), result["complete"].get<bool>() ? "" : ", not complete",
      claims_table(result["claims"]), chart(result["comparisons"]), matrices(result["comparisons"]),
      pareto_charts(result["settings"]), settings_table(result["settings"]),
      auto_tables(result["auto"]), decomposition_table(result["comparisons"]),
      tails_table(result["comparisons"]), comparisons_table(result["comparisons"]),
      machine_list(result["state"]));
  return study_page("Interference from accelerators' requests", own_rules, body);
}

}  // namespace k2k::labs::harm
