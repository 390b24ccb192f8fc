#pragma once
// Device control. The rows of this family's typed wrappers, by number.

#include "calls/row.hpp"

namespace k2k::calls::wrapped {

using namespace parts;

inline constexpr Row device_rows[] = {
    {"ioctl",
     16,
     Family::device,
     Blocking::waits,
     Role::both,
     {fd, value("unsigned long", "request"), by_command("argument")}},
};

}  // namespace k2k::calls::wrapped
