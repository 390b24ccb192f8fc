#pragma once
// Signals as requests (HISS, table I), with the patience of a work-item as an argument.
//
// Threading: as generator.hpp.

#include "labs/interference/generators/generator.hpp"

namespace k2k::labs::generators {

// A signal that finds as many pending as the user may have is tried so often.
inline constexpr std::uint32_t signal_tries = 20'000;
// Errors: those of DemandRegion.
Result<std::unique_ptr<Workload>> make_signals_with(Runtime& runtime, const Settings& settings,
                                                    std::uint32_t tries);

}  // namespace k2k::labs::generators
