#pragma once
// A configuration file as a flat list: one entry per setting, with its line and its type.
//
// Separate from config.cpp because the TOML library is slow to compile.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace k2k {

enum class FileType : std::uint8_t { integer, boolean, string, integers, section, other };

struct FileEntry {
  std::string key;  // "device.spin_us"
  FileType type = FileType::other;
  std::string text;   // For parse_value(); integers are joined by commas.
  std::string shown;  // On one line, for a message: 'fast', 20, "an array of 2".
  std::uint32_t line = 0;
};

// The text of a file that is to be parsed as TOML; `mend` completes the message. Errors: the errors
// of read_config_file(), except malformed TOML.
Result<std::string> read_toml_text(const std::string& path, std::string_view mend);

// Every value of the file, in the order of its keys; an empty section is an entry too. Errors, with
// one line that names path and line: EINVAL (malformed TOML, more than 32 dots in a line, a FIFO,
// socket or block device), EFBIG (above 1 MiB), EISDIR, and errors of open() and read().
Result<std::vector<FileEntry>> read_config_file(const std::string& path);

}  // namespace k2k
