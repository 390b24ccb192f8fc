#include "emulator/cuda/ptx/lexer.hpp"

#include <bit>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <string>

#include "emulator/cuda/ptx/refusal.hpp"

namespace k2k::emulator::ptx {

namespace {

bool starts_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}
bool goes_on(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> all() {
    std::vector<Token> tokens;
    tokens.reserve(text_.size() / 4);
    do {
      tokens.push_back(next());
    } while (tokens.back().kind != Token::Kind::end);
    return tokens;
  }

 private:
  [[nodiscard]] char look(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at_;
      } else if (c == '/' && look(1) == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '/' && look(1) == '*') {
        const std::uint32_t begun = line_;
        at_ += 2;
        while (at_ < text_.size() && !(text_[at_] == '*' && look(1) == '/')) {
          if (text_[at_++] == '\n') ++line_;
        }
        if (at_ >= text_.size()) throw Refusal(Reason::invalid, begun, "a comment has no end");
        at_ += 2;
      } else {
        return;
      }
    }
  }

  Token make(Token::Kind kind, std::size_t begin, std::size_t end) {
    Token token;
    token.kind = kind;
    token.text = text_.substr(begin, end - begin);
    token.line = line_;
    token.begin = static_cast<std::uint32_t>(begin);
    return token;
  }

  Token next() {
    skip();
    const std::size_t begin = at_;
    if (at_ >= text_.size()) return make(Token::Kind::end, begin, begin);
    const char c = text_[at_];
    if (starts_name(c)) {
      ++at_;
      while (goes_on(look())) ++at_;
      return make(Token::Kind::name, begin, at_);
    }
    if (c == '.' && (std::isalnum(static_cast<unsigned char>(look(1))) != 0 || look(1) == '_')) {
      ++at_;
      while (goes_on(look()) || (look() == ':' && look(1) == ':')) at_ += look() == ':' ? 2 : 1;
      Token token = make(Token::Kind::dotted, begin + 1, at_);
      token.begin = static_cast<std::uint32_t>(begin);
      return token;
    }
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return number();
    if (c == '"') return quoted();
    ++at_;
    return make(Token::Kind::mark, begin, at_);
  }

  Token quoted() {
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') ++at_;
    if (look() != '"') throw Refusal(Reason::invalid, line_, "a string has no end");
    const Token token = make(Token::Kind::text, begin, at_);
    ++at_;
    return token;
  }

  Token number() {
    const std::size_t begin = at_;
    const char kind = static_cast<char>(std::tolower(static_cast<unsigned char>(look(1))));
    if (look() == '0' && (kind == 'f' || kind == 'd')) return bits(begin, kind == 'f' ? 8 : 16);
    int base = 10;
    if (look() == '0' && (kind == 'x' || kind == 'b')) {
      base = kind == 'x' ? 16 : 2;
      at_ += 2;
    } else if (look() == '0') {
      base = 8;
    }
    const std::size_t digits = at_;
    while (std::isxdigit(static_cast<unsigned char>(look())) != 0 &&
           (base == 16 || std::isdigit(static_cast<unsigned char>(look())) != 0)) {
      ++at_;
    }
    if (base != 16 && base != 2 && (look() == '.' || look() == 'e' || look() == 'E')) {
      return decimal(begin);
    }
    Token token = make(Token::Kind::integer, begin, at_);
    const auto [end, failed] =
        std::from_chars(text_.data() + digits, text_.data() + at_, token.value, base);
    if (failed != std::errc() || end != text_.data() + at_) bad(begin);
    if (look() == 'U') ++at_;
    if (goes_on(look())) bad(begin);
    return token;
  }

  Token decimal(std::size_t begin) {
    const std::string copy(text_.substr(begin, 64));
    char* end = nullptr;
    const double value = std::strtod(copy.c_str(), &end);
    at_ = begin + static_cast<std::size_t>(end - copy.c_str());
    if (goes_on(look())) bad(begin);
    Token token = make(Token::Kind::real, begin, at_);
    token.value = std::bit_cast<std::uint64_t>(value);
    return token;
  }

  // 0f and 8 digits, 0d and 16.
  Token bits(std::size_t begin, std::size_t digits) {
    at_ += 2;
    Token token = make(digits == 8 ? Token::Kind::real32 : Token::Kind::real, begin, at_ + digits);
    if (at_ + digits > text_.size()) bad(begin);
    const char* const last = text_.data() + at_ + digits;
    const auto [end, failed] = std::from_chars(text_.data() + at_, last, token.value, 16);
    if (failed != std::errc() || end != last) bad(begin);
    at_ += digits;
    if (goes_on(look())) bad(begin);
    return token;
  }

  [[noreturn]] void bad(std::size_t begin) const {
    throw Refusal(Reason::invalid, line_,
                  "'" + std::string(text_.substr(begin, 20)) + "' begins no number of PTX");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text) { return Lexer(text).all(); }

}  // namespace k2k::emulator::ptx
