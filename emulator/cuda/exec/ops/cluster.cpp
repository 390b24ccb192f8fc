// Clusters (exec/cluster.hpp): barrier.cluster, mapa, getctarank; st.async in async.cpp.

#include "emulator/cuda/exec/block.hpp"
#include "emulator/cuda/exec/ops/access.hpp"
#include "emulator/cuda/exec/ops/decoding.hpp"

namespace k2k::emulator::exec {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

// flags of both: 1 aligned (as Cluster::settle() reads it); 2 releases, or acquires.
constexpr std::uint32_t orders = 2;

void arrive_at_cluster(Lane& lane, const Op& op) {
  Cluster& cluster = *lane.block->cluster;
  if (lane.cluster_arrival != nullptr) {
    lane.fail(Fault::divergence,
              "a lane that arrives at the barrier of the cluster again before it has waited, since "
              "line " +
                  std::to_string(lane.cluster_arrival->line));
    return;
  }
  lane.cluster_arrival = &op;
  lane.cluster_phase = cluster.phase;
  cluster.has_arrivals = true;
  if (lane.block->watch != nullptr) {
    lane.block->watch->arrives_at_cluster(lane, (op.flags & orders) != 0);
  }
}

void wait_for_cluster(Lane& lane, const Op& op) {
  if (lane.cluster_arrival == nullptr) {
    lane.fail(Fault::divergence,
              "a lane that waits at the barrier of the cluster before it has arrived");
    return;
  }
  lane.waits_at = &op;
  lane.state = LaneState::cluster;
  if (lane.cluster_phase != lane.block->cluster->phase) lane.block->passes_cluster(lane, op);
}

// flags: the space of the address. b: the rank.

// The rank of the block whose shared memory an address lies in; below 0 after a fault.
int rank_of_address(Lane& lane, const Op& op, std::uint64_t& generic) {
  generic = bits_of(lane, op.a);
  const auto space = static_cast<Space>(op.flags & 15);
  if (space == Space::cluster) {
    generic =
        reinterpret_cast<std::uint64_t>(in_cluster(lane, static_cast<std::uint32_t>(generic), 0));
    if (generic == 0) return -1;
  }
  const int rank = lane.block->cluster->rank_of(generic);
  if (rank < 0) {
    lane.fail(Fault::illegal_address,
              "an address " + hexadecimal(generic) + " that is no shared memory of the cluster");
  }
  return rank;
}

void map_address(Lane& lane, const Op& op) {
  std::uint64_t generic = 0;
  const int from = rank_of_address(lane, op, generic);
  if (from < 0) return;
  const auto& members = lane.block->cluster->members;
  const auto to = get<std::uint32_t>(lane, op.b);
  if (to >= members.size()) {
    lane.fail(Fault::illegal_address, "there is no block " + std::to_string(to) +
                                          " in a cluster of " + std::to_string(members.size()));
    return;
  }
  const std::uint64_t mapped =
      members[to].shared.begin + (generic - members[static_cast<std::size_t>(from)].shared.begin);
  const bool is_generic = static_cast<Space>(op.flags & 15) != Space::cluster;
  lane.regs[op.to] = is_generic ? mapped : cluster_address(lane, mapped, static_cast<int>(to));
}

void rank_of_block(Lane& lane, const Op& op) {
  std::uint64_t generic = 0;
  const int rank = rank_of_address(lane, op, generic);
  if (rank >= 0) put<std::uint32_t>(lane, op.to, static_cast<std::uint32_t>(rank));
}

// --- Decoding.

bool decode_cluster_barrier(Decoding& with) {
  const std::size_t what = with.take_one({"arrive", "wait"});
  const std::size_t order = with.take_one({"release", "acquire", "relaxed"});
  const bool aligned = with.take("aligned");
  with.need_count(0, 0);
  const bool is_arrival = what == 0;
  with.op.flags = (aligned ? 1u : 0u) | (order != 2 ? orders : 0u);
  with.op.run = is_arrival ? &arrive_at_cluster : &wait_for_cluster;
  // An arrival releases or is relaxed, a wait acquires.
  return what < 2 && (order == 3 || (is_arrival ? order != 1 : order == 1));
}

// The variable itself, or an address in a register.
bool decode_cluster_address(Decoding& with, bool maps) {
  const Space space = with.take("shared::cluster") ? Space::cluster : Space::generic;
  const Type type = with.take_type();
  with.need_count(maps ? 3 : 2, maps ? 3 : 2);
  const Operand& from = with.operand(1);
  if (from.kind == Operand::Kind::variable &&
      (space == Space::generic || with.module.variables[from.index].space != Space::shared)) {
    with.refuse("a variable that is not in .shared::cluster");
  }
  with.op.flags = static_cast<std::uint32_t>(space);
  with.op.to = with.destination(0);
  with.op.a = with.source(1, type);
  if (maps) with.op.b = with.source(2, Type::u32);
  with.op.run = maps ? &map_address : &rank_of_block;
  return type == Type::u64 || (type == Type::u32 && space == Space::cluster);
}

}  // namespace

bool decode_cluster(Decoding& with) {
  bool known = true;
  if (with.opcode() == "barrier" && with.take("cluster")) {
    known = decode_cluster_barrier(with);
  } else if (with.opcode() == "mapa" || with.opcode() == "getctarank") {
    known = decode_cluster_address(with, with.opcode() == "mapa");
  } else {
    return false;
  }
  if (!known) with.refuse("this form of the instruction is not known");
  return true;
}

}  // namespace k2k::emulator::exec
