#include "labs/translation/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "labs/interference/study_page.hpp"
#include "labs/translation/study.hpp"
#include "telemetry/html.hpp"

namespace k2k::labs::translation {

namespace {

using nlohmann::ordered_json;
using telemetry::in_html;

constexpr const char* own_rules =
    ".cannot-tell,.not-measurable-here,small{color:#57606a}\n"
    "small{display:block}\n"
    ".simulated{background:#fff8c5;padding:0 .3rem}\n";

// "0.00207", "153.7", "10,010"
std::string number_text(double value) {
  if (std::abs(value) < 1000) return fmt::format("{:.4g}", value);
  std::string text = fmt::format("{:.0f}", value);
  const std::size_t digits = value < 0 ? 1 : 0;
  for (std::size_t at = text.size() - 3; at > digits && at < text.size(); at -= 3) {
    text.insert(at, ",");
  }
  return text;
}

std::string text_of_cell(const ordered_json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return number_text(value.get<double>());
  return value.dump();
}

struct Column {
  const char* key;
  const char* heading;
};

std::string table_of(const Rows& rows, const std::vector<Column>& columns) {
  if (rows.empty()) return "<p>Not measured.</p>\n";
  std::string html = "<div class=wide><table><tr>";
  for (const Column& column : columns) html += fmt::format("<th>{}", in_html(column.heading));
  html += "</tr>\n";
  for (const ordered_json& row : rows) {
    html += "<tr>";
    for (const Column& column : columns) {
      const ordered_json& value = row.at(column.key);
      const bool marked = value == "simulated";
      html += fmt::format("<td{}>{}{}{}", value.is_number() ? " class=number" : "",
                          marked ? "<span class=simulated>" : "", in_html(text_of_cell(value)),
                          marked ? "</span>" : "");
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

// A mean, and its interval below it.
std::string interval_cell(const ordered_json& ours) {
  if (ours.is_null()) return "-";
  const double low = ours["low"];
  const double high = ours["high"];
  const std::string mean = number_text(ours["mean"].get<double>());
  if (low == high) return mean;
  return fmt::format("{}<small>{} to {}</small>", mean, number_text(low), number_text(high));
}

std::string permitted_text(const ordered_json& permitted) {
  const std::string least = number_text(permitted[0].get<double>());
  if (permitted[1].is_null()) return "from " + least;
  return least + " to " + number_text(permitted[1].get<double>());
}

std::string statements_table(const Rows& rows) {
  std::string html =
      "<div class=wide><table><tr><th>section<th>the thesis says<th>thesis<th>ours<th>permitted"
      "<th>source<th>verdict</tr>\n";
  for (const ordered_json& row : rows) {
    const std::string verdict = row["verdict"];
    const std::string source = row["source"];
    const std::string accesses =
        row["accesses"].is_null() ? "" : ", " + std::string(row["accesses"]);
    const std::string note = in_html(row["note"]);
    html += fmt::format(
        "<tr><td>{}<td>{}{}<td class=number>{}<td class=number>{}<td class=number>{}<td><span "
        "class={}>{}{}</span><td class={}>{}</tr>\n",
        in_html(row["section"]), in_html(row["says"]),
        note.empty() ? "" : "<small>" + note + "</small>", in_html(row["thesis"]),
        interval_cell(row["ours"]), in_html(permitted_text(row["permitted"])), source, source,
        accesses, class_of_verdict(verdict), verdict);
  }
  return html + "</table></div>\n";
}

struct Line {
  std::string name;
  const char* color;
  std::vector<std::pair<double, double>> points;
};

// Lines over a logarithmic x axis, and y from 0.
std::string chart(const char* label, const char* x_label, const char* y_label,
                  const std::vector<Line>& lines) {
  double least = 1e30;
  double most = 0;
  double top = 0;
  for (const Line& line : lines) {
    for (const auto& [x, y] : line.points) {
      least = std::min(least, x);
      most = std::max(most, x);
      top = std::max(top, y);
    }
  }
  if (most <= least || top <= 0) return "<p>Not measured.</p>\n";
  constexpr double left = 60;
  constexpr double width = 640;
  constexpr double height = 260;
  const auto x_of = [&](double x) {
    return left + width * std::log(x / least) / std::log(most / least);
  };
  const auto y_of = [&](double y) { return 10 + height * (1 - y / top); };
  std::string svg = fmt::format(
      "<div class=wide><svg role=img aria-label=\"{}\" viewBox=\"0 0 900 320\" width=\"900\">\n",
      in_html(label));
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const double y = top * quarter / 4;
    svg += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#d0d7de\"/><text "
        "x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        left, left + width, y_of(y), left - 6, y_of(y) + 4,
        top < 1000 ? fmt::format("{:.3g}", y) : number_text(y));
  }
  for (double x = least; x <= most; x *= 4) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{:g}</text>\n",
                       x_of(x), height + 26, x);
  }
  svg += fmt::format("<text x=\"{}\" y=\"312\" text-anchor=\"middle\">{} ({})</text>\n",
                     left + width / 2, in_html(x_label), in_html(y_label));
  double legend = 24;
  for (const Line& line : lines) {
    if (line.points.empty()) continue;  // Pages of 1 GiB that nobody reserved.
    std::string points;
    for (const auto& [x, y] : line.points)
      points += fmt::format("{:.1f},{:.1f} ", x_of(x), y_of(y));
    svg += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/><text x=\"{}\" "
        "y=\"{}\" style=\"fill:{}\">{}</text>\n",
        points, line.color, left + width + 8, legend, line.color, in_html(line.name));
    legend += 18;
  }
  return svg + "</svg></div>\n";
}

Line line_of(const Rows& rows, const std::string& name, const char* color, const char* x,
             const char* y) {
  Line line{name, color, {}};
  for (const ordered_json& row : rows) {
    line.points.emplace_back(row.at(x).get<double>(), row.at(y).get<double>());
  }
  return line;
}

std::string levels_chart(const Rows& points) {
  std::vector<Line> lines;
  constexpr const char* colors[] = {"#4c78a8", "#e45756", "#54a24b"};
  for (const char* const pages : {"4 KiB", "2 MiB", "1 GiB"}) {
    Rows some;
    std::copy_if(points.begin(), points.end(), std::back_inserter(some),
                 [&](const ordered_json& row) { return row["pages"] == pages; });
    const char* const color = colors[lines.size()];
    lines.push_back(line_of(some, pages, color, "count", "ns"));
  }
  return chart("time of a load by the pages touched", "pages touched", "ns a load", lines);
}

}  // namespace

std::string page_of(const ordered_json& result) {
  const Rows rows = result.at("rows").get<Rows>();
  const auto of = [&](const char* table) { return rows_of(rows, table); };
  const char* const simulated = "<span class=simulated>simulated</span>";
  std::string body = fmt::format(
      "<h1>Address translation and shared virtual memory</h1>\n"
      "<p>Seed {}, {} rounds. Intervals are of 95 %. What is marked {} comes from a model of the "
      "thesis' machine with the thesis' constants, not from any machine.</p>\n"
      "<h2>The thesis' statements beside ours</h2>\n{}",
      result["seed"].get<std::uint64_t>(), result["rounds"].get<std::uint32_t>(), simulated,
      statements_table(of("statements")));
  body += "<h2>Levels of translation of this machine</h2>\n" + levels_chart(of("points")) +
          table_of(of("levels"), {{"pages", "pages"},
                                  {"level", "level"},
                                  {"reach_pages", "reach, pages"},
                                  {"reach_kib", "reach, KiB"},
                                  {"translation_ns", "translation, ns a load"},
                                  {"end_seen", "end seen"}});
  body +=
      "<h2>Translations side by side: figure 4.2</h2>\n<p>This machine: chains of loads, each "
      "load a page.</p>\n" +
      chart("time of a step by chains", "chains", "ns a step",
            {line_of(of("chains"), "a page a load", "#4c78a8", "chains", "step_ns"),
             line_of(of("chains"), "few pages", "#54a24b", "chains", "twin_step_ns")}) +
      table_of(of("at_once"), {{"pages", "pages"},
                               {"loads", "loads at once, a page each"},
                               {"twin_loads", "in few pages"},
                               {"knee", "knee, chains"}}) +
      fmt::format("<p>The thesis' machine, {}.</p>\n", simulated) +
      chart("simulated latency by work-items", "work-items", "ns, simulated",
            {line_of(of("latency"), "simulated", "#e45756", "items", "ns")});
  body += "<h2>Strides: table 4.3</h2>\n" + table_of(of("strides"), {{"machine", "machine"},
                                                                     {"source", "source"},
                                                                     {"counted", "counted"},
                                                                     {"line_count", "64 bytes"},
                                                                     {"line_us", "us"},
                                                                     {"page_count", "4 KiB"},
                                                                     {"page_us", "us"},
                                                                     {"miss_ns", "ns a miss"}});
  body +=
      fmt::format("<h2>Page faults of the thesis' GPU: figure 4.6, {}</h2>\n", simulated) +
      chart("simulated latency of page faults by work-items", "work-items", "us a fault, simulated",
            {line_of(of("device_faults"), "the driver sees", "#4c78a8", "items", "driver_us"),
             line_of(of("device_faults"), "the GPU sees", "#e45756", "items", "device_us")}) +
      table_of(of("device_faults"), {{"items", "work-items"},
                                     {"source", "source"},
                                     {"faults_per_ms", "faults a ms"},
                                     {"driver_us", "us a fault, driver"},
                                     {"device_us", "us a fault, GPU"},
                                     {"faults_per_batch", "faults a batch"}});
  body +=
      "<h2>Page faults of this machine's CPU</h2>\n" +
      table_of(of("faults"),
               {{"kind", "kind"}, {"about", "what"}, {"faults", "faults"}, {"ns", "ns a fault"}});
  body +=
      "<h2>Page faults under a CPU quota: a proxy for figure 4.7</h2>\n<p>The service threads of "
      "K2K's cpu device may use a part of one core, in turns of 1 ms; the device keeps its cores. "
      "No clock was changed.</p>\n" +
      table_of(of("quota"), {{"share", "part of a core"},
                             {"at_a_time", "faults at a time"},
                             {"source", "source"},
                             {"us", "us a fault"},
                             {"times", "times that of the whole core"}});
  body += "<h2>Changes of mappings: table 4.4</h2>\n" +
          table_of(of("shootdowns"), {{"cores", "cores"},
                                      {"call", "call"},
                                      {"pages", "pages"},
                                      {"ns", "ns a call"},
                                      {"interrupts", "interrupts a call"}});
  body += fmt::format("<p>The thesis' machine, {}: cores that invalidate without a pause.</p>\n",
                      simulated) +
          table_of(of("invalidations"), {{"entries", "entries"},
                                         {"source", "source"},
                                         {"cores", "cores"},
                                         {"ns", "ns each"},
                                         {"per_ms", "a ms"}}) +
          fmt::format(
              "<p>Programs, {}, while one core invalidates all entries without a pause: "
              "misses and time over those without.</p>\n",
              simulated) +
          table_of(of("flushes"), {{"program", "program"},
                                   {"source", "source"},
                                   {"accesses", "accesses"},
                                   {"misses", "misses"},
                                   {"time", "time"}});
  body += "<h2>Programs: figures 4.3, 4.4 and 4.5</h2>\n" +
          table_of(of("programs"), {{"program", "program"},
                                    {"source", "source"},
                                    {"accesses", "accesses"},
                                    {"footprint_gb", "footprint, GB"},
                                    {"keys", "keys"},
                                    {"pages", "pages"},
                                    {"prefetch", "prefetch"},
                                    {"misses_per_1000", "misses a 1,000 instructions"},
                                    {"walks_per_1000", "walks"},
                                    {"us", "us"}});
  body += "<h2>Not measured</h2>\n" +
          (of("absent").empty() ? std::string("<p>Everything was measured.</p>\n")
                                : table_of(of("absent"), {{"what", "what"}, {"why", "why"}}));
  body += "<h2>Machine</h2>\n" + machine_list(result["machine_facts"]);
  return study_page("Address translation", own_rules, body);
}

}  // namespace k2k::labs::translation
