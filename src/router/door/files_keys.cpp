#include "router/door/files_keys.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>

namespace k2k::router {

namespace {

bool is_yes(std::string_view text) {
  return text[0] != '0' && text != "false" && text != "off" && text != "no";
}

std::optional<std::uint64_t> number_of(std::string_view text, std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && number <= most ? std::optional(number) : std::nullopt;
}

// The position of a word in "first|second".
std::optional<std::uint64_t> place_of(std::string_view word, std::string_view words) {
  for (std::uint64_t place = 0;; ++place) {
    const std::size_t end = words.find('|');
    if (words.substr(0, end) == word) return place;
    if (end == std::string_view::npos) return {};
    words.remove_prefix(end + 1);
  }
}

Status set(FilesOptions& options, const FilesKey& key, const std::string& name,
           const std::string& text) {
  std::optional<std::uint64_t> number = 0;
  switch (key.kind) {
    case FilesKey::Kind::boolean:
      number = is_yes(text) ? 1 : 0;
      break;
    case FilesKey::Kind::number:
      number = number_of(text, key.most);
      if (!number) {
        return Error{EINVAL,
                     fmt::format("{} is not a number of pages from 0 to {}", name, key.most)};
      }
      break;
    case FilesKey::Kind::choice:
      number = place_of(text, key.words);
      if (!number) {
        return Error{EINVAL, fmt::format("{} is '{}'; permitted are {}", name, text, key.words)};
      }
      break;
    case FilesKey::Kind::text:
      break;
  }
  key.store(options, *number, text);
  return {};
}

}  // namespace

std::string variable_name(std::string_view prefix, std::string_view key) {
  std::string all(prefix);
  for (const char letter : key) {
    const bool is_small = letter >= 'a' && letter <= 'z';
    all += is_small ? static_cast<char>(letter - 'a' + 'A') : letter == '.' ? '_' : letter;
  }
  return all;
}

// Whatever does not deny is a yes.
std::string variable_of(const FilesKey& key) {
  return variable_name("K2K_", key.short_name != nullptr ? key.short_name : key.key);
}

std::string library_variable_of(const FilesKey& key) {
  const std::string_view name(key.key);
  return variable_name("K2K_IO_", name.substr(name.find('.') + 1));
}

Result<FilesOptions> files_options_from(const char* (*variable)(const char* name)) {
  FilesOptions options;
  for (const FilesKey& key : files_keys) {
    const std::string names[] = {key.kernels ? variable_of(key) : "", library_variable_of(key)};
    for (const std::string& name : names) {
      const char* const text = name.empty() ? nullptr : variable(name.c_str());
      if (text == nullptr || *text == '\0') continue;
      if (Status status = set(options, key, name, text); !status) return status.error();
      if (key.kind == FilesKey::Kind::number && &name == &names[1]) {
        options.read_ahead = FilesOptions::ReadAhead::bounded;
      }
    }
  }
  return options;
}

}  // namespace k2k::router
