#pragma once
// The machine and its kernel. The rows of this family's typed wrappers, by number.

#include "calls/row.hpp"

namespace k2k::calls::wrapped {

using namespace parts;

inline constexpr Row system_rows[] = {
    {"uname", 63, Family::system, Blocking::never, Role::producer, {out_struct("name", 390)}},
    {"sysinfo",
     99,
     Family::system,
     Blocking::never,
     Role::producer,
     {out_struct("information", 112)}},
};

}  // namespace k2k::calls::wrapped
