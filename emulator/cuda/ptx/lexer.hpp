#pragma once
// The words of PTX text. Comments and white space are gone; each token knows its line.
//
// Threading: values.

#include <cstdint>
#include <string_view>
#include <vector>

namespace k2k::emulator::ptx {

struct Token {
  enum class Kind : std::uint8_t {
    end,
    name,     // %r1, $L__BB0_1, foo
    dotted,   // .reg, .shared::cta; `text` is without the dot
    integer,  // `value`
    real,     // `value`: the bits of a double
    real32,   // 0f3F800000; `value`: the bits of a float
    text,     // "…", without the quotes
    mark,     // One character: `text`
  };
  Kind kind = Kind::end;
  std::string_view text;
  std::uint64_t value = 0;
  std::uint32_t line = 0;
  std::uint32_t begin = 0;  // Offset in the text.

  [[nodiscard]] bool is(char mark) const { return kind == Kind::mark && text[0] == mark; }
  [[nodiscard]] bool dot(std::string_view word) const {
    return kind == Kind::dotted && text == word;
  }
};

// Ends with a token of the kind `end`. Throws Refusal.
std::vector<Token> tokens_of(std::string_view text);

}  // namespace k2k::emulator::ptx
