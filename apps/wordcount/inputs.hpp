#pragma once
// The inputs of wordcount: the strings, and the files of the PATHs.
//
// Threading: pure, but for the file system.

#include <string>
#include <vector>

#include "apps/grep/word_set.hpp"
#include "apps/wordcount/job.hpp"
#include "base/result.hpp"

namespace k2k::wordcount {

// The strings with their tables. A string that was given twice has one counter.
class Strings {
 public:
  // Errors: EINVAL (no string, an empty string, a zero byte in one), E2BIG (more than strings_max
  // strings, or one longer than string_bytes_max).
  static Result<Strings> build(std::vector<std::string> strings);

  [[nodiscard]] const std::vector<std::string>& given() const { return given_; }
  [[nodiscard]] const grep::WordSet& tables() const { return tables_; }
  // Counter by the string's offset in Words::bytes; one entry for each byte.
  [[nodiscard]] const std::vector<std::uint32_t>& slots() const { return slots_; }
  [[nodiscard]] std::uint32_t counters() const { return counters_; }
  // The counter of given()[place].
  [[nodiscard]] std::uint32_t counter_of(std::size_t place) const { return counter_of_[place]; }

 private:
  explicit Strings(grep::WordSet tables) : tables_(std::move(tables)) {}

  std::vector<std::string> given_;
  grep::WordSet tables_;
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint32_t> counter_of_;
  std::uint32_t counters_ = 0;
};

// Reads a list of strings, one a line; "-" is standard input. Errors: those of open(2) and read(2);
// EFBIG (more than strings_max strings can take).
Result<std::vector<std::string>> read_strings(const std::string& path);

struct FileList {
  std::vector<std::string> paths;     // In the order of the walk: the same in each run.
  std::vector<std::string> messages;  // Of what cannot be counted: "PATH: the reason".
};

// The regular files below the PATHs. Links are followed only if they are PATHs themselves.
FileList list_files(const std::vector<std::string>& operands);

}  // namespace k2k::wordcount
