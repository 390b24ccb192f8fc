#pragma once
// k2k::print(): the types of its arguments, and which formats fit them.
//
// A format is text with a place for each argument: "{}", or "{:" [[fill]align][sign][#][0][width]
// [.precision][type] "}", with the meanings of fmt and std::format; "{{" and "}}" are braces.
// Arguments are taken in their order. Device code is checked by the compiler (C++20), and the host
// checks again: requests are not trusted.
//
// C++17, freestanding, constant.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/attributes.hpp"
#include "calls/host_call.hpp"

namespace k2k::calls {

enum class PrintType : std::uint8_t { integer, natural, number, character, boolean, text, pointer };

// An argument in the frame of a print. The bytes of a text are the next buffer.
struct PrintValue {
  std::uint64_t type = 0;  // PrintType
  std::uint64_t bits = 0;
};

inline constexpr std::size_t print_width_max = 9999;

// The PrintType of T, or a compile error.
template <class T>
K2K_HD constexpr PrintType print_type_of() {
  using Plain = std::remove_cv_t<T>;
  constexpr bool is_text = std::is_same_v<Plain, In<char>> || std::is_same_v<Plain, const char*> ||
                           std::is_same_v<Plain, char*>;
  static_assert(is_text || std::is_arithmetic_v<Plain> || std::is_pointer_v<Plain> ||
                    std::is_null_pointer_v<Plain>,
                "k2k::print takes numbers, characters, pointers, and text: const char* or "
                "k2k::in(pointer, bytes)");
  if (is_text) return PrintType::text;
  if (std::is_same_v<Plain, bool>) return PrintType::boolean;
  if (std::is_same_v<Plain, char>) return PrintType::character;
  if (std::is_floating_point_v<Plain>) return PrintType::number;
  if (std::is_integral_v<Plain>) {
    return std::is_signed_v<Plain> ? PrintType::integer : PrintType::natural;
  }
  return PrintType::pointer;
}

enum class PrintFault : std::uint8_t {
  none,
  open_brace,     // "{" without "}", or "}" alone.
  too_few,        // Fewer arguments than places.
  too_many,       // More arguments than places.
  wrong_options,  // The options after ":" do not suit the argument's type.
};

namespace print {

K2K_HD constexpr bool is_one_of(char letter, const char* letters) {
  for (; *letters != '\0'; ++letters) {
    if (*letters == letter) return true;
  }
  return false;
}

K2K_HD constexpr const char* letters_of(PrintType type) {
  switch (type) {
    case PrintType::integer:
    case PrintType::natural:
    case PrintType::boolean:
      return "dbBoxX";
    case PrintType::number:
      return "aAeEfFgG";
    case PrintType::character:
      return "c";
    case PrintType::text:
      return "s";
    case PrintType::pointer:
      return "p";
  }
  return "";
}

// Reads a number of at most print_width_max; false if it is larger.
K2K_HD constexpr bool take_number(const char* text, std::size_t size, std::size_t& at) {
  std::size_t number = 0;
  for (; at < size && text[at] >= '0' && text[at] <= '9'; ++at) {
    number = number * 10 + static_cast<std::size_t>(text[at] - '0');
    if (number > print_width_max) return false;
  }
  return true;
}

// Reads the options at `at`, after ":". Leaves `at` at their end.
K2K_HD constexpr bool take_options(const char* text, std::size_t size, std::size_t& at,
                                   PrintType type) {
  const bool numeric =
      type == PrintType::integer || type == PrintType::natural || type == PrintType::number;
  if (at + 1 < size && is_one_of(text[at + 1], "<>^") && text[at] != '{' && text[at] != '}' &&
      static_cast<unsigned char>(text[at]) < 0x80) {
    at += 2;
  } else if (at < size && is_one_of(text[at], "<>^")) {
    ++at;
  }
  if (at < size && is_one_of(text[at], "+- ")) {
    if (!numeric || type == PrintType::natural) return false;
    ++at;
  }
  if (at < size && text[at] == '#') {
    if (!numeric) return false;
    ++at;
  }
  if (at < size && text[at] == '0') {
    if (!numeric) return false;
    ++at;
  }
  if (!take_number(text, size, at)) return false;
  if (at < size && text[at] == '.') {
    if (type != PrintType::number && type != PrintType::text) return false;
    ++at;
    if (at >= size || text[at] < '0' || text[at] > '9') return false;
    if (!take_number(text, size, at)) return false;
  }
  if (at < size && is_one_of(text[at], letters_of(type))) ++at;
  return true;
}

}  // namespace print

// Checks whether the format suits arguments of these types.
K2K_HD constexpr PrintFault print_fault(const char* text, std::size_t size, const PrintType* types,
                                        std::size_t count) {
  std::size_t argument = 0;
  for (std::size_t at = 0; at < size;) {
    const char letter = text[at++];
    if (letter != '{' && letter != '}') continue;
    if (at < size && text[at] == letter) {
      ++at;
      continue;
    }
    if (letter == '}' || at >= size) return PrintFault::open_brace;
    if (argument == count) return PrintFault::too_few;
    const PrintType type = types[argument++];
    if (text[at] == ':') {
      ++at;
      if (!print::take_options(text, size, at, type)) return PrintFault::wrong_options;
      if (at < size && text[at] != '}') return PrintFault::wrong_options;
    }
    if (at >= size) return PrintFault::open_brace;
    if (text[at++] != '}') return PrintFault::wrong_options;
  }
  return argument == count ? PrintFault::none : PrintFault::too_many;
}

}  // namespace k2k::calls
