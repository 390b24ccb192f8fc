#pragma once
// The keys of FilesOptions, for users: one table for kernels and libk2k_io.so.
//
//   files.exclusive = true    configuration file of kernels and the C interface
//   K2K_FILES_EXCLUSIVE=1     the same, as a variable; libk2k_io.so reads it, too
//   K2K_IO_EXCLUSIVE=1        libk2k_io.so alone, where it takes precedence
//
// Threading: constant data.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "router/ahead/read_ahead_limits.hpp"
#include "router/door/files_options.hpp"

namespace k2k::router {

struct FilesKey {
  enum class Kind : std::uint8_t { boolean, number, choice };

  const char* key;  // "files.exclusive"
  Kind kind;
  std::uint64_t most;  // Of a number, from 0.
  const char* words;   // Of a choice: "auto|bounded", in the order of the values of an enum.
  const char* unit;
  const char* help;  // One sentence.
  void (*store)(FilesOptions& options, std::uint64_t number, const std::string& text);
  std::uint64_t (*number)(const FilesOptions& options);  // Of a field that is a text: 0.
  const char* short_name = nullptr;  // Replaces the key in the flag and the variable.
  bool kernels = true;               // Else of libk2k_io.so alone.
};

// The accessors of a key, made from the field itself.
template <auto field>
void store_key(FilesOptions& options, std::uint64_t number, const std::string& text) {
  auto& place = options.*field;
  if constexpr (requires { place = text; }) {
    place = text;
  } else {
    using Field = std::remove_reference_t<decltype(place)>;
    place = static_cast<Field>(number);
  }
}
template <auto field>
std::uint64_t number_of_key(const FilesOptions& options) {
  if constexpr (requires { static_cast<std::uint64_t>(options.*field); }) {
    return static_cast<std::uint64_t>(options.*field);
  } else {
    return 0;
  }
}
template <auto field>
constexpr FilesKey files_key(const char* key, FilesKey::Kind kind, std::uint64_t most,
                             const char* words, const char* unit, const char* help) {
  return {key, kind, most, words, unit, help, store_key<field>, number_of_key<field>};
}
constexpr FilesKey named(FilesKey key, const char* short_name) {
  key.short_name = short_name;
  return key;
}
constexpr FilesKey of_library(FilesKey key) {
  key.kernels = false;
  return key;
}

inline constexpr FilesKey files_keys[] = {
    files_key<&FilesOptions::router>(
        "files.router", FilesKey::Kind::boolean, 1, "", "",
        "Read long stretches of files by the fastest mix of page cache and direct transfers."),
    files_key<&FilesOptions::read_ahead_pages>(
        "files.read_ahead_pages", FilesKey::Kind::number, read_ahead_pages_max, "",
        "pages of 4 KiB",
        "Most pages that are in the page cache only because of read-ahead for kernels; further "
        "pages are evicted. Memory of the host and memory of each kind of GPU have this bound "
        "each. 0: as files.conservative."),
    files_key<&FilesOptions::read_ahead>(
        "files.read_ahead", FilesKey::Kind::choice, 0, "auto|bounded", "",
        "Where to keep files.read_ahead_pages: on devices whose read_ahead_kb is at most an eighth "
        "of it, or everywhere. Measured on such devices: 0.95 to 1.11 of the throughput of the "
        "operating system's read-ahead with 2048 pages, 0.67 to 0.93 in the slowest run with 512."),
    named(files_key<&FilesOptions::conservative>(
              "files.conservative", FilesKey::Kind::boolean, 1, "", "",
              "Leave all read-ahead to the operating system and evict nothing: for files that "
              "other programs read without K2K's knowledge."),
          "conservative"),
    files_key<&FilesOptions::exclusive>(
        "files.exclusive", FilesKey::Kind::boolean, 1, "", "",
        "Writes of 512 KiB and more bypass the page cache where the file is not cached: for files "
        "that no other program reads or writes at the same time."),
    of_library(files_key<&FilesOptions::direct>("files.direct", FilesKey::Kind::choice, 0,
                                                "staging|cufile|hipfile", "",
                                                "The engine for direct transfers into GPU "
                                                "memory: staging, cufile or hipfile.")),
};

// "K2K_FILES_EXCLUSIVE" of "K2K_" and "files.exclusive".
std::string variable_name(std::string_view prefix, std::string_view key);
// "K2K_FILES_EXCLUSIVE" and "K2K_IO_EXCLUSIVE".
std::string variable_of(const FilesKey& key);
std::string library_variable_of(const FilesKey& key);

// The options of libk2k_io.so.
struct FilesVariables {
  FilesOptions options;
  // A message for each variable with a value that is not permitted: its name, the value and the
  // permitted values. Such a variable counts as not set.
  std::vector<std::string> ignored;
};
// A bound of pages in K2K_IO_READ_AHEAD_PAGES holds on all devices.
FilesVariables files_options_from(const char* (*variable)(const char* name));

}  // namespace k2k::router
