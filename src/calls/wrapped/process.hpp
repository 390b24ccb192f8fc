#pragma once
// Processes, identities, limits and signals. The rows of this family's typed wrappers, by number.

#include "calls/row.hpp"

namespace k2k::calls::wrapped {

using namespace parts;

inline constexpr Row process_rows[] = {
    {"getpid", 39, Family::process, Blocking::never, Role::producer, {}},
    {"getrlimit",
     97,
     Family::process,
     Blocking::never,
     Role::producer,
     {value("int", "resource"), out_struct("limit", 16)}},
    {"getrusage",
     98,
     Family::process,
     Blocking::never,
     Role::producer,
     {value("int", "who"), out_struct("usage", 144)}},
    {"getuid", 102, Family::process, Blocking::never, Role::producer, {}},
    {"getgid", 104, Family::process, Blocking::never, Role::producer, {}},
    {"geteuid", 107, Family::process, Blocking::never, Role::producer, {}},
    {"getegid", 108, Family::process, Blocking::never, Role::producer, {}},
    {"getppid", 110, Family::process, Blocking::never, Role::producer, {}},
    {"getpgrp", 111, Family::process, Blocking::never, Role::producer, {}},
    {"getresuid",
     118,
     Family::process,
     Blocking::never,
     Role::producer,
     {out_struct("real", 4), out_struct("effective", 4), out_struct("saved", 4)}},
    {"getresgid",
     120,
     Family::process,
     Blocking::never,
     Role::producer,
     {out_struct("real", 4), out_struct("effective", 4), out_struct("saved", 4)}},
    {"getpgid", 121, Family::process, Blocking::never, Role::producer, {value("int", "process")}},
    {"getsid", 124, Family::process, Blocking::never, Role::producer, {value("int", "process")}},
    {"rt_sigqueueinfo",
     129,
     Family::process,
     Blocking::never,
     Role::consumer,
     {value("int", "process"), value("int", "signal"), in_struct("info", 128)}},
};

}  // namespace k2k::calls::wrapped
