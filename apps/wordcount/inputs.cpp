#include "apps/wordcount/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>

namespace k2k::wordcount {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t list_bytes_max = 2 * strings_max * (string_bytes_max + 1);

Status check(const std::vector<std::string>& strings) {
  if (strings.empty()) {
    return Error{EINVAL, "no strings to count; give them with -f FILE or -e STRING"};
  }
  if (strings.size() > strings_max) {
    return Error{E2BIG, fmt::format("{} strings; at most {} can be counted in one run",
                                    strings.size(), strings_max)};
  }
  for (std::size_t place = 0; place < strings.size(); ++place) {
    const std::string& string = strings[place];
    if (string.empty()) {
      return Error{EINVAL,
                   fmt::format("string {} is empty; an empty string is everywhere", place + 1)};
    }
    if (string.size() > string_bytes_max) {
      return Error{E2BIG, fmt::format("string {} has {} bytes; at most {} are possible", place + 1,
                                      string.size(), string_bytes_max)};
    }
    if (string.find('\0') != std::string::npos) {
      return Error{EINVAL, fmt::format("string {} has a zero byte", place + 1)};
    }
  }
  return {};
}

void walk(const fs::path& top, FileList& list) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator at(top, error), end; !error && at != end; at.increment(error)) {
    entries.push_back(*at);
  }
  if (error) list.messages.push_back(fmt::format("{}: {}", top.string(), error.message()));
  std::sort(entries.begin(), entries.end());
  for (const fs::directory_entry& entry : entries) {
    std::error_code ignored;  // An entry that has vanished is neither.
    const fs::file_type type = entry.symlink_status(ignored).type();
    if (type == fs::file_type::directory) walk(entry.path(), list);
    if (type == fs::file_type::regular) list.paths.push_back(entry.path().string());
  }
}

}  // namespace

Result<Strings> Strings::build(std::vector<std::string> strings) {
  if (Status status = check(strings); !status) return status.error();
  auto tables = grep::WordSet::build(strings);
  if (!tables) return tables.error();
  Strings built(std::move(tables).value());
  // WordSet lays the sorted strings one behind the other.
  std::map<std::string, std::uint32_t> counters;
  for (const std::string& string : strings) counters.emplace(string, 0);
  for (auto& [string, counter] : counters) {
    counter = built.counters_++;
    built.slots_.resize(built.slots_.size() + string.size(), counter);
  }
  for (const std::string& string : strings) built.counter_of_.push_back(counters[string]);
  built.given_ = std::move(strings);
  return built;
}

Result<std::vector<std::string>> read_strings(const std::string& path) {
  const auto text = grep::read_word_file(
      path, list_bytes_max, fmt::format("{} strings of {} bytes", strings_max, string_bytes_max));
  if (!text) return text.error();
  std::vector<std::string> strings;
  grep::add_words_of_file(text.value(), strings);
  return strings;
}

FileList list_files(const std::vector<std::string>& operands) {
  FileList list;
  for (const std::string& operand : operands) {
    std::error_code error;
    const fs::file_type type = fs::status(operand, error).type();
    if (type == fs::file_type::directory) {
      walk(operand, list);
    } else if (type == fs::file_type::regular) {
      list.paths.push_back(operand);
    } else if (error || type == fs::file_type::not_found) {
      list.messages.push_back(fmt::format(
          "{}: {}", operand, error ? error.message() : std::string(std::strerror(ENOENT))));
    } else {
      list.messages.push_back(fmt::format("{}: neither a regular file nor a directory", operand));
    }
  }
  return list;
}

}  // namespace k2k::wordcount
