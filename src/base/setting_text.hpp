#pragma once
// Values of settings as text. One parser serves the configuration file, variables, flags, the C
// interface, and libk2k_io.so, which must not link the runtime.
//
// Threading: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace k2k {

// Each returns nothing for a value that is not permitted.
constexpr std::optional<bool> parse_truth(std::string_view text) {
  if (text == "true" || text == "on" || text == "yes" || text == "1") return true;
  if (text == "false" || text == "off" || text == "no" || text == "0") return false;
  return {};
}
std::optional<std::uint64_t> parse_whole_number(std::string_view text, std::uint64_t least,
                                                std::uint64_t most);
// A word of "first|second": its position, or itself where the words are numbers ("32|64").
std::optional<std::uint64_t> parse_word(std::string_view text, std::string_view words);

// The permitted values, for messages and documents.
inline constexpr const char* permitted_truth = "true or false";
// "a whole number from 0 to 1000000 (microseconds)"; `unit` may be empty.
std::string permitted_whole_number(std::uint64_t least, std::uint64_t most, std::string_view unit);
// "one of first, second".
std::string permitted_words(std::string_view words);

}  // namespace k2k
