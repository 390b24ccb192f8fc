#pragma once
// Reads the body of one function, from `{` to `}`. Throws Refusal.

#include "emulator/cuda/ptx/cursor.hpp"
#include "emulator/cuda/ptx/module.hpp"

namespace k2k::emulator::ptx {

// The function's own entry in `module.functions` is `index`; variables of the body that are not
// local come into the module.
void parse_body(Cursor& cursor, Module& module, std::uint32_t index);

// The number of a special register without its percent sign; Special::count for an unknown one.
Special special_of(std::string_view name);

}  // namespace k2k::emulator::ptx
