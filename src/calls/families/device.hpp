#pragma once
// Device control. The rows of this family, by number.

#include "calls/entry.hpp"

namespace k2k::calls {

inline constexpr Entry device_entries[] = {
    {16, "ioctl", Family::device, Class::ready, Blocking::waits, Changes::call},
};

}  // namespace k2k::calls
