#pragma once
// The failures of k2k-display as messages, each with its remedy.
//
// Threading: pure functions.

#include "apps/display/display.hpp"

namespace k2k::display {

// Expects an outcome with a failure.
Error error_of(const Outcome& outcome, const Settings& settings);

}  // namespace k2k::display
