#pragma once
// Reads the text format of Prometheus, version 0.0.4, more strictly than Prometheus does. For
// tests; never installed.

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace k2k {

struct MetricsPage {
  std::string wrong;                      // The first wrong line, and the reason.
  std::map<std::string, double> samples;  // By name and labels, as written in the text.
};

inline MetricsPage parse_metrics(const std::string& text) {
  static const std::regex head("# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)");
  static const std::regex sample(
      "([a-zA-Z_:][a-zA-Z0-9_:]*)(\\{(([a-zA-Z_][a-zA-Z0-9_]*=\"([^\"\\\\\\n]|\\\\[\\\\\"n])*\",?)*"
      ")\\}"
      ")? ([-+0-9.e]+|NaN|[-+]Inf)");
  MetricsPage page;
  std::set<std::string> families;
  std::string family;
  std::string type;
  std::string helped;
  double last = 0;  // The last bucket of a histogram.
  const auto wrong = [&](const std::string& line, const char* why) {
    if (page.wrong.empty()) page.wrong = line + ": " + why;
  };
  if (!text.empty() && text.back() != '\n') wrong("the end", "no newline");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_match(line, found, head)) {
      if (found[1] == "HELP") {
        helped = found[2];
        continue;
      }
      family = found[2];
      type = found[3];
      last = 0;
      if (helped != family) wrong(line, "no HELP before it");
      if (!families.insert(family).second) wrong(line, "the second of its name");
      if (type != "counter" && type != "gauge" && type != "histogram") wrong(line, "no such type");
      if ((type == "counter") != family.ends_with("_total")) wrong(line, "_total is for counters");
      continue;
    }
    if (!std::regex_match(line, found, sample)) {
      wrong(line, "no sample");
      continue;
    }
    const std::string name = found[1];
    const std::string labels = found[3];
    const double value = std::strtod(found[6].str().c_str(), nullptr);
    const bool whole = name == family && type != "histogram";
    const bool part = type == "histogram" && (name == family + "_bucket" ||
                                              name == family + "_sum" || name == family + "_count");
    if (!whole && !part) wrong(line, "not of the family above");
    if (type == "counter" && value < 0) wrong(line, "a counter below 0");
    if (name.ends_with("_bucket")) {
      if (value < last) wrong(line, "a bucket with less than the one below");
      last = labels.ends_with("le=\"+Inf\"") ? 0 : value;
    }
    if (!page.samples.emplace(line.substr(0, line.rfind(' ')), value).second) {
      wrong(line, "twice");
    }
  }
  return page;
}

}  // namespace k2k
