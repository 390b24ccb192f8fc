#pragma once
// The memory that an access of a lane reaches, without a fault: whoever watches leaves faults to
// the instruction itself.
//
// Threading: a lane's thread.

#include <cstdint>

#include "emulator/cuda/exec/block.hpp"

namespace k2k::emulator::exec::check {

struct Reached {
  // other: the lane's own memory, parameters, constants; or none at all, as of a fence.
  enum class Memory : std::uint8_t { other, shared, global };
  Memory memory = Memory::other;
  std::uint64_t address = 0;  // Of the host.
};

Reached reached(Lane& lane, const Op& op);

}  // namespace k2k::emulator::exec::check
