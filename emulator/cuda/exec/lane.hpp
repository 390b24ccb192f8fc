#pragma once
// One lane, and the instructions it executes.
//
//   Op      a decoded instruction: a handler and its sources
//   Code    the Ops of a function
//   Lane    registers, frames, program counter: of its own, for lanes are independent
//
// A handler finds `lane.pc` behind its own instruction. What it cannot do it reports by
// Lane::fail(): the launch then ends with that fault.
//
// Threading: a lane belongs to the thread of its multiprocessor; Ops and Codes are constant.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "emulator/cuda/exec/memory_map.hpp"
#include "emulator/cuda/ptx/module.hpp"

namespace k2k::emulator::exec {

struct Lane;
struct Block;
struct Op;
struct Code;

using Handler = void (*)(Lane&, const Op&);
// What lanes that met do together: called once, for the lanes `mask` of the warp that begins with
// the block's lane `first`.
using Meet = void (*)(Block& block, std::uint32_t first, std::uint32_t mask);

struct Source {
  enum class Kind : std::uint8_t { reg, constant, frame, frame_local, incoming, special };
  Kind kind = Kind::constant;
  std::uint64_t value = 0;  // A register's index, a constant's bits, an offset, a special register.
};

enum class Scope : std::uint8_t { block, cluster, device, system };

// What an instruction does to memory, for a BlockWatch (exec/watch.hpp).
struct Access {
  // compare: a modify that may only read. initialise: a store that its handler makes. wait: a load
  // whose acquire counts if the predicate it gives is true.
  enum class Kind : std::uint8_t {
    none,
    load,
    store,
    modify,
    compare,
    initialise,
    wait,
    fence,
    warp_barrier
  };
  Kind kind = Kind::none;
  bool strong = false;  // Atomic: relaxed or more. Else weak.
  bool acquires = false;
  bool releases = false;
  bool is_mbarrier = false;  // Atomic towards other accesses of mbarriers, whatever their scopes.
  Scope scope = Scope::system;
  ptx::Space space = ptx::Space::generic;
  std::uint8_t bytes = 0;  // Of an element.
  std::uint8_t elements = 1;
  Handler first = nullptr;  // What the instruction does before it, by accesses of other kinds.
};

struct Op {
  Handler run = nullptr;
  Source a, b, c, d;
  std::uint32_t to = 0;  // Destination registers; 0 swallows.
  std::uint32_t to2 = 0;
  std::int32_t guard = -1;
  bool guard_negated = false;
  bool negated = false;     // A negated predicate among the sources.
  std::uint32_t flags = 0;  // Of the handler.
  std::uint64_t immediate = 0;
  Meet meet = nullptr;
  std::uint32_t meeting = 0;  // Lanes that meet here meet those with an equal number.
  std::uint32_t line = 0;
  std::uint32_t source = 0;        // Index of the ptx::Instruction, for reports.
  std::vector<Source> more;        // Elements of vectors, arguments of calls.
  std::vector<std::uint32_t> tos;  // Destinations of vectors; targets of brx.
  const Code* callee = nullptr;
  Access access;
  mutable std::uint32_t place = 0;  // For reports: exec/check/places.hpp. Atomic accesses only.
};

struct Code {
  std::string name;
  std::string module;
  const ptx::Module* ptx = nullptr;
  const ptx::Function* function = nullptr;
  std::vector<Op> ops;
  std::uint32_t register_count = 1;
  std::uint64_t frame_bytes = 0;
  std::uint64_t parameter_bytes = 0;
  bool is_entry = false;
};

enum class Fault : std::uint8_t {
  none,
  illegal_address,
  misaligned_address,
  illegal_instruction,
  trap,
  assertion,
  stack_overflow,
  divergence,  // Barriers, shuffles or votes that lanes cannot complete.
  timeout,
};

enum class LaneState : std::uint8_t { running, sleeping, meeting, barrier, cluster, exited };

struct Frame {
  const Code* code = nullptr;
  std::uint32_t pc = 0;
  std::uint32_t registers = 0;  // Where the frame's registers begin.
  std::byte* parameters = nullptr;
  std::byte* memory = nullptr;
};

// A cp.async that is not complete.
struct AsyncCopy {
  const Op* op = nullptr;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint32_t bytes = 0;
  std::uint32_t from_bytes = 0;  // The rest becomes zero.
  std::uint64_t group = 0;
};

inline constexpr std::size_t host_pages_kept = 8;

struct Lane {
  std::uint64_t* regs = nullptr;  // Of the frame on top.
  const Op* ops = nullptr;
  std::uint32_t pc = 0;
  LaneState state = LaneState::running;
  bool carry = false;
  std::uint8_t in_warp = 0;
  Range near;  // The range that was last found.
  // Pages of the host that Linux has brought in since the lane's turn began: the page's address,
  // and 1 if it may be written. By the page's number.
  std::uint64_t host_pages[host_pages_kept] = {};
  std::byte* parameters = nullptr;
  std::byte* frame = nullptr;  // Local variables of the frame on top.
  const Code* code = nullptr;
  Block* block = nullptr;
  std::uint32_t thread[3] = {0, 0, 0};
  std::uint32_t rank = 0;
  std::byte* local = nullptr;  // Its local memory.
  std::byte* local_end = nullptr;
  std::byte* local_top = nullptr;
  std::vector<std::uint64_t> registers;
  std::uint32_t registers_used = 0;
  std::vector<Frame> frames;
  std::uint64_t wake_ns = 0;     // sleeping: until then.
  const Op* waits_at = nullptr;  // meeting, barrier, cluster.
  std::uint32_t waits_mask = 0;  // meeting: the lanes that have to come.
  std::uint32_t waits_barrier = 0;
  std::uint32_t waits_count = 0;
  const Op* cluster_arrival = nullptr;  // At the barrier of the cluster, if it has not waited yet.
  std::uint32_t cluster_phase = 0;      // Of that arrival.
  std::vector<AsyncCopy> copies;        // In their order.
  std::uint64_t copy_group = 0;         // Of the next copy.

  // Addresses of its local memory.
  [[nodiscard]] Range local_range() const {
    return {reinterpret_cast<std::uint64_t>(local), reinterpret_cast<std::uint64_t>(local_end)};
  }
  // Ends the launch. The sentence goes into the report.
  void fail(Fault fault, const std::string& sentence);
  // Enters a function; the caller has filled `parameter_memory` (on the lane's own stack).
  bool enter(const Code& callee, std::byte* parameter_memory);
  // Leaves the function on top; the last one ends the lane.
  void leave();
};

inline constexpr std::uint64_t local_begin = 16;  // The address 0 of local memory stays unused.

// --- Values.

std::uint64_t special_value(const Lane& lane, const Source& source);

inline std::uint64_t bits_of(const Lane& lane, const Source& source) {
  switch (source.kind) {
    case Source::Kind::reg:
      return lane.regs[source.value];
    case Source::Kind::constant:
      return source.value;
    case Source::Kind::frame:
      return reinterpret_cast<std::uint64_t>(lane.frame) + source.value;
    case Source::Kind::frame_local:
      return static_cast<std::uint64_t>(lane.frame - lane.local) + source.value;
    case Source::Kind::incoming:
      return reinterpret_cast<std::uint64_t>(lane.parameters) + source.value;
    case Source::Kind::special:
      return special_value(lane, source);
  }
  return 0;
}

template <class T>
T get(const Lane& lane, const Source& source) {
  const std::uint64_t bits = bits_of(lane, source);
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(bits);
  } else if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  } else {
    return static_cast<T>(bits);
  }
}

template <class T>
std::uint64_t to_bits(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<std::uint32_t>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<std::uint64_t>(value);
  } else {
    return static_cast<std::uint64_t>(value);  // Signed values keep their sign in wide registers.
  }
}

template <class T>
void put(Lane& lane, std::uint32_t to, T value) {
  lane.regs[to] = to_bits(value);
}

inline bool get_pred(const Lane& lane, const Source& source) {
  return (bits_of(lane, source) & 1) != 0;
}

}  // namespace k2k::emulator::exec
