#pragma once
// A sparse matrix as the file and the device have it: rows of columns and values, with a right-hand
// side and the solution that is known.
//
//   starts    rows + 1 times 8 bytes: where a row begins in columns and values
//   columns   4 bytes each, ascending within a row
//   values    8 bytes each (double)
//   right     8 bytes a row
//   exact     8 bytes a row: of the differential equation, so the error of the elements is known
//
// Each part begins with a page. Every page has a check in a table of the file: a page of a file
// that became shorter while it was mapped ends in zeros, and no error tells.
//
// Threading: pure functions of plain data, host and device.

#include <cstddef>
#include <cstdint>

#include "apps/common/check_words.hpp"
#include "base/attributes.hpp"

namespace k2k::minife {

inline constexpr std::uint64_t page_bytes = 4096;
inline constexpr std::uint32_t row_entries_most = 27;

K2K_HD inline std::uint64_t whole_pages_of(std::uint64_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

K2K_HD inline std::uint64_t check_of_page(const std::byte* page) {
  return apps::check_of_words(reinterpret_cast<const std::uint64_t*>(page), page_bytes / 8);
}

// The parts in one block of memory; offsets in bytes.
struct Layout {
  std::uint64_t rows = 0;
  std::uint64_t entries = 0;
  std::uint64_t columns = 0;
  std::uint64_t values = 0;
  std::uint64_t right = 0;
  std::uint64_t exact = 0;
  std::uint64_t bytes = 0;

  [[nodiscard]] K2K_HD std::uint64_t pages() const { return bytes / page_bytes; }
};

inline Layout layout_of(std::uint64_t rows, std::uint64_t entries) {
  Layout layout;
  layout.rows = rows;
  layout.entries = entries;
  layout.columns = whole_pages_of((rows + 1) * 8);
  layout.values = layout.columns + whole_pages_of(entries * 4);
  layout.right = layout.values + whole_pages_of(entries * 8);
  layout.exact = layout.right + whole_pages_of(rows * 8);
  layout.bytes = layout.exact + whole_pages_of(rows * 8);
  return layout;
}

struct Matrix {
  Layout layout;
  const std::byte* data = nullptr;

  [[nodiscard]] K2K_HD const std::uint64_t* starts() const {
    return reinterpret_cast<const std::uint64_t*>(data);
  }
  [[nodiscard]] K2K_HD const std::uint32_t* columns() const {
    return reinterpret_cast<const std::uint32_t*>(data + layout.columns);
  }
  [[nodiscard]] K2K_HD const double* values() const {
    return reinterpret_cast<const double*>(data + layout.values);
  }
  [[nodiscard]] K2K_HD const double* right() const {
    return reinterpret_cast<const double*>(data + layout.right);
  }
  [[nodiscard]] K2K_HD const double* exact() const {
    return reinterpret_cast<const double*>(data + layout.exact);
  }
};

// The reasons why a file is refused by its first reader.
enum class Wrong : std::uint8_t {
  nothing,
  damaged,      // A page: its check does not fit.
  bad_start,    // A row begins behind its end, or ends behind the entries, or is too long.
  bad_column,   // Beyond the rows, or not ascending.
  not_finite,   // A value, or the row's right-hand side.
  no_diagonal,  // Or one that is not positive.
};

K2K_HD inline bool is_finite(double value) { return value - value == 0; }

K2K_HD inline Wrong wrong_with_row(const Matrix& matrix, std::uint64_t row) {
  const std::uint64_t begin = matrix.starts()[row];
  const std::uint64_t end = matrix.starts()[row + 1];
  if (begin > end || end > matrix.layout.entries || end - begin > row_entries_most ||
      (row == 0 && begin != 0) || (row + 1 == matrix.layout.rows && end != matrix.layout.entries)) {
    return Wrong::bad_start;
  }
  bool diagonal = false;
  for (std::uint64_t entry = begin; entry < end; ++entry) {
    const std::uint32_t column = matrix.columns()[entry];
    if (column >= matrix.layout.rows) return Wrong::bad_column;
    if (entry > begin && column <= matrix.columns()[entry - 1]) return Wrong::bad_column;
    if (!is_finite(matrix.values()[entry])) return Wrong::not_finite;
    if (column == row && matrix.values()[entry] > 0) diagonal = true;
  }
  if (!is_finite(matrix.right()[row]) || !is_finite(matrix.exact()[row])) return Wrong::not_finite;
  return diagonal ? Wrong::nothing : Wrong::no_diagonal;
}

}  // namespace k2k::minife
