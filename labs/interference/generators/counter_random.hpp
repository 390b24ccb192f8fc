#pragma once
// The random numbers of the applications (apps/common/counter_random.hpp), by the names of the
// laboratories.
//
// C++17, for device code too. Threading: pure functions.

#include "apps/common/counter_random.hpp"

namespace k2k::labs::generators {

using apps::below;
using apps::draw;
using apps::unit;

}  // namespace k2k::labs::generators
