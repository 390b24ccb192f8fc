#include "base/setting_text.hpp"

#include <charconv>

namespace k2k {

namespace {

// Of all of `text`, without a sign.
std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last) return {};
  return number;
}

// Removes the first word of "first|second" and returns it.
std::string_view take_word(std::string_view& words) {
  const std::size_t end = words.find('|');
  const std::string_view word = words.substr(0, end);
  words.remove_prefix(end == std::string_view::npos ? words.size() : end + 1);
  return word;
}

}  // namespace

std::optional<std::uint64_t> parse_whole_number(std::string_view text, std::uint64_t least,
                                                std::uint64_t most) {
  const auto number = number_of(text);
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

std::optional<std::uint64_t> parse_word(std::string_view text, std::string_view words) {
  for (std::uint64_t position = 0; !words.empty(); ++position) {
    if (take_word(words) == text) return number_of(text).value_or(position);
  }
  return {};
}

std::string permitted_whole_number(std::uint64_t least, std::uint64_t most, std::string_view unit) {
  std::string permitted =
      "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (!unit.empty()) permitted.append(" (").append(unit).append(")");
  return permitted;
}

std::string permitted_words(std::string_view words) {
  std::string permitted = "one of ";
  permitted += take_word(words);
  while (!words.empty()) permitted.append(", ").append(take_word(words));
  return permitted;
}

}  // namespace k2k
