#include "emulator/cuda/exec/ops/program.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "emulator/cuda/exec/block.hpp"
#include "emulator/cuda/exec/ops/decoding.hpp"
#include "emulator/cuda/ptx/parser.hpp"

namespace k2k::emulator::exec {

namespace {

constexpr std::uint64_t storage_align = 256;

bool is_in_memory(const ptx::Variable& variable) {
  return variable.space == ptx::Space::global || variable.space == ptx::Space::constant;
}

}  // namespace

Program::Program(const std::string& text, std::string name, MemoryMap& memory)
    : module_(ptx::parse(text)), name_(std::move(name)), memory_(memory) {
  for (const ptx::Function& function : module_.functions) {
    if (function.frame_bytes > local_bytes_max - local_begin) {
      throw ptx::Refusal(ptx::Reason::unsupported, function.line,
                         function.name + " needs more local memory than a lane has, " +
                             std::to_string(local_bytes_max) + " bytes");
    }
    auto code = std::make_unique<Code>();
    code->name = function.name;
    code->module = name_;
    code->ptx = &module_;
    code->function = &function;
    code->register_count = static_cast<std::uint32_t>(function.registers.size()) + 1;
    code->frame_bytes = (function.frame_bytes + 15) / 16 * 16;
    code->parameter_bytes = function.parameter_bytes;
    code->is_entry = function.is_entry;
    codes_.push_back(std::move(code));
    addresses_.push_back(codes_.back().get());
  }
  std::sort(addresses_.begin(), addresses_.end());
  place_variables();
  try {
    fill_variables();
    for (std::uint32_t at = 0; at < module_.functions.size(); ++at) {
      if (module_.functions[at].has_body) decode(at);
    }
  } catch (...) {
    for (std::byte* const place : places_) {
      if (place != nullptr) memory_.remove(reinterpret_cast<std::uint64_t>(place));
    }
    throw;
  }
}

Program::~Program() {
  for (std::byte* const place : places_) {
    if (place != nullptr) memory_.remove(reinterpret_cast<std::uint64_t>(place));
  }
}

void Program::place_variables() {
  for (const ptx::Variable& variable : module_.variables) {
    std::byte* place = nullptr;
    if (is_in_memory(variable) && !variable.is_extern) {
      storage_.push_back(std::make_unique<std::byte[]>(variable.bytes + storage_align + 1));
      const auto raw = reinterpret_cast<std::uint64_t>(storage_.back().get());
      place = storage_.back().get() + (storage_align - raw % storage_align) % storage_align;
      const auto begin = reinterpret_cast<std::uint64_t>(place);
      memory_.add({begin, begin + std::max<std::uint64_t>(variable.bytes, 1)});
    }
    places_.push_back(place);
  }
}

void Program::fill_variables() {
  for (std::size_t at = 0; at < places_.size(); ++at) {
    const ptx::Variable& variable = module_.variables[at];
    if (places_[at] == nullptr) {
      if (!variable.initial.empty()) {
        throw ptx::Refusal(ptx::Reason::invalid, variable.line,
                           variable.name + " cannot have initial values");
      }
      continue;
    }
    if (!variable.initial.empty()) {
      std::memcpy(places_[at], variable.initial.data(), variable.initial.size());
    }
    for (const ptx::Relocation& relocation : variable.relocations) {
      std::uint64_t address = 0;
      if (const auto found = module_.variable_names.find(relocation.symbol);
          found != module_.variable_names.end()) {
        address = address_of(found->second);
      } else if (const auto function = module_.function_names.find(relocation.symbol);
                 function != module_.function_names.end()) {
        address = reinterpret_cast<std::uint64_t>(code_of(function->second));
      } else {
        throw ptx::Refusal(ptx::Reason::invalid, variable.line,
                           "'" + relocation.symbol + "' is not known");
      }
      address += static_cast<std::uint64_t>(relocation.addend);
      std::memcpy(places_[at] + relocation.offset, &address, sizeof address);
    }
  }
}

std::uint64_t Program::address_of(std::uint32_t variable) const {
  const ptx::Variable& of = module_.variables[variable];
  if (of.space == ptx::Space::shared) return of.is_extern ? dynamic_shared_begin() : of.offset;
  if (places_[variable] == nullptr) {
    throw ptx::Refusal(ptx::Reason::invalid, of.line,
                       "the variable '" + of.name + "' is not defined in this module");
  }
  return reinterpret_cast<std::uint64_t>(places_[variable]);
}

void Program::decode(std::uint32_t function) {
  using Decode = bool (*)(Decoding&);
  constexpr Decode all[] = {decode_cluster, decode_copies,  decode_memory,  decode_integer,
                            decode_logic,   decode_compare, decode_control, decode_convert,
                            decode_float,   decode_half,    decode_warp,    decode_atomic,
                            decode_matrix,  decode_wmma};
  const ptx::Function& body = module_.functions[function];
  Code& code = *codes_[function];
  code.ops.resize(body.instructions.size());
  for (std::size_t at = 0; at < body.instructions.size(); ++at) {
    const ptx::Instruction& instruction = body.instructions[at];
    Op& op = code.ops[at];
    op.guard = instruction.guard;
    op.guard_negated = instruction.guard_negated;
    op.line = instruction.line;
    op.source = static_cast<std::uint32_t>(at);
    Decoding decoding(*this, module_, body, instruction, op);
    const bool known = std::any_of(std::begin(all), std::end(all),
                                   [&](Decode decode_some) { return decode_some(decoding); });
    if (!known) decoding.refuse("this instruction is not known");
    decoding.finish();
  }
}

const Code* Program::entry(const std::string& name) const {
  const auto found = module_.function_names.find(name);
  if (found == module_.function_names.end()) return nullptr;
  const Code* const code = codes_[found->second].get();
  return code->is_entry && !code->ops.empty() ? code : nullptr;
}

std::vector<std::string> Program::entry_names() const {
  std::vector<std::string> names;
  for (const ptx::Function& function : module_.functions) {
    if (function.is_entry && function.has_body) names.push_back(function.name);
  }
  return names;
}

Program::Place Program::variable(const std::string& name) const {
  const auto found = module_.variable_names.find(name);
  if (found == module_.variable_names.end()) return {};
  return {places_[found->second], module_.variables[found->second].bytes};
}

}  // namespace k2k::emulator::exec
