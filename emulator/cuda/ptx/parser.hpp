#pragma once
// Reads PTX text into a Module. Refuses what it does not understand, with line and words.
//
// Threading: from any thread.

#include <cstdint>
#include <string>

#include "emulator/cuda/ptx/module.hpp"

namespace k2k::emulator::ptx {

inline constexpr std::uint32_t version_max = 90;  // PTX ISA 9.0: CUDA 13.0.
inline constexpr std::uint32_t target_max = 90;   // sm_90

// Throws Refusal.
Module parse(std::string text);

}  // namespace k2k::emulator::ptx
