#include "runtime/settings/nearest.hpp"

#include <algorithm>

namespace k2k {

namespace {
// Fewer letters do not identify the intended word.
constexpr std::size_t prefix_letters_min = 3;
}  // namespace

std::size_t edit_distance(std::string_view left, std::string_view right) {
  // Three rows of the usual table: a swap looks back two.
  std::vector<std::size_t> before_last(right.size() + 1);
  std::vector<std::size_t> last(right.size() + 1);
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t column = 0; column <= right.size(); ++column) last[column] = column;
  for (std::size_t line = 1; line <= left.size(); ++line) {
    row[0] = line;
    for (std::size_t column = 1; column <= right.size(); ++column) {
      const bool same = left[line - 1] == right[column - 1];
      row[column] =
          std::min({last[column] + 1, row[column - 1] + 1, last[column - 1] + (same ? 0u : 1u)});
      const bool swapped = line > 1 && column > 1 && left[line - 1] == right[column - 2] &&
                           left[line - 2] == right[column - 1];
      if (swapped) row[column] = std::min(row[column], before_last[column - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[right.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(word.size() / 3, 2) + 1;
  for (const std::string& candidate : known) {
    const bool cut_short = word.size() >= prefix_letters_min && candidate.starts_with(word);
    const std::size_t gap = std::max(word.size(), candidate.size()) -
                            std::min(word.size(), candidate.size());  // No distance is less.
    if (!cut_short && (gap >= best_distance || gap >= candidate.size())) continue;
    const std::size_t distance = cut_short ? 1 : edit_distance(word, candidate);
    if (distance >= best_distance || distance >= candidate.size()) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

}  // namespace k2k
