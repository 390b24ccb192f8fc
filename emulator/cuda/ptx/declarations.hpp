#pragma once
// The declarations of PTX: variables with initial values, parameters. Of a module's parser and of a
// body's. Throws Refusal.

#include <optional>
#include <string>
#include <vector>

#include "emulator/cuda/ptx/cursor.hpp"
#include "emulator/cuda/ptx/module.hpp"

namespace k2k::emulator::ptx {

// The space that a directive begins: ".shared"; nothing for other directives.
std::optional<Space> space_of(const Token& token);

// After the space: `.align 8 .b8 name[48] = {…}, name2…;` Takes the semicolon.
std::vector<Variable> variables_of(Cursor& cursor, Space space, bool is_extern);

// `( .param .b64 a, .param .align 4 .b8 b[16] )`, the parentheses included; appended to
// `parameters` from `offset` on, which moves.
void parameters_of(Cursor& cursor, std::vector<Parameter>& parameters, std::uint64_t& offset);

constexpr std::uint64_t aligned(std::uint64_t offset, std::uint64_t align) {
  return (offset + align - 1) / align * align;
}

}  // namespace k2k::emulator::ptx
