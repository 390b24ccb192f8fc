#pragma once
// Clocks, timers and sleep. The rows of this family, by number.

#include "calls/entry.hpp"

namespace k2k::calls {

inline constexpr Entry time_entries[] = {
    {35, "nanosleep", Family::time, Class::ready, Blocking::waits, Changes::call},
    {36, "getitimer", Family::time, Class::ready, Blocking::never, Changes::call},
    {37, "alarm", Family::time, Class::ready, Blocking::never, Changes::process, Access::refused,
     "ends the host process"},
    {38, "setitimer", Family::time, Class::ready, Blocking::never, Changes::process,
     Access::refused, "sends signals to the host process"},
    {96, "gettimeofday", Family::time, Class::ready, Blocking::never, Changes::call},
    {100, "times", Family::time, Class::ready, Blocking::never, Changes::call},
    {159, "adjtimex", Family::time, Class::ready, Blocking::never, Changes::process,
     Access::privileged},
    {164, "settimeofday", Family::time, Class::ready, Blocking::never, Changes::process,
     Access::privileged},
    {201, "time", Family::time, Class::ready, Blocking::never, Changes::call},
    {222, "timer_create", Family::time, Class::ready, Blocking::never, Changes::process,
     Access::refused, "sends signals to the host process"},
    {223, "timer_settime", Family::time, Class::ready, Blocking::never, Changes::process},
    {224, "timer_gettime", Family::time, Class::ready, Blocking::never, Changes::call},
    {225, "timer_getoverrun", Family::time, Class::ready, Blocking::never, Changes::call},
    {226, "timer_delete", Family::time, Class::ready, Blocking::never, Changes::process},
    {227, "clock_settime", Family::time, Class::ready, Blocking::never, Changes::process,
     Access::privileged},
    {228, "clock_gettime", Family::time, Class::ready, Blocking::never, Changes::call, Access::open,
     "CLOCK_THREAD_CPUTIME_ID is the service thread's"},
    {229, "clock_getres", Family::time, Class::ready, Blocking::never, Changes::call},
    {230, "clock_nanosleep", Family::time, Class::ready, Blocking::waits, Changes::call},
    {283, "timerfd_create", Family::time, Class::ready, Blocking::never, Changes::process},
    {286, "timerfd_settime", Family::time, Class::ready, Blocking::never, Changes::call},
    {287, "timerfd_gettime", Family::time, Class::ready, Blocking::never, Changes::call},
    {305, "clock_adjtime", Family::time, Class::ready, Blocking::never, Changes::process,
     Access::privileged},
};

}  // namespace k2k::calls
