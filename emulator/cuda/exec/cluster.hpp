#pragma once
// A cluster: blocks of a launch that run at the same time, address each other's shared memory and
// meet at a barrier of their own. A launch without clusters has clusters of one block.
//
// All blocks of a cluster are resident on one multiprocessor here, as many as they are: so its
// shared memory and its barrier belong to one thread, as those of a block do.
//
// An address of 32 bits in shared memory is an offset into the block's own; of another block of the
// cluster it has that block's rank, plus 1, in its upper 8 bits. Generic addresses are the host's.
//
// Threading: a cluster belongs to the thread of its multiprocessor.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emulator/cuda/exec/lane.hpp"
#include "emulator/cuda/exec/memory_map.hpp"

namespace k2k::emulator::exec {

inline constexpr std::uint32_t cluster_blocks_max = 8;  // Every device with clusters has them.
inline constexpr int cluster_rank_shift = 24;

struct Cluster {
  struct Member {
    Block* block = nullptr;  // nullptr: it has ended.
    Range shared;            // Addresses of its shared memory.
  };
  std::vector<Member> members;  // By rank.
  // Of the barrier: its phase, and whether a lane has arrived in it.
  std::uint32_t phase = 0;
  bool has_arrivals = false;
  // Shared memory of the blocks that have ended: stores that are held back may still go there.
  std::vector<std::vector<std::byte>> kept;

  // The rank of the block whose shared memory holds the address, or -1.
  [[nodiscard]] int rank_of(std::uint64_t address) const;
  // The barrier opens if every lane has arrived that has not exited. True if one went on.
  bool settle();
  // No block can go on unless another one does.
  [[nodiscard]] bool is_stuck() const;
};

// Host addresses of the cluster's shared memory, from 32 bits; nullptr if there is none. `why` gets
// the reason, in words that follow "which is".
std::byte* cluster_memory(Lane& lane, std::uint32_t address, std::uint64_t bytes,
                          const char** why = nullptr);
// The same from a generic address, which may lie in any block of the cluster.
std::byte* cluster_memory_at(const Lane& lane, std::uint64_t address, std::uint64_t bytes);
// The 32 bits for a generic address in the shared memory of the cluster's block `rank`.
std::uint32_t cluster_address(const Lane& lane, std::uint64_t address, int rank);

}  // namespace k2k::emulator::exec
