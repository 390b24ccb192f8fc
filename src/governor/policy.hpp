#pragma once
// The policies of a governor, by name: a separate file for settings, which need no governor.
//
// Threading: none; plain values.

#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace k2k::governor {

enum class Policy : std::uint8_t {
  none,       // Serve at once, without a limit.
  backoff,    // The rule of HISS, section VI, as published: the baseline.
  budget,     // Token bucket of CPU time, with debt. The default if a cap is set.
  displaced,  // The budget, charged only while all cores are busy; wake-ups have a budget too.
  automatic,  // The budget; the cap is chosen by the permitted loss of CPU programs.
};
inline constexpr Policy all_policies[] = {Policy::none, Policy::backoff, Policy::budget,
                                          Policy::displaced, Policy::automatic};

// "none", "backoff", "budget", "displaced", "auto".
const char* name_of(Policy policy);
// Errors: EINVAL, with the list of names.
Result<Policy> policy_named(std::string_view name);

}  // namespace k2k::governor
