#pragma once
// Clocks, timers and sleep. The rows of this family's typed wrappers, by number.

#include "calls/row.hpp"

namespace k2k::calls::wrapped {

using namespace parts;

inline constexpr Row time_rows[] = {
    {"nanosleep",
     35,
     Family::time,
     Blocking::waits,
     Role::consumer,
     {in_struct("request", 16), {Kind::out_struct, "void*", "remaining", 0, 16, "nullptr"}}},
    {"gettimeofday",
     96,
     Family::time,
     Blocking::never,
     Role::producer,
     {out_struct("time", 16), out_struct("zone", 8, "nullptr")}},
    {"times", 100, Family::time, Blocking::never, Role::producer, {out_struct("times", 32)}},
    {"time",
     201,
     Family::time,
     Blocking::never,
     Role::producer,
     {out_struct("time", 8, "nullptr")}},
    {"clock_gettime",
     228,
     Family::time,
     Blocking::never,
     Role::producer,
     {value("int", "clock"), out_struct("time", 16)}},
    {"clock_getres",
     229,
     Family::time,
     Blocking::never,
     Role::producer,
     {value("int", "clock"), out_struct("resolution", 16)}},
};

}  // namespace k2k::calls::wrapped
