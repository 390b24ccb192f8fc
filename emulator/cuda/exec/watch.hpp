#pragma once
// Watching lanes: which memory they access, and where they meet. A grid without a watch has no cost
// of it: its lanes run in a loop of their own (block.cpp).
//
//   GridWatch    of one launch; gives each block its
//   BlockWatch   which executes the accesses of the block's lanes, and hears of their barriers
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
  virtual void execute(Lane& lane, const Op& op) = 0;
  // The lane is about to read or write memory by an instruction that has no Access of it: a copy by
  // `op` that becomes complete, or a row of a matrix.
  virtual void touches(Lane& lane, const Op& op, std::uint64_t address, std::uint32_t bytes,
                       bool writes) = 0;
  // The lane arrives at a barrier of the block, and waits there or (bar.arrive) goes on.
  virtual void arrives(Lane& lane, std::uint32_t barrier) = 0;
  // The lanes that wait at the barrier are about to go on.
  virtual void opens(std::uint32_t barrier) = 0;
  // The lanes `mask` of the warp that begins with lane `first` met at a bar.warp.
  virtual void meets(std::uint32_t first, std::uint32_t mask) = 0;
  // The lane executed its last instruction.
  virtual void exits(Lane& lane) = 0;
  // All lanes that can run had a turn.
  virtual void turns() = 0;
};

class GridWatch {
 public:
  GridWatch() = default;
  GridWatch(const GridWatch&) = delete;
  GridWatch& operator=(const GridWatch&) = delete;
  virtual ~GridWatch() = default;

  virtual std::unique_ptr<BlockWatch> watch(Block& block) = 0;
  // All blocks have ended.
  virtual void end() = 0;
};

}  // namespace k2k::emulator::exec
