#include "runtime/settings/config_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

namespace k2k {

namespace {

constexpr std::size_t file_bytes_max = 1u << 20;
constexpr std::ptrdiff_t line_dots_max = 32;

// The integers of an array joined by commas; false if it contains other values.
bool join_integers(const toml::array& array, std::string& joined) {
  for (const toml::node& entry : array) {
    const auto* number = entry.as_integer();
    if (number == nullptr) return false;
    if (!joined.empty()) joined += ',';
    joined += std::to_string(number->get());
  }
  return true;
}

FileEntry entry_of(const std::string& key, const toml::node& node) {
  FileEntry entry{key, FileType::other, "", "", node.source().begin.line};
  if (const auto* number = node.as_integer()) {
    entry.type = FileType::integer;
    entry.shown = entry.text = std::to_string(number->get());
  } else if (const auto* truth = node.as_boolean()) {
    entry.type = FileType::boolean;
    entry.shown = entry.text = truth->get() ? "true" : "false";
  } else if (const auto* text = node.as_string()) {
    entry.type = FileType::string;
    entry.text = text->get();
    entry.shown = fmt::format("'{}'", text->get());
  } else if (const auto* array = node.as_array()) {
    if (join_integers(*array, entry.text)) entry.type = FileType::integers;
    entry.shown = fmt::format("an array of {}", array->size());
  } else if (const auto* decimal = node.as_floating_point()) {
    entry.shown = fmt::format("{}", decimal->get());
  } else {
    entry.type = node.is_table() ? FileType::section : FileType::other;
    entry.shown = node.is_table() ? "a section" : "a date or time";
  }
  return entry;
}

// No key has more than one dot; a deeper key is an entry too, for its message.
std::vector<FileEntry> flatten(const toml::table& table) {
  std::vector<FileEntry> entries;
  for (const auto& [name, node] : table) {
    const std::string key(name.str());
    const toml::table* section = node.as_table();
    if (section == nullptr || section->empty()) {
      entries.push_back(entry_of(key, node));
      continue;
    }
    for (const auto& [inner, value] : *section) {
      entries.push_back(entry_of(key + "." + std::string(inner.str()), value));
    }
  }
  return entries;
}

constexpr std::string_view config_mend = "fix the file or name another with --config";

// Of one file.
struct Refusals {
  std::string_view mend;
  Error operator()(int code, const std::string& path, std::string_view what) const {
    return {code, fmt::format("{}: {}; {}", path, what, mend)};
  }
};

// Reads up to `bytes` of the rest of the file. Errors: as read().
Result<std::string> read_from(int descriptor, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::size_t size = 0;
  while (size < bytes) {
    const ssize_t count = read(descriptor, text.data() + size, bytes - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error{errno, std::strerror(errno)};
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return text;
}

Result<std::string> read_text(const std::string& path, const Refusals& refusal) {
  // Without O_NONBLOCK a FIFO waits for its writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return refusal(errno, path, std::strerror(errno));
  const auto close_it = [](const int* open) { close(*open); };
  const std::unique_ptr<const int, decltype(close_it)> closer(&descriptor, close_it);
  struct stat status{};
  if (fstat(descriptor, &status) != 0) return refusal(errno, path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) {
    return refusal(EISDIR, path, "a directory, not a configuration file");
  }
  if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode)) {  // /dev/null is an empty file.
    return refusal(EINVAL, path, "a FIFO, socket or block device, not a configuration file");
  }
  Result<std::string> text = read_from(descriptor, file_bytes_max + 1);
  if (!text) return refusal(text.error().code, path, text.error().message);
  if (text->size() > file_bytes_max) {
    return refusal(EFBIG, path, fmt::format("larger than {} bytes", file_bytes_max));
  }
  return text;
}

// The parser recurses once a dot of a key, without a limit; keys end with their line.
Status refuse_deep_keys(const std::string& path, std::string_view text, const Refusals& refusal) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const bool comment =
        line.substr(std::min(line.size(), line.find_first_not_of(" \t"))).starts_with('#');
    if (!comment && std::count(line.begin(), line.end(), '.') > line_dots_max) {
      return refusal(EINVAL, fmt::format("{}:{}", path, number),
                     fmt::format("more than {} dots in a line", line_dots_max));
    }
  }
  return {};
}

}  // namespace

Result<std::string> read_toml_text(const std::string& path, std::string_view mend) {
  const Refusals refusal{mend};
  Result<std::string> text = read_text(path, refusal);
  if (!text) return text.error();
  if (Status status = refuse_deep_keys(path, text.value(), refusal); !status) {
    return status.error();
  }
  return text;
}

Result<std::vector<FileEntry>> read_config_file(const std::string& path) {
  const Result<std::string> text = read_toml_text(path, config_mend);
  if (!text) return text.error();
  try {
    return flatten(toml::parse(text.value(), path));
  } catch (const toml::parse_error& error) {
    const bool percent = error.description().find('%') != std::string_view::npos;
    return Error{EINVAL, fmt::format("{}:{}: {} (column {}); {}", path, error.source().begin.line,
                                     error.description(), error.source().begin.column,
                                     percent ? "a percentage stands in quotes: \"5%\""
                                             : "a setting reads: [device] and, on the next line, "
                                               "spin_us = 20")};
  }
}

}  // namespace k2k
