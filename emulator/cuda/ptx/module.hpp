#pragma once
// A PTX module after reading: names are resolved, instructions are words and operands. No meaning
// of an instruction is known here; exec/ decodes them.
//
// Threading: constant once read.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "emulator/cuda/ptx/types.hpp"

namespace k2k::emulator::ptx {

// Of an initial value: the address of a variable or function, plus `addend`, at `offset`.
struct Relocation {
  std::uint64_t offset = 0;
  std::string symbol;
  std::int64_t addend = 0;
  std::uint32_t bytes = 8;
};

struct Variable {
  std::string name;
  Space space = Space::global;
  std::uint64_t align = 1;
  std::uint64_t bytes = 0;
  bool is_extern = false;          // `extern .shared x[]`: the dynamic shared memory.
  std::vector<std::byte> initial;  // Shorter than `bytes`: the rest is zero.
  std::vector<Relocation> relocations;
  std::uint32_t line = 0;
  std::uint64_t offset = 0;  // shared: from the start of the module's shared memory.
};

struct Operand {
  enum class Kind : std::uint8_t {
    none,
    reg,       // index: the register
    integer,   // value
    real,      // value: the bits of a double
    real32,    // value: the bits of a float
    variable,  // index: of Module::variables; value: addend
    function,  // index: of Module::functions
    frame,     // value: offset in the frame; index: 1 if of the .param space
    incoming,  // value: offset in the parameters that the function received
    special,   // index: of special_names()
    label,     // index: of Function::labels
    vector,    // elements
    pair,      // elements: two destinations, `p|q`
    list,      // elements: in parentheses, of a call
    sink,      // _
  };
  Kind kind = Kind::none;
  bool negated = false;
  bool address = false;  // In brackets.
  std::uint32_t index = 0;
  std::int64_t value = 0;   // See Kind.
  std::int64_t offset = 0;  // Of an address: what is added to the base.
  std::vector<Operand> elements;
};

struct Instruction {
  std::uint32_t line = 0;
  std::uint32_t begin = 0;  // Of its text in Module::text, for reports.
  std::uint32_t end = 0;
  std::int32_t guard = -1;  // A predicate register, or -1.
  bool guard_negated = false;
  std::string opcode;                  // "ld"
  std::vector<std::string> modifiers;  // "acquire", "sys", "u32"
  std::vector<Operand> operands;
};

struct Parameter {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t align = 1;
};

struct Label {
  std::string name;
  std::uint32_t target = 0;             // Index of an instruction.
  std::vector<std::uint32_t> branches;  // .branchtargets: other labels.
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool has_body = false;
  std::uint32_t line = 0;
  std::vector<Parameter> returns;  // Stand before the parameters in the memory of a call.
  std::vector<Parameter> parameters;
  std::uint64_t parameter_bytes = 0;  // Of both.
  // The registers 0 and 1 swallow what nobody wants. One of b128 has two places.
  std::vector<Type> registers;
  std::uint64_t frame_bytes = 0;           // Local variables, and the parameters of calls.
  std::uint32_t threads_max = 0;           // .maxntid, .reqntid; 0: not stated.
  std::array<std::uint32_t, 3> cluster{};  // .reqnctapercluster; {}: not stated.
  bool needs_cluster = false;              // .explicitcluster: a launch states it otherwise.
  std::uint32_t cluster_max = 0;           // .maxclusterrank; 0: not stated.
  std::vector<Label> labels;
  std::vector<Instruction> instructions;
};

struct Module {
  std::string text;
  std::uint32_t version = 0;  // 90: 9.0
  std::uint32_t target = 0;   // 90: sm_90
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::uint64_t shared_bytes = 0;  // Of all .shared variables with a size.
  std::map<std::string, std::uint32_t> variable_names;
  std::map<std::string, std::uint32_t> function_names;
};

// The special registers that are known, without the axis: "%tid.x" is tid, and its axis 0.
enum class Special : std::uint32_t {
  tid,
  ntid,
  ctaid,
  nctaid,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  clock,
  clock_hi,
  clock64,
  globaltimer,
  globaltimer_lo,
  globaltimer_hi,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_smem_size,
  total_smem_size,
  envreg1,  // The upper and lower half of the address of a cooperative launch's workspace.
  envreg2,
  clusterid,
  nclusterid,
  cluster_ctaid,
  cluster_nctaid,
  cluster_ctarank,
  cluster_nctarank,
  is_explicit_cluster,
  count,
};

}  // namespace k2k::emulator::ptx
