#pragma once
// Words as GNU grep -F reads them, and the search tables of matcher.hpp.
//
// Threading: none; built once on the host, then read by every work-item.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/grep/matcher.hpp"
#include "base/result.hpp"

namespace k2k::grep {

// The limit for the bytes of all words together.
inline constexpr std::size_t word_bytes_max = std::size_t{64} << 20;

// The whole file; "-" is standard input. Errors: those of open(2) and read(2); EFBIG (more than
// `bytes_max`), in words that say `limit`, such as "64 MiB of words".
Result<std::string> read_word_file(const std::string& path, std::size_t bytes_max,
                                   std::string_view limit);

// A pattern list: one word per line. A newline at the end terminates the last word. The text of -e
// is a list too, but an empty text there is one empty word.
void add_words_of_file(std::string_view text, std::vector<std::string>& words);
void add_words_of_argument(std::string_view text, std::vector<std::string>& words);

// The tables as one block of memory that can lie anywhere the device can read.
class WordSet {
 public:
  // Words with a NUL byte are left out: grep ends lines at NUL in binary files, so they never
  // match. Errors: E2BIG (more than word_bytes_max).
  static Result<WordSet> build(std::vector<std::string> words);

  [[nodiscard]] std::size_t bytes() const { return image_.size() * sizeof(std::uint64_t); }
  [[nodiscard]] const void* image() const { return image_.data(); }
  // The tables, with the image at `base` (8-byte aligned).
  [[nodiscard]] Words at(const void* base) const;

 private:
  struct Table {  // Offsets into the image, in bytes.
    Sieve shape;  // Without its pointers.
    std::size_t bits = 0;
    std::size_t starts = 0;
    std::size_t grams = 0;
  };

  std::size_t append(const void* data, std::size_t bytes);
  Table add_sieve(const std::vector<Gram>& grams, std::uint32_t gram_bytes, std::uint32_t step);

  std::vector<std::uint64_t> image_;
  Table long_table_;
  Table short_table_;
  std::size_t word_bytes_ = 0;
  std::uint32_t longest_ = 0;
  bool every_line_ = false;
};

}  // namespace k2k::grep
