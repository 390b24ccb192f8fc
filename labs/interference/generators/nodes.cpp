#include "labs/interference/generators/nodes.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace k2k::labs::generators {

namespace {

constexpr int node_max = 1023;  // CONFIG_NODES_SHIFT is at most 10.

std::optional<int> number(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && value >= 0 && value <= node_max) return value;
  return {};
}

// The rest of the line that begins with `begin`.
std::string line_after(const std::string& path, std::string_view begin) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(begin)) continue;
    const std::size_t place = line.find_first_not_of(" \t", begin.size());
    return place == std::string::npos ? std::string() : line.substr(place);
  }
  return {};
}

}  // namespace

std::optional<std::vector<int>> parse_list(std::string_view text) {
  std::vector<int> list;
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), range.size() + 1));
    const std::size_t dash = range.find('-');
    const auto first = number(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(range.substr(dash + 1));
    if (!first || !last || *first > *last) return {};
    for (int node = *first; node <= *last; ++node) list.push_back(node);
  }
  if (list.empty()) return {};
  return list;
}

std::vector<int> memory_nodes() {
  const auto there = parse_list(line_after("/sys/devices/system/node/has_memory", ""));
  const auto allowed = parse_list(line_after("/proc/self/status", "Mems_allowed_list:"));
  if (!there) return {0};
  if (!allowed) return *there;
  std::vector<int> both;
  std::set_intersection(there->begin(), there->end(), allowed->begin(), allowed->end(),
                        std::back_inserter(both));
  return both.empty() ? *there : both;
}

}  // namespace k2k::labs::generators
