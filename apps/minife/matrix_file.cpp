#include "apps/minife/matrix_file.hpp"

#include <fmt/format.h>

#include <cstring>
#include <span>
#include <utility>

namespace k2k::minife {

namespace {

using apps::check_of_words;
using apps::damaged_input;
using apps::wrong_input;

constexpr char magic[8] = {'K', '2', 'K', 'm', 'F', 'E', '\n', 0};

std::uint64_t table_bytes(std::uint64_t pages) { return whole_pages_of(pages * 8); }

Status judge_header(const MatrixFile& file) {
  const Header& header = file.header;
  if (std::memcmp(header.magic, magic, sizeof(magic)) != 0) {
    return wrong_input(file, "no matrix file, which begins with K2KmFE; make one with --generate");
  }
  if (header.version != format_version) {
    return damaged_input(file,
                         fmt::format("version {} of the format, but this program reads version "
                                     "{}",
                                     header.version, format_version));
  }
  if (check_of(header) != header.check) {
    return damaged_input(file, "the header is damaged: its check does not fit");
  }
  if (header.rows == 0) return damaged_input(file, "no rows");
  if (header.rows > rows_most || header.entries > header.rows * row_entries_most) {
    return wrong_input(file, fmt::format("{} rows with {} entries; permitted are {} rows, and {} "
                                         "entries a row",
                                         header.rows, header.entries, rows_most, row_entries_most));
  }
  return {};
}

Status read_table(MatrixFile& file) {
  file.checks.resize(table_bytes(file.layout.pages()) / 8);
  if (Status read = apps::read_at(file, file.checks.data(), file.checks.size() * 8, page_bytes);
      !read) {
    return read;
  }
  const auto count = static_cast<std::uint32_t>(file.checks.size());
  if (check_of_words(file.checks.data(), count) != file.header.table_check) {
    return damaged_input(file, "the table of checks is damaged: its check does not fit");
  }
  return {};
}

}  // namespace

std::uint64_t check_of(const Header& header) {
  std::uint64_t words[offsetof(Header, check) / 8];
  std::memcpy(words, &header, sizeof(words));
  return check_of_words(words, offsetof(Header, check) / 8);
}

Result<MatrixFile> open_matrix(const std::string& path) {
  auto opened = apps::open_input(path);
  if (!opened) return opened.error();
  MatrixFile file{std::move(opened.value()), {}, {}, {}};
  Status judged =
      apps::read_header(file, std::as_writable_bytes(std::span(&file.header, 1)), page_bytes);
  if (judged) judged = judge_header(file);
  if (!judged) return judged.error();
  file.layout = layout_of(file.header.rows, file.header.entries);
  const std::uint64_t head = page_bytes + table_bytes(file.layout.pages());
  judged = apps::judge_size(
      file, head + file.layout.bytes,
      fmt::format("{} rows with {} entries", file.header.rows, file.header.entries));
  if (!judged) return judged.error();
  if (Status read = read_table(file); !read) return read.error();
  file.offset = head;
  file.bytes = file.layout.bytes;
  return Result<MatrixFile>(std::move(file));
}

Error wrong_place(const MatrixFile& file, Wrong wrong, std::uint64_t place) {
  const auto told = [&](const char* what) {
    return damaged_input(file, fmt::format("row {} {}", place, what));
  };
  switch (wrong) {
    case Wrong::bad_start:
      return told("has no right begin and end in the entries");
    case Wrong::bad_column:
      return told("has a column beyond the rows, or columns that do not ascend");
    case Wrong::not_finite:
      return told("has a value that is not finite");
    case Wrong::no_diagonal:
      return told("has no positive value on the diagonal");
    case Wrong::nothing:
    case Wrong::damaged:
      break;
  }
  return damaged_input(
      file, fmt::format("page {} of the data is damaged: its check does not fit", place));
}

std::vector<std::byte> head_of(Header header, const std::vector<std::byte>& data) {
  const std::uint64_t pages = data.size() / page_bytes;
  std::vector<std::uint64_t> table(table_bytes(pages) / 8);
  for (std::uint64_t page = 0; page < pages; ++page) {
    table[page] = check_of_page(data.data() + page * page_bytes);
  }
  std::memcpy(header.magic, magic, sizeof(magic));
  if (header.table_check == 0) {
    header.table_check = check_of_words(table.data(), static_cast<std::uint32_t>(table.size()));
  }
  if (header.check == 0) header.check = check_of(header);
  std::vector<std::byte> head(page_bytes + table.size() * 8);
  std::memcpy(head.data(), &header, sizeof(header));
  std::memcpy(head.data() + page_bytes, table.data(), table.size() * 8);
  return head;
}

}  // namespace k2k::minife
