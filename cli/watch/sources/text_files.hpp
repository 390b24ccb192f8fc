#pragma once
// Small text files of /proc and /sys, read whole, and their words.
//
// Every path is below a root, so that tests supply trees of other machines.
//
// Threading: from anywhere.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace k2k::watch {

// /proc and /sys of one machine.
struct Roots {
  std::string proc = "/proc";
  std::string sys = "/sys";
};

inline constexpr std::size_t file_bytes_max = std::size_t{16} << 20;

// Errors: as open(2) and read(2), with the path; EFBIG beyond file_bytes_max.
Result<std::string> read_text(const std::string& path);

// The first line of the file without its end; empty if it cannot be read.
std::string line_of_file(const std::string& path);

// The last name of the path that a link contains, such as the driver's of `.../device/driver`;
// empty if it is no link.
std::string name_behind(const std::string& link);

// The entries of a folder, sorted; empty if it cannot be read.
std::vector<std::string> names_in(const std::string& folder);

std::vector<std::string_view> words_of(std::string_view line);

// Takes the text before the mark, and the mark, off `rest`; all of it if there is no mark.
std::string_view take_until(std::string_view& rest, char mark);

// Takes the next complete line off `text`. A last line without its end was cut off, and is dropped.
std::optional<std::string_view> take_line(std::string_view& text);

// A whole word as a number; nullopt for any other text, and for a number beyond the type.
std::optional<std::uint64_t> number_of(std::string_view word);

// A list of cores such as "0-2,5". Empty: another text, or a core from cores_max on.
inline constexpr int cores_max = 8192;
std::optional<std::vector<int>> cores_of(std::string_view list);
// The reverse: "0-2,5".
std::string list_of(const std::vector<int>& cores);

}  // namespace k2k::watch
