#include "emulator/cuda/exec/ops/decoding.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "emulator/cuda/exec/ops/program.hpp"

namespace k2k::emulator::exec {

using ptx::Operand;
using ptx::Reason;
using ptx::Refusal;
using ptx::Space;
using ptx::Type;

Decoding::Decoding(Program& of, const ptx::Module& whole, const ptx::Function& body,
                   const ptx::Instruction& instruction, Op& made)
    : program(of),
      module(whole),
      function(body),
      in(instruction),
      op(made),
      left_(instruction.modifiers.begin(), instruction.modifiers.end()) {}

bool Decoding::take(std::string_view modifier) {
  const auto at = std::find(left_.begin(), left_.end(), modifier);
  if (at == left_.end()) return false;
  left_.erase(at);
  return true;
}

std::size_t Decoding::take_one(std::initializer_list<std::string_view> words) {
  std::size_t index = 0;
  for (const std::string_view word : words) {
    if (take(word)) return index;
    ++index;
  }
  return index;
}

Type Decoding::take_type() {
  for (auto at = left_.begin(); at != left_.end(); ++at) {
    if (const std::optional<Type> type = ptx::type_of(*at)) {
      left_.erase(at);
      return *type;
    }
  }
  refuse("it has no type that is known");
}

bool Decoding::has_type() const {
  return std::any_of(left_.begin(), left_.end(),
                     [](std::string_view word) { return ptx::type_of(word).has_value(); });
}

std::optional<Scope> Decoding::take_scope() {
  constexpr std::array scopes{Scope::block, Scope::cluster, Scope::device, Scope::system};
  const std::size_t scope = take_one({"cta", "cluster", "gpu", "sys"});
  return scope < scopes.size() ? std::optional(scopes[scope]) : std::nullopt;
}

bool Decoding::take_shared() { return take("shared") || take("shared::cta"); }

std::optional<Space> Decoding::take_any_shared() {
  if (take_shared()) return Space::shared;
  return take("shared::cluster") ? std::optional(Space::cluster) : std::nullopt;
}

void Decoding::finish() const {
  if (!left_.empty()) refuse("the modifier ." + std::string(left_.front()) + " is not known here");
}

void Decoding::need_count(std::size_t from, std::size_t to) const {
  if (count() < from || count() > to) {
    throw Refusal(Reason::invalid, in.line,
                  in.opcode + " has " + std::to_string(count()) + " operands");
  }
}

const Operand& Decoding::operand(std::size_t index) const {
  if (index >= in.operands.size()) {
    throw Refusal(Reason::invalid, in.line, in.opcode + " has too few operands");
  }
  return in.operands[index];
}

Source Decoding::source(std::size_t index, Type type) { return source_of(operand(index), type); }

Source Decoding::source_of(const Operand& operand, Type type) {
  Source made;
  if (operand.negated) {
    if (type != Type::pred) refuse("a negated operand that is no predicate");
    op.negated = true;
  }
  switch (operand.kind) {
    case Operand::Kind::reg:
      if (function.registers[operand.index] == Type::b128) {
        refuse("a register of 128 bits does not belong here");
      }
      made.kind = Source::Kind::reg;
      made.value = operand.index;
      return made;
    case Operand::Kind::integer:
      made.value = static_cast<std::uint64_t>(operand.value);
      if (type == Type::f32) {
        made.value = std::bit_cast<std::uint32_t>(static_cast<float>(operand.value));
      } else if (type == Type::f64) {
        made.value = std::bit_cast<std::uint64_t>(static_cast<double>(operand.value));
      } else if (ptx::is_float(type) && operand.value != 0) {
        refuse("a whole number as operand of this type");
      }
      return made;
    case Operand::Kind::real:
      made.value = static_cast<std::uint64_t>(operand.value);
      if (type == Type::f32) {
        const auto value = static_cast<float>(std::bit_cast<double>(operand.value));
        made.value = std::bit_cast<std::uint32_t>(value);
      } else if (type != Type::f64 && type != Type::b64) {
        refuse("a real number as operand of this type");
      }
      return made;
    case Operand::Kind::real32:
      made.value = static_cast<std::uint32_t>(operand.value);
      if (type == Type::f64) {
        const auto value =
            static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(operand.value)));
        made.value = std::bit_cast<std::uint64_t>(value);
      } else if (type != Type::f32 && type != Type::b32) {
        refuse("a real number as operand of this type");
      }
      return made;
    case Operand::Kind::variable:
      made.value = program.address_of(operand.index) +
                   static_cast<std::uint64_t>(operand.value + operand.offset);
      return made;
    case Operand::Kind::function:
      made.value = reinterpret_cast<std::uint64_t>(program.code_of(operand.index));
      return made;
    case Operand::Kind::frame:
      made.kind = operand.index == 1 ? Source::Kind::frame : Source::Kind::frame_local;
      made.value = static_cast<std::uint64_t>(operand.value + operand.offset);
      return made;
    case Operand::Kind::incoming:
      made.kind = Source::Kind::incoming;
      made.value = static_cast<std::uint64_t>(operand.value + operand.offset);
      return made;
    case Operand::Kind::special:
      made.kind = Source::Kind::special;
      made.value = operand.index * 4 + static_cast<std::uint64_t>(operand.value);
      return made;
    default:
      refuse("an operand of a kind that does not belong here");
  }
}

Source Decoding::address(std::size_t index, Space space, std::uint64_t& offset) {
  const Operand& at = operand(index);
  if (!at.address) refuse("an operand that is no address");
  offset = at.kind == Operand::Kind::reg ? static_cast<std::uint64_t>(at.offset) : 0;
  // A local variable has an offset in .local space, and an address in generic space.
  if (at.kind == Operand::Kind::frame && at.index == 0 && space != Space::local) {
    refuse("a local variable in another space");
  }
  if (at.kind == Operand::Kind::variable) {
    const Space of = module.variables[at.index].space;
    const bool fits = of == space || (of == Space::global && space == Space::generic) ||
                      (of == Space::shared && space == Space::cluster);
    if (!fits) {
      refuse("a variable of another space");
    }
  }
  return source_of(at, Type::b64);
}

std::uint32_t Decoding::destination(std::size_t index) { return destination_of(operand(index)); }

std::uint32_t Decoding::destination_of(const Operand& operand) {
  if (operand.kind == Operand::Kind::sink) return 0;
  if (operand.kind != Operand::Kind::reg || operand.negated) refuse("a result that is no register");
  if (function.registers[operand.index] == Type::b128) {
    refuse("a register of 128 bits does not belong here");
  }
  return operand.index;
}

Source Decoding::wide_source(const Operand& operand) {
  if (operand.kind != Operand::Kind::reg || operand.address ||
      function.registers[operand.index] != Type::b128) {
    refuse("an operand that is no register of 128 bits");
  }
  Source made;
  made.kind = Source::Kind::reg;
  made.value = operand.index;
  return made;
}

std::uint32_t Decoding::wide_destination(const Operand& operand) {
  return operand.kind == Operand::Kind::sink
             ? 0
             : static_cast<std::uint32_t>(wide_source(operand).value);
}

void Decoding::destinations(std::size_t index) {
  const Operand& to = operand(index);
  if (to.kind != Operand::Kind::pair) {
    op.to = destination_of(to);
    return;
  }
  op.to = destination_of(to.elements[0]);
  op.to2 = destination_of(to.elements[1]);
}

std::uint32_t Decoding::label_target(std::size_t index) {
  const Operand& to = operand(index);
  if (to.kind != Operand::Kind::label) refuse("a target that is no label");
  return function.labels[to.index].target;
}

void Decoding::refuse(const std::string& why) const {
  std::string words = module.text.substr(in.begin, in.end - in.begin);
  std::replace(words.begin(), words.end(), '\n', ' ');
  throw Refusal(Reason::unsupported, in.line, "`" + words + "`: " + why);
}

std::uint32_t Decoding::meeting_number() const {
  std::string words = in.opcode;
  for (const std::string& modifier : in.modifiers) words += "." + modifier;
  return static_cast<std::uint32_t>(std::hash<std::string>()(words));
}

void nothing(Lane&, const Op&) {}

void add_destinations(Decoding& with, const Operand& of) {
  for (const Operand& element : of.elements) {
    with.op.tos.push_back(with.destination_of(element));
  }
}

void add_sources(Decoding& with, const Operand& of, Type type) {
  for (const Operand& element : of.elements) {
    with.op.more.push_back(with.source_of(element, type));
  }
}

}  // namespace k2k::emulator::exec
