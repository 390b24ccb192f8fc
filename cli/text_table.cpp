#include "cli/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace k2k::cli {

std::string bold(const std::string& text, bool color) {
  return color ? "\x1b[1m" + text + "\x1b[0m" : text;
}

std::string text_table(const std::vector<std::vector<std::string>>& rows, bool color) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::string text;
  for (std::size_t line = 0; line < rows.size(); ++line) {
    std::string joined;
    for (std::size_t column = 0; column < rows[line].size(); ++column) {
      const bool last = column + 1 == rows[line].size();
      joined +=
          last ? rows[line][column] : fmt::format("{:<{}}  ", rows[line][column], widths[column]);
    }
    joined.erase(joined.find_last_not_of(' ') + 1);
    text += (line == 0 ? bold(joined, color) : joined) + "\n";
  }
  return text;
}

std::string in_bytes(std::size_t bytes) {
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 10 * 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace k2k::cli
