#pragma once
// The cores, priorities and time slices of threads. The rows of this family, by number.

#include "calls/entry.hpp"

namespace k2k::calls {

inline constexpr Entry scheduling_entries[] = {
    {24, "sched_yield", Family::scheduling, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::refused, "acts on the service thread"},
    {140, "getpriority", Family::scheduling, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::open, "PRIO_PROCESS with 0 answers for the service thread"},
    {141, "setpriority", Family::scheduling, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::refused, "acts on the service thread"},
    {142, "sched_setparam", Family::scheduling, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::refused, "acts on the service thread"},
    {143, "sched_getparam", Family::scheduling, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::open, "with 0, answers for the service thread"},
    {144, "sched_setscheduler", Family::scheduling, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::refused, "acts on the service thread"},
    {145, "sched_getscheduler", Family::scheduling, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::open, "with 0, answers for the service thread"},
    {146, "sched_get_priority_max", Family::scheduling, Class::ready, Blocking::never,
     Changes::call},
    {147, "sched_get_priority_min", Family::scheduling, Class::ready, Blocking::never,
     Changes::call},
    {148, "sched_rr_get_interval", Family::scheduling, Class::needs_device_hardware,
     Blocking::never, Changes::thread, Access::open, "with 0, answers for the service thread"},
    {203, "sched_setaffinity", Family::scheduling, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::refused, "acts on the service thread"},
    {204, "sched_getaffinity", Family::scheduling, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::open, "with 0, answers for the service thread"},
    {251, "ioprio_set", Family::scheduling, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::refused, "acts on the service thread"},
    {252, "ioprio_get", Family::scheduling, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::open, "with 0, answers for the service thread"},
    {309, "getcpu", Family::scheduling, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::open, "answers for the service thread"},
    {314, "sched_setattr", Family::scheduling, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::refused, "acts on the service thread"},
    {315, "sched_getattr", Family::scheduling, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::open, "with 0, answers for the service thread"},
    {324, "membarrier", Family::scheduling, Class::ready, Blocking::rarely, Changes::process},
    {471, "rseq_slice_yield", Family::scheduling, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::refused, "acts on the service thread"},
};

}  // namespace k2k::calls
