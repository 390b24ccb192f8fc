#pragma once
// Waiting for descriptors, and notification. The rows of this family's typed wrappers, by number.

#include "calls/row.hpp"

namespace k2k::calls::wrapped {

using namespace parts;

inline constexpr Row event_rows[] = {
    {"eventfd", 284, Family::event, Blocking::never, Role::producer, {value("unsigned", "value")}},
};

}  // namespace k2k::calls::wrapped
