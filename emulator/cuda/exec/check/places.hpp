#pragma once
// The places of instructions, as text for reports: a number each, which outlives the module.
//
// Threading: from any thread.

#include <cstdint>
#include <string>

#include "emulator/cuda/exec/lane.hpp"

namespace k2k::emulator::exec::check {

// Of an instruction that the lane executes now.
std::uint32_t place_of(const Lane& lane, const Op& op);
// Of a call of the driver.
std::uint32_t place_of_call(const std::string& name);
// Names the function, too, if it is another than `kernel`.
std::string text_of_place(std::uint32_t place, const std::string& kernel);

}  // namespace k2k::emulator::exec::check
