#include "emulator/cuda/exec/cluster.hpp"

#include <algorithm>

#include "emulator/cuda/exec/block.hpp"

namespace k2k::emulator::exec {

namespace {

bool has_arrived(const Lane& lane, std::uint32_t phase) {
  return lane.state == LaneState::exited ||
         (lane.cluster_arrival != nullptr && lane.cluster_phase == phase);
}

// `.aligned` asks that the lanes of a warp execute one instruction. False after a fault.
bool are_aligned(Block& block, const Op* Lane::* where) {
  const Op* common = nullptr;
  std::uint32_t common_rank = 0;
  for (Lane& lane : block.lanes) {
    if (lane.rank % warp_lanes == 0) common = nullptr;
    const Op* const op = lane.*where;
    const bool counts = lane.state != LaneState::exited && op != nullptr && (op->flags & 1) != 0;
    if (!counts) continue;
    if (common == nullptr) {
      common = op;
      common_rank = lane.rank;
    }
    if (op == common) continue;
    lane.fail(Fault::divergence,
              "lanes of one warp come to the barrier of the cluster at different places, thread " +
                  std::to_string(common_rank) + " of the block in line " +
                  std::to_string(common->line));
    return false;
  }
  return true;
}

}  // namespace

int Cluster::rank_of(std::uint64_t address) const {
  const auto found = std::find_if(members.begin(), members.end(), [&](const Member& member) {
    return member.shared.holds(address, 1);
  });
  return found == members.end() ? -1 : static_cast<int>(found - members.begin());
}

bool Cluster::settle() {
  if (!has_arrivals) return false;
  for (const Member& member : members) {
    if (member.block == nullptr) continue;
    const auto& lanes = member.block->lanes;
    if (!std::all_of(lanes.begin(), lanes.end(),
                     [&](const Lane& lane) { return has_arrived(lane, phase); })) {
      return false;
    }
  }
  ++phase;
  has_arrivals = false;
  bool moved = false;
  for (const Member& member : members) {
    if (member.block == nullptr) continue;
    Block& block = *member.block;
    if (!are_aligned(block, &Lane::cluster_arrival)) return true;
    block.is_stuck = false;
    if (block.watch != nullptr) block.watch->opens_cluster();
    for (Lane& lane : block.lanes) {
      if (lane.state != LaneState::cluster) continue;
      block.passes_cluster(lane, *lane.waits_at);
      moved = true;
    }
  }
  return moved;
}

bool Cluster::is_stuck() const {
  return std::all_of(members.begin(), members.end(), [](const Member& member) {
    return member.block == nullptr || member.block->done() || member.block->is_stuck;
  });
}

std::byte* cluster_memory(Lane& lane, std::uint32_t address, std::uint64_t bytes,
                          const char** why) {
  const Cluster& cluster = *lane.block->cluster;
  const std::uint32_t of = address >> cluster_rank_shift;
  const std::uint32_t offset = address & ((1u << cluster_rank_shift) - 1);
  const std::uint32_t rank = of == 0 ? lane.block->cluster_rank : of - 1;
  const char* reason = nullptr;
  if (rank >= cluster.members.size()) {
    reason = "no memory of the cluster";
  } else if (cluster.members[rank].block == nullptr) {
    reason =
        "shared memory of a block that has ended; let its lanes wait for the others at a "
        "barrier of the cluster before they end";
  } else if (offset > lane.block->grid->shared_bytes ||
             bytes > lane.block->grid->shared_bytes - offset) {
    reason = "beyond the end of a block's shared memory";
  }
  if (why != nullptr) *why = reason;
  if (reason != nullptr) return nullptr;
  return cluster.members[rank].block->shared_base + offset;
}

std::byte* cluster_memory_at(const Lane& lane, std::uint64_t address, std::uint64_t bytes) {
  for (const Cluster::Member& member : lane.block->cluster->members) {
    if (member.block != nullptr && member.shared.holds(address, bytes)) {
      return reinterpret_cast<std::byte*>(address);
    }
  }
  return nullptr;
}

std::uint32_t cluster_address(const Lane& lane, std::uint64_t address, int rank) {
  const auto of = static_cast<std::uint32_t>(rank);
  const auto offset =
      static_cast<std::uint32_t>(address - lane.block->cluster->members[of].shared.begin);
  return of == lane.block->cluster_rank ? offset : offset | (of + 1) << cluster_rank_shift;
}

}  // namespace k2k::emulator::exec
