#pragma once
// The policies of a governor, by name: for settings, which need no governor.
//
// Threading: none; plain values.

#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace k2k::governor {

enum class Policy : std::uint8_t {
  none,       // Serve at once; nothing is limited.
  backoff,    // The rule of HISS, section VI, as published: the baseline.
  budget,     // Token bucket of CPU time, with debt. The default where a cap is set.
  displaced,  // The budget, charged only while all cores are busy; wake-ups have a budget too.
  automatic,  // The budget; the cap follows from the loss that CPU programs may have.
};
inline constexpr Policy all_policies[] = {Policy::none, Policy::backoff, Policy::budget,
                                          Policy::displaced, Policy::automatic};

// "none", "backoff", "budget", "displaced", "auto".
const char* name_of(Policy policy);
// Errors: EINVAL, naming what there is.
Result<Policy> policy_named(std::string_view name);

}  // namespace k2k::governor
