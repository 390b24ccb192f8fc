#pragma once
// Files of matrices: one page of header, whole pages with a check for each page of data, and the
// data (matrix.hpp), little-endian.
//
//   byte 0      "K2KmFE\n" and a zero byte
//   8, 12       version (1), 1: rows sorted by place, 0: in a random order
//   16, 24      rows, entries
//   32, 40      elements of the mesh a side, seed of the order
//   48          check of the table of checks
//   56          check of the bytes before it; zeros follow up to byte 4096
//
// Opening a file judges its header, its size and the table. The data are judged by their first
// reader, which in demand mode is a kernel.
//
// Threading: one thread.

#include <cstdint>
#include <string>
#include <vector>

#include "apps/common/input_file.hpp"
#include "apps/minife/matrix.hpp"

namespace k2k::minife {

inline constexpr std::uint32_t format_version = 1;
inline constexpr std::uint64_t rows_most = std::uint64_t{1} << 28;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t sorted;
  std::uint64_t rows;
  std::uint64_t entries;
  std::uint64_t elements;
  std::uint64_t seed;
  std::uint64_t table_check;
  std::uint64_t check;
};
static_assert(sizeof(Header) == 64);

std::uint64_t check_of(const Header& header);

struct MatrixFile : apps::InputFile {
  Header header{};
  Layout layout;
  std::vector<std::uint64_t> checks;  // One a page.
};

// Errors: as apps::open_input() and apps::read_at(); EINVAL (each field above, with the remedy; a
// file that is cut or too long).
Result<MatrixFile> open_matrix(const std::string& path);

// One line about the place that ends the run: a page if it is damaged, else a row.
Error wrong_place(const MatrixFile& file, Wrong wrong, std::uint64_t place);

// Header and checks of the data, which are whole pages in the order of matrix.hpp. Sets those
// checks of the header that are 0, so that tests can write wrong ones.
std::vector<std::byte> head_of(Header header, const std::vector<std::byte>& data);

}  // namespace k2k::minife
