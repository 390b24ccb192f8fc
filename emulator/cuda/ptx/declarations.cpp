#include "emulator/cuda/ptx/declarations.hpp"

#include <bit>
#include <cstring>

namespace k2k::emulator::ptx {

namespace {

constexpr std::uint64_t align_max = 4096;

Type need_type(Cursor& cursor) {
  if (cursor.look().kind == Token::Kind::dotted) {
    if (const std::optional<Type> type = type_of(cursor.look().text)) {
      cursor.take();
      return *type;
    }
  }
  cursor.wrong("a type");
}

std::uint64_t need_align(Cursor& cursor) {
  const std::uint64_t align = cursor.need_size("an alignment");
  if (!std::has_single_bit(align) || align > align_max) cursor.wrong("a power of two up to 4096");
  return align;
}

// [4][8] → 32; [] → 0 and `open`.
std::uint64_t elements_of(Cursor& cursor, bool& open) {
  std::uint64_t count = 1;
  while (cursor.take_if('[')) {
    if (cursor.take_if(']')) {
      open = true;
      count = 0;
      continue;
    }
    count *= cursor.need_size("a number of elements");
    cursor.need(']');
  }
  return count;
}

void append(std::vector<std::byte>& bytes, std::uint64_t value, std::uint32_t count) {
  for (std::uint32_t at = 0; at < count; ++at) bytes.push_back(std::byte(value >> (8 * at)));
}

std::uint64_t literal_of(Cursor& cursor, Type type) {
  const Token& token = cursor.look();
  if (token.kind == Token::Kind::real && type == Type::f32) {
    const auto value = static_cast<float>(std::bit_cast<double>(cursor.take().value));
    return std::bit_cast<std::uint32_t>(value);
  }
  if (token.kind == Token::Kind::real || token.kind == Token::Kind::real32) {
    return cursor.take().value;
  }
  const std::int64_t value = cursor.need_integer("a number");
  if (type == Type::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type == Type::f64) return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  return static_cast<std::uint64_t>(value);
}

// One value, or nested braces of them.
void initial_of(Cursor& cursor, Type type, Variable& variable) {
  if (cursor.take_if('{')) {
    if (cursor.take_if('}')) return;
    do {
      initial_of(cursor, type, variable);
    } while (cursor.take_if(','));
    cursor.need('}');
    return;
  }
  const std::uint32_t bytes = bytes_of(type);
  if (cursor.look().kind != Token::Kind::name) {
    append(variable.initial, literal_of(cursor, type), bytes);
    return;
  }
  Relocation relocation;
  relocation.offset = variable.initial.size();
  relocation.bytes = bytes;
  relocation.symbol = std::string(cursor.take().text);
  if (relocation.symbol == "generic" && cursor.take_if('(')) {
    relocation.symbol = cursor.need_name("a variable");
    cursor.need(')');
  } else if (cursor.look().is('(')) {
    cursor.wrong("a value without an operator (mask() is not known)");
  }
  if (bytes != 8) {
    throw Refusal(Reason::unsupported, cursor.look().line,
                  "an address of " + std::to_string(bytes) + " bytes as initial value");
  }
  if (cursor.take_if('+')) relocation.addend = cursor.need_integer("an offset");
  append(variable.initial, 0, bytes);
  variable.relocations.push_back(relocation);
}

}  // namespace

std::optional<Space> space_of(const Token& token) {
  if (token.dot("global")) return Space::global;
  if (token.dot("shared")) return Space::shared;
  if (token.dot("local")) return Space::local;
  if (token.dot("const")) return Space::constant;
  if (token.dot("param")) return Space::param;
  return std::nullopt;
}

std::vector<Variable> variables_of(Cursor& cursor, Space space, bool is_extern) {
  std::uint64_t align = 0;
  std::uint64_t vector = 1;
  std::optional<Type> type;
  while (!type) {
    if (cursor.take_if_dot("align")) {
      align = need_align(cursor);
    } else if (cursor.take_if_dot("attribute")) {
      cursor.need('(');
      if (!cursor.take_if_dot("managed")) cursor.wrong("the attribute .managed");
      cursor.need(')');
    } else if (cursor.take_if_dot("v2")) {
      vector = 2;
    } else if (cursor.take_if_dot("v4")) {
      vector = 4;
    } else {
      type = need_type(cursor);
    }
  }
  if (bytes_of(*type) == 0) cursor.wrong("a type that memory has");
  std::vector<Variable> variables;
  do {
    Variable variable;
    variable.line = cursor.look().line;
    variable.name = cursor.need_name("the name of a variable");
    variable.space = space;
    bool open = false;
    variable.bytes = bytes_of(*type) * vector * elements_of(cursor, open);
    variable.align = align != 0 ? align : bytes_of(*type) * vector;
    if (cursor.take_if('=')) initial_of(cursor, *type, variable);
    if (open) variable.bytes = variable.initial.size();
    if (variable.initial.size() > variable.bytes) {
      throw Refusal(Reason::invalid, variable.line,
                    variable.name + " has more initial values than elements");
    }
    variable.is_extern = is_extern;
    variables.push_back(std::move(variable));
  } while (cursor.take_if(','));
  cursor.need(';');
  return variables;
}

void parameters_of(Cursor& cursor, std::vector<Parameter>& parameters, std::uint64_t& offset) {
  cursor.need('(');
  if (cursor.take_if(')')) return;
  do {
    const std::uint32_t line = cursor.look().line;
    if (!cursor.take_if_dot("param")) {
      throw Refusal(Reason::unsupported, line, "a parameter that is not in .param space");
    }
    std::uint64_t align = 0;
    std::optional<Type> type;
    while (!type) {
      if (cursor.take_if_dot("align")) {
        align = need_align(cursor);
      } else if (cursor.take_if_dot("ptr")) {  // .ptr .global .align 1: of no effect.
        if (space_of(cursor.look())) cursor.take();
        if (cursor.take_if_dot("align")) need_align(cursor);
      } else {
        type = need_type(cursor);
      }
    }
    if (cursor.take_if_dot("ptr")) {
      if (space_of(cursor.look())) cursor.take();
      if (cursor.take_if_dot("align")) need_align(cursor);
    }
    Parameter parameter;
    parameter.name = cursor.need_name("the name of a parameter");
    bool open = false;
    parameter.bytes = bytes_of(*type) * elements_of(cursor, open);
    parameter.align = align != 0 ? align : bytes_of(*type);
    if (open || parameter.bytes == 0) {
      throw Refusal(Reason::unsupported, line, parameter.name + " is a parameter without a size");
    }
    offset = aligned(offset, parameter.align);
    parameter.offset = offset;
    offset += parameter.bytes;
    parameters.push_back(std::move(parameter));
  } while (cursor.take_if(','));
  cursor.need(')');
}

}  // namespace k2k::emulator::ptx
