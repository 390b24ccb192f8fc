#include "emulator/cuda/ptx/link.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>

#include "emulator/cuda/ptx/declarations.hpp"
#include "emulator/cuda/ptx/lexer.hpp"
#include "emulator/cuda/ptx/parser.hpp"

namespace k2k::emulator::ptx {

namespace {

// The part [begin, end) of a module's text, from its first directive to the last token.
struct Statement {
  std::size_t first = 0;  // Tokens.
  std::size_t last = 0;   // Behind the last one.
  std::string name;       // Of a function or variable; "" of others.
  bool own = false;       // The module keeps the name to itself.
  bool weak = false;
  bool defines = false;
};

bool is_linkage(const Token& token) {
  return token.dot("visible") || token.dot("weak") || token.dot("extern") || token.dot("common");
}

// Divides a module, which is known to be valid, into the statements behind its head.
class Divider {
 public:
  explicit Divider(const std::vector<Token>& tokens) : tokens_(tokens) {}

  std::vector<Statement> statements() {
    skip_head();
    std::vector<Statement> all;
    while (look().kind != Token::Kind::end) all.push_back(next());
    return all;
  }

 private:
  [[nodiscard]] const Token& look() const { return tokens_[at_]; }
  void take() {
    if (look().kind != Token::Kind::end) ++at_;
  }

  void skip_head() {
    while (look().dot("version") || look().dot("target") || look().dot("address_size")) {
      take();
      while (look().kind != Token::Kind::dotted && look().kind != Token::Kind::end) take();
    }
  }

  Statement next() {
    Statement made;
    made.first = at_;
    if (look().dot("file")) {  // Ends with its line.
      const std::uint32_t line = look().line;
      while (look().kind != Token::Kind::end && look().line == line) take();
      made.last = at_;
      return made;
    }
    bool linked = false;
    bool declared = false;
    for (; is_linkage(look()); take()) {
      linked = true;
      made.weak = made.weak || look().dot("weak");
      declared = declared || look().dot("extern");
    }
    const bool entry = look().dot("entry");
    const bool function = entry || look().dot("func");
    const bool variable = space_of(look()).has_value();
    made.own = !linked && !entry;
    std::size_t depth = 0;
    bool initial = false;
    for (;; take()) {
      const Token& token = look();
      if (token.kind == Token::Kind::end) break;
      const bool named = function || variable;
      if (named && made.name.empty() && depth == 0 && token.kind == Token::Kind::name) {
        made.name = std::string(token.text);
      }
      initial = initial || token.is('=');
      if (token.is('(') || token.is('{')) ++depth;
      if (token.is(')') || token.is('}')) --depth;
      const bool body = token.is('}') && !initial;  // Of a function or a section.
      if (depth == 0 && (token.is(';') || body)) {
        made.defines = body || (variable && !declared);
        take();
        break;
      }
    }
    made.last = at_;
    return made;
  }

  const std::vector<Token>& tokens_;
  std::size_t at_ = 0;
};

std::size_t end_of(const Token& name) { return std::size_t{name.begin} + name.text.size(); }

std::string head_of(const std::vector<Module>& modules) {
  std::uint32_t version = 0;
  std::uint32_t target = 0;
  for (const Module& module : modules) {
    version = std::max(version, module.version);
    target = std::max(target, module.target);
  }
  return ".version " + std::to_string(version / 10) + "." + std::to_string(version % 10) +
         "\n.target sm_" + std::to_string(target) + "\n.address_size 64\n";
}

}  // namespace

std::string linked(const std::vector<std::string>& texts) {
  std::vector<Module> modules;
  modules.reserve(texts.size());
  for (const std::string& text : texts) modules.push_back(parse(text));
  std::string all = head_of(modules);
  std::set<std::string> weak;
  for (std::size_t number = 0; number < modules.size(); ++number) {
    const std::string& text = modules[number].text;
    const std::vector<Token> tokens = tokens_of(text);
    const std::vector<Statement> statements = Divider(tokens).statements();
    std::set<std::string, std::less<>> own;
    for (const Statement& statement : statements) {
      if (statement.own && !statement.name.empty()) own.insert(statement.name);
    }
    for (const Statement& statement : statements) {
      if (statement.first == statement.last) continue;
      if (statement.weak && statement.defines && !weak.insert(statement.name).second) continue;
      // Everything between the tokens is kept, so that .loc and .file stay lines.
      std::size_t from = tokens[statement.first].begin;
      for (std::size_t at = statement.first; at < statement.last; ++at) {
        const Token& token = tokens[at];
        if (token.kind != Token::Kind::name || !own.contains(token.text)) continue;
        all.append(text, from, end_of(token) - from);
        all += "$" + std::to_string(number);
        from = end_of(token);
      }
      const std::size_t end = tokens[statement.last].begin;
      all.append(text, from, end - from);
      all += '\n';
    }
  }
  return all;
}

}  // namespace k2k::emulator::ptx
