#pragma once
// A place in the tokens of a module, with the questions and demands of a recursive descent.
//
// Threading: one thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/cuda/ptx/lexer.hpp"
#include "emulator/cuda/ptx/refusal.hpp"

namespace k2k::emulator::ptx {

class Cursor {
 public:
  explicit Cursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  [[nodiscard]] const Token& look(std::size_t ahead = 0) const {
    return tokens_[at_ + ahead < tokens_.size() ? at_ + ahead : tokens_.size() - 1];
  }
  const Token& take() {
    const Token& token = look();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool take_if(char mark) {
    if (!look().is(mark)) return false;
    take();
    return true;
  }
  bool take_if_dot(std::string_view word) {
    if (!look().dot(word)) return false;
    take();
    return true;
  }
  const Token& need(char mark) {
    if (!look().is(mark)) wrong(std::string("'") + mark + "'");
    return take();
  }
  std::string need_name(const char* meaning) {
    if (look().kind != Token::Kind::name) wrong(meaning);
    return std::string(take().text);
  }
  // An integer, with a sign.
  std::int64_t need_integer(const char* meaning) {
    const bool minus = take_if('-');
    if (look().kind != Token::Kind::integer) wrong(meaning);
    const auto value = static_cast<std::int64_t>(take().value);
    return minus ? static_cast<std::int64_t>(-static_cast<std::uint64_t>(value)) : value;
  }
  std::uint64_t need_size(const char* meaning) {
    constexpr std::int64_t size_max = std::int64_t{1} << 40;
    const std::int64_t value = need_integer(meaning);
    if (value < 0 || value > size_max) {
      throw Refusal(Reason::invalid, look().line,
                    std::string(meaning) + " cannot be " + std::to_string(value));
    }
    return static_cast<std::uint64_t>(value);
  }
  // .file and .loc end with their line.
  void skip_line() {
    const std::uint32_t line = look().line;
    while (look().kind != Token::Kind::end && look().line == line) take();
  }
  void skip_to(char mark) {
    while (!look().is(mark)) {
      if (look().kind == Token::Kind::end) wrong(std::string("'") + mark + "'");
      take();
    }
    take();
  }
  [[noreturn]] void wrong(const std::string& wanted) const {
    const Token& token = look();
    throw Refusal(Reason::invalid, token.line,
                  token.kind == Token::Kind::end
                      ? "the text ends where " + wanted + " is needed"
                      : "'" + std::string(token.text) + "' stands where " + wanted + " is needed");
  }

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace k2k::emulator::ptx
