#include "router/door/files_keys.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "base/setting_text.hpp"

namespace k2k::router {

namespace {

std::optional<std::uint64_t> number_of(const FilesKey& key, std::string_view text) {
  switch (key.kind) {
    case FilesKey::Kind::boolean:
      return parse_truth(text);
    case FilesKey::Kind::number:
      return parse_whole_number(text, 0, key.most);
    case FilesKey::Kind::choice:
      return parse_word(text, key.words);
  }
  return {};
}

std::string permitted_of(const FilesKey& key) {
  switch (key.kind) {
    case FilesKey::Kind::boolean:
      return permitted_truth;
    case FilesKey::Kind::number:
      return permitted_whole_number(0, key.most, key.unit);
    case FilesKey::Kind::choice:
      return permitted_words(key.words);
  }
  return "";
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

std::string variable_of(const FilesKey& key) {
  return variable_name("K2K_", key.short_name != nullptr ? key.short_name : key.key);
}

std::string library_variable_of(const FilesKey& key) {
  const std::string_view name(key.key);
  return variable_name("K2K_IO_", name.substr(name.find('.') + 1));
}

FilesVariables files_options_from(const char* (*variable)(const char* name)) {
  FilesVariables read;
  for (const FilesKey& key : files_keys) {
    const std::string names[] = {key.kernels ? variable_of(key) : "", library_variable_of(key)};
    for (const std::string& name : names) {
      const char* const text = name.empty() ? nullptr : variable(name.c_str());
      if (text == nullptr) continue;
      const auto number = number_of(key, text);
      if (!number) {
        // The value may be a megabyte; the message around it must stay visible.
        read.ignored.push_back(fmt::format("environment {}: {} = '{:.100}'; permitted: {}", name,
                                           key.key, text, permitted_of(key)));
        continue;
      }
      key.store(read.options, *number, text);
      if (key.kind == FilesKey::Kind::number && &name == &names[1]) {
        read.options.read_ahead = FilesOptions::ReadAhead::bounded;
      }
    }
  }
  return read;
}

}  // namespace k2k::router
