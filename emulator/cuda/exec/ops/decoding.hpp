#pragma once
// The decoding of one instruction: its modifiers are taken one by one, its operands become sources.
// A modifier that nobody took is refused, so nothing is ever executed without all of its meaning.
//
// Each family of instructions (integer.cpp, memory.cpp, …) has a function that decodes the opcodes
// it knows and returns false for others.
//
// Threading: one thread.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/cuda/exec/lane.hpp"
#include "emulator/cuda/ptx/module.hpp"
#include "emulator/cuda/ptx/refusal.hpp"

namespace k2k::emulator::exec {

class Program;

class Decoding {
 public:
  Decoding(Program& program, const ptx::Module& module, const ptx::Function& function,
           const ptx::Instruction& instruction, Op& made);

  [[nodiscard]] const std::string& opcode() const { return in.opcode; }
  [[nodiscard]] std::size_t count() const { return in.operands.size(); }

  // --- Modifiers, in any order.
  bool take(std::string_view modifier);
  // The index of the one that is there; `words.size()` if none is.
  std::size_t take_one(std::initializer_list<std::string_view> words);
  // The first type among those left. Refuses if there is none.
  ptx::Type take_type();
  [[nodiscard]] bool has_type() const;
  std::optional<Scope> take_scope();
  // .shared, .shared::cta
  bool take_shared();
  // The space of these, or of .shared::cluster; nothing if there is none.
  std::optional<ptx::Space> take_any_shared();
  void finish() const;

  // --- Operands.
  void need_count(std::size_t from, std::size_t to) const;
  // `type` gives an immediate its bits.
  Source source(std::size_t index, ptx::Type type);
  Source source_of(const ptx::Operand& operand, ptx::Type type);
  // The base of an address; `offset` takes what is added. `space` tells how variables are
  // addressed.
  Source address(std::size_t index, ptx::Space space, std::uint64_t& offset);
  // A register of 128 bits, which the others refuse.
  Source wide_source(const ptx::Operand& operand);
  std::uint32_t wide_destination(const ptx::Operand& operand);
  std::uint32_t destination(std::size_t index);
  std::uint32_t destination_of(const ptx::Operand& operand);
  // A pair `p|q`, or one: the second is 0 then.
  void destinations(std::size_t index);
  [[nodiscard]] const ptx::Operand& operand(std::size_t index) const;
  std::uint32_t label_target(std::size_t index);
  [[noreturn]] void refuse(const std::string& why) const;
  // Equal for instructions with the same words.
  [[nodiscard]] std::uint32_t meeting_number() const;

  Program& program;
  const ptx::Module& module;
  const ptx::Function& function;
  const ptx::Instruction& in;
  Op& op;

 private:
  std::vector<std::string_view> left_;
};

bool decode_integer(Decoding& with);
bool decode_logic(Decoding& with);
bool decode_compare(Decoding& with);
bool decode_float(Decoding& with);
bool decode_half(Decoding& with);
bool decode_convert(Decoding& with);
bool decode_memory(Decoding& with);
bool decode_atomic(Decoding& with);
bool decode_control(Decoding& with);
bool decode_warp(Decoding& with);
bool decode_copies(Decoding& with);
bool decode_matrix(Decoding& with);
bool decode_wmma(Decoding& with);
bool decode_cluster(Decoding& with);

// Of an instruction that has no effect here.
void nothing(Lane& lane, const Op& op);

// The elements of a vector or a list become op.tos, or op.more.
void add_destinations(Decoding& with, const ptx::Operand& of);
void add_sources(Decoding& with, const ptx::Operand& of, ptx::Type type);

// Lanes of the mask op.d meet at the instruction and do `meet` together (warp.cpp).
void meets(Decoding& with, Meet meet);

}  // namespace k2k::emulator::exec
