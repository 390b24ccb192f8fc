#include "runtime/config_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <toml++/toml.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

namespace k2k {

namespace {

constexpr std::size_t file_bytes_max = 1u << 20;

// The integers of an array joined by commas; false if there is something else among them.
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

void flatten(const toml::table& table, const std::string& prefix, std::vector<FileEntry>& entries) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    const toml::table* section = node.as_table();
    if (section != nullptr && !section->empty()) {
      flatten(*section, key + ".", entries);
    } else {
      entries.push_back(entry_of(key, node));
    }
  }
}

Result<std::string> read_text(const std::string& path) {
  const auto failed = [&](int code, std::string_view what) {
    return Error{code,
                 fmt::format("{}: {}; fix the file or name another with --config", path, what)};
  };
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return failed(errno, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return failed(EISDIR, "a directory, not a configuration file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return failed(errno == 0 ? EIO : errno, std::strerror(errno == 0 ? EIO : errno));
  std::string text(file_bytes_max + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > file_bytes_max) {
    return failed(EFBIG, fmt::format("larger than {} bytes", file_bytes_max));
  }
  return text;
}

}  // namespace

Result<std::vector<FileEntry>> read_config_file(const std::string& path) {
  const Result<std::string> text = read_text(path);
  if (!text) return text.error();
  std::vector<FileEntry> entries;
  try {
    flatten(toml::parse(text.value(), path), "", entries);
  } catch (const toml::parse_error& error) {
    return Error{EINVAL, fmt::format("{}:{}: {} (column {}); a setting reads: [device] and, on the "
                                     "next line, spin_us = 20",
                                     path, error.source().begin.line, error.description(),
                                     error.source().begin.column)};
  }
  return entries;
}

}  // namespace k2k
