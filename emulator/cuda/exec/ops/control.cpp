// Branches, calls, the end of a lane, sleep; and the values of special registers.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string_view>

#include "emulator/cuda/exec/block.hpp"
#include "emulator/cuda/exec/ops/access.hpp"
#include "emulator/cuda/exec/ops/decoding.hpp"
#include "emulator/cuda/exec/ops/program.hpp"

namespace k2k::emulator::exec {

using ptx::Operand;
using ptx::Special;
using ptx::Type;

namespace {

void branch(Lane& lane, const Op& op) { lane.pc = static_cast<std::uint32_t>(op.immediate); }

void branch_by_index(Lane& lane, const Op& op) {
  const auto index = get<std::uint32_t>(lane, op.a);
  if (index >= op.tos.size()) {
    lane.fail(Fault::illegal_instruction, "brx has no target " + std::to_string(index));
    return;
  }
  lane.pc = op.tos[index];
}

// A parameter of a call lies in the frame of the caller, or is a value.
void copy_in(const Lane& lane, const Source& from, std::byte* to, std::uint64_t bytes) {
  const std::uint64_t bits = bits_of(lane, from);
  if (from.kind == Source::Kind::frame) {
    std::memcpy(to, reinterpret_cast<const void*>(bits), bytes);
  } else {
    std::memcpy(to, &bits, std::min<std::uint64_t>(bytes, sizeof bits));
  }
}

// op.more: the returns, then the arguments; flags: how many returns.
void enter_function(Lane& lane, const Op& op, const Code& callee) {
  // With room for the way back, so that a recursion without variables has an end, too.
  const std::uint64_t bytes = (callee.parameter_bytes + 15) / 16 * 16 + 16;
  if (bytes + callee.frame_bytes > static_cast<std::uint64_t>(lane.local_end - lane.local_top)) {
    lane.fail(Fault::stack_overflow, "the stack of " + std::to_string(lane.local_end - lane.local) +
                                         " bytes is too small for " + callee.name);
    return;
  }
  std::byte* const memory = lane.local_top;
  std::size_t at = op.flags;
  for (const ptx::Parameter& parameter : callee.function->parameters) {
    copy_in(lane, op.more[at++], memory + parameter.offset, parameter.bytes);
  }
  lane.local_top += bytes;
  lane.enter(callee, memory);
}

void call_direct(Lane& lane, const Op& op) { enter_function(lane, op, *op.callee); }

// immediate: the Program that knows which values are functions.
void call_indirect(Lane& lane, const Op& op) {
  const auto* const callee = reinterpret_cast<const Code*>(bits_of(lane, op.a));
  const auto& known = reinterpret_cast<const Program*>(op.immediate)->code_addresses();
  if (!std::binary_search(known.begin(), known.end(), callee) || callee->ops.empty() ||
      callee->is_entry) {
    lane.fail(Fault::illegal_instruction, "an indirect call to what is no function");
    return;
  }
  if (callee->function->returns.size() != op.flags ||
      callee->function->parameters.size() + op.flags != op.more.size()) {
    lane.fail(Fault::illegal_instruction,
              "an indirect call to " + callee->name + ", which has other parameters");
    return;
  }
  enter_function(lane, op, *callee);
}

void return_from(Lane& lane, const Op&) {
  const std::byte* const results = lane.parameters;
  const ptx::Function& callee = *lane.code->function;
  lane.leave();
  if (lane.state == LaneState::exited) return;
  const Op& call = lane.ops[lane.pc - 1];
  std::size_t at = 0;
  for (const ptx::Parameter& result : callee.returns) {
    const Source& to = call.more[at++];
    if (to.kind == Source::Kind::frame) {
      std::memcpy(reinterpret_cast<void*>(bits_of(lane, to)), results + result.offset,
                  result.bytes);
    } else {
      std::uint64_t bits = 0;
      std::memcpy(&bits, results + result.offset,
                  std::min<std::uint64_t>(result.bytes, sizeof bits));
      lane.regs[to.value] = bits;
    }
  }
}

void exit_lane(Lane& lane, const Op&) { lane.state = LaneState::exited; }
void trap_lane(Lane& lane, const Op&) { lane.fail(Fault::trap, "a trap"); }
void sleep_lane(Lane& lane, const Op& op) {
  lane.wake_ns = now_ns() + get<std::uint32_t>(lane, op.a);
  lane.state = LaneState::sleeping;
}

// --- Decoding.

bool decode_call(Decoding& with) {
  with.take("uni");
  with.need_count(1, 4);
  std::size_t at = 0;
  if (with.operand(0).kind == Operand::Kind::list) {
    add_sources(with, with.operand(at++), Type::b64);
    with.op.flags = static_cast<std::uint32_t>(with.op.more.size());
  }
  const Operand& target = with.operand(at++);
  if (at < with.count() && with.operand(at).kind == Operand::Kind::list) {
    add_sources(with, with.operand(at++), Type::b64);
  }
  if (target.kind == Operand::Kind::reg) {
    with.op.a = with.source_of(target, Type::u64);
    with.op.immediate = reinterpret_cast<std::uint64_t>(&with.program);
    with.op.run = &call_indirect;
    return at + 1 == with.count();  // The prototype, whose place a label's operand has.
  }
  if (target.kind != Operand::Kind::function || at != with.count()) return false;
  const ptx::Function& callee = with.module.functions[target.index];
  if (callee.returns.size() != with.op.flags ||
      callee.parameters.size() + with.op.flags != with.op.more.size()) {
    with.refuse("the function has other parameters");
  }
  if (!callee.has_body) {
    with.op.run = host_function(callee.name);
    if (with.op.run == nullptr) with.refuse("the function '" + callee.name + "' has no body");
    return true;
  }
  with.op.callee = with.program.code_of(target.index);
  with.op.run = &call_direct;
  return true;
}

bool decode_indexed_branch(Decoding& with) {
  with.take("uni");
  if (!with.take("idx")) return false;
  with.need_count(2, 2);
  with.op.a = with.source(0, Type::u32);
  const Operand& list = with.operand(1);
  if (list.kind != Operand::Kind::label) return false;
  for (const std::uint32_t label : with.function.labels[list.index].branches) {
    with.op.tos.push_back(with.function.labels[label].target);
  }
  with.op.run = &branch_by_index;
  return !with.op.tos.empty();
}

}  // namespace

bool decode_control(Decoding& with) {
  const std::string& name = with.opcode();
  bool known = true;
  if (name == "bra") {
    with.take("uni");
    with.need_count(1, 1);
    with.op.immediate = with.label_target(0);
    with.op.run = &branch;
  } else if (name == "brx") {
    known = decode_indexed_branch(with);
  } else if (name == "call") {
    known = decode_call(with);
  } else if (name == "ret") {
    with.take("uni");
    with.need_count(0, 0);
    with.op.run = &return_from;
  } else if (name == "exit") {
    with.need_count(0, 0);
    with.op.run = &exit_lane;
  } else if (name == "trap" || name == "brkpt") {
    with.need_count(0, 0);
    with.op.run = &trap_lane;
  } else if (name == "nanosleep") {
    known = with.take_type() == Type::u32;
    with.need_count(1, 1);
    with.op.a = with.source(0, Type::u32);
    with.op.run = &sleep_lane;
  } else {
    return false;
  }
  if (!known) with.refuse("this form of the instruction is not known");
  return true;
}

std::uint64_t special_value(const Lane& lane, const Source& source) {
  const Block& block = *lane.block;
  const Grid& grid = *block.grid;
  const std::uint64_t axis = source.value % 4;
  const std::uint32_t own = lane.in_warp;
  switch (static_cast<Special>(source.value / 4)) {
    case Special::tid:
      return lane.thread[axis];
    case Special::ntid:
      return grid.threads[axis];
    case Special::ctaid:
      return block.at[axis];
    case Special::nctaid:
      return grid.blocks[axis];
    case Special::laneid:
      return own;
    case Special::warpid:
      return block.warp_base + lane.rank / warp_lanes;
    case Special::nwarpid:
      return 64;
    case Special::smid:
      return block.unit;
    case Special::nsmid:
      return grid.units;
    case Special::gridid:
      return grid.number;
    case Special::clock:
      return static_cast<std::uint32_t>(now_ns());
    case Special::clock_hi:
      return now_ns() >> 32;
    case Special::clock64:
      return now_ns();
    case Special::globaltimer:
    case Special::globaltimer_lo:
    case Special::globaltimer_hi: {
      const auto now =
          static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                         std::chrono::system_clock::now().time_since_epoch())
                                         .count());
      const auto which = static_cast<Special>(source.value / 4);
      return which == Special::globaltimer      ? now
             : which == Special::globaltimer_lo ? static_cast<std::uint32_t>(now)
                                                : now >> 32;
    }
    case Special::lanemask_eq:
      return 1u << own;
    case Special::lanemask_le:
      return (2ull << own) - 1;
    case Special::lanemask_lt:
      return (1ull << own) - 1;
    case Special::lanemask_ge:
      return 0xffffffffu & ~((1ull << own) - 1);
    case Special::lanemask_gt:
      return 0xffffffffu & ~((2ull << own) - 1);
    case Special::dynamic_smem_size:
      return grid.dynamic_shared_bytes;
    case Special::total_smem_size:
      return grid.shared_bytes;
    case Special::envreg1:
      return grid.workspace_address() >> 32;
    case Special::envreg2:
      return static_cast<std::uint32_t>(grid.workspace_address());
    case Special::clusterid:
      return block.at[axis] / grid.cluster[axis];
    case Special::nclusterid:
      return grid.blocks[axis] / grid.cluster[axis];
    case Special::cluster_ctaid:
      return block.at[axis] % grid.cluster[axis];
    case Special::cluster_nctaid:
      return grid.cluster[axis];
    case Special::cluster_ctarank:
      return block.cluster_rank;
    case Special::cluster_nctarank:
      return grid.cluster_size();
    case Special::is_explicit_cluster:
      return grid.has_clusters ? 1 : 0;
    case Special::count:
      break;
  }
  return 0;
}

}  // namespace k2k::emulator::exec
