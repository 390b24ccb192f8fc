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

// Not basic (calls/rows.hpp).
inline constexpr Row further_system_rows[] = {
    {"syslog",
     103,
     Family::system,
     Blocking::waits,
     Role::producer,
     {value("int", "type"), out("buffer", 2), length("count")}},
    {"add_key",
     248,
     Family::system,
     Blocking::rarely,
     Role::both,
     {text("type", 32), path_of("description"), in("content", 3), count, value("int", "ring")}},
    {"getrandom",
     318,
     Family::system,
     Blocking::waits,
     Role::producer,
     {out("buffer", 1), count, value("unsigned", "flags", "0")}},
};

}  // namespace k2k::calls::wrapped
