#pragma once
// What the instructions on matrices (mma, ldmatrix, wmma) share: all lanes of a warp take part.
//
// Threading: a lane's thread.

#include <cstdint>

#include "emulator/cuda/exec/block.hpp"

namespace k2k::emulator::exec {

inline constexpr std::uint32_t whole_warp = 0xffffffff;

// False after a fault: lanes of the warp have exited.
bool is_whole_warp(Block& block, std::uint32_t first, std::uint32_t mask);

}  // namespace k2k::emulator::exec
