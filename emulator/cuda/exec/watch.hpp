#pragma once
// Watching lanes: which memory they access, and where they meet. A grid without a watch has no cost
// of it: its lanes run in a loop of their own (block.cpp).
//
//   GridWatch    of one launch; gives each block its
//   BlockWatch   which executes the accesses of the block's lanes, and hears of their barriers
//
// These classes themselves only execute; classes derived from them watch.
//
// Threading: a BlockWatch belongs to the thread of its multiprocessor; a GridWatch to any thread.

#include <cstdint>
#include <memory>

namespace k2k::emulator::exec {

struct Lane;
struct Block;
struct Op;

class BlockWatch {
 public:
  BlockWatch() = default;
  BlockWatch(const BlockWatch&) = delete;
  BlockWatch& operator=(const BlockWatch&) = delete;
  virtual ~BlockWatch() = default;

  // Executes `op`, which has an Access, for the lane.
  virtual void execute(Lane& lane, const Op& op);
  // The lane is about to read or write memory by an instruction that has no Access of it: a copy by
  // `op` that becomes complete, or a row of a matrix.
  virtual void touches(Lane&, const Op&, std::uint64_t /*address*/, std::uint32_t /*bytes*/,
                       bool /*writes*/) {}
  // The lane arrives at a barrier of the block, and waits there or (bar.arrive) goes on.
  virtual void arrives(Lane&, std::uint32_t /*barrier*/) {}
  // The lanes that wait at the barrier are about to go on.
  virtual void opens(std::uint32_t /*barrier*/) {}
  // The lanes `mask` of the warp that begins with lane `first` met at a bar.warp.
  virtual void meets(std::uint32_t /*first*/, std::uint32_t /*mask*/) {}
  // The lane arrives at the barrier of the cluster.
  virtual void arrives_at_cluster(Lane&, bool /*releases*/) {}
  // All lanes of the cluster have arrived; said to each of its blocks.
  virtual void opens_cluster() {}
  // The lane goes on behind that barrier.
  virtual void passes_cluster(Lane&, bool /*acquires*/) {}
  // The lane executed its last instruction.
  virtual void exits(Lane&) {}
  // All lanes that can run had a turn.
  virtual void turns() {}
};

class GridWatch {
 public:
  GridWatch() = default;
  GridWatch(const GridWatch&) = delete;
  GridWatch& operator=(const GridWatch&) = delete;
  virtual ~GridWatch() = default;

  virtual std::unique_ptr<BlockWatch> watch(Block&) { return std::make_unique<BlockWatch>(); }
  // All blocks have ended.
  virtual void end() {}
};

}  // namespace k2k::emulator::exec
