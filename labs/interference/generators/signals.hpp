#pragma once
// Signals as requests (HISS, table I), with the number of attempts as an argument.
//
// Threading: as generator.hpp.

#include "labs/interference/generators/generator.hpp"

namespace k2k::labs::generators {

// The number of attempts to send a signal while the user's limit of pending signals is reached.
inline constexpr std::uint32_t signal_tries = 20'000;
// Errors: as DemandRegion.
Result<std::unique_ptr<Workload>> make_signals_with(Runtime& runtime, const Settings& settings,
                                                    std::uint32_t tries);

}  // namespace k2k::labs::generators
