#pragma once
// Reads the text of a device file: name → value, "call NAME" → "count errors". For tests; never
// installed.

#include <map>
#include <sstream>
#include <string>

namespace k2k {

inline std::map<std::string, std::string> parse_device_text(const std::string& text) {
  std::map<std::string, std::string> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::size_t space = line.find(' ');
    if (space == std::string::npos) continue;
    if (line.starts_with("call ")) space = line.find(' ', space + 1);
    values[line.substr(0, space)] = line.substr(space + 1);
  }
  return values;
}

}  // namespace k2k
