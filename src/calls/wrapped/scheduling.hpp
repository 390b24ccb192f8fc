#pragma once
// The cores, priorities and time slices of threads. The rows of this family's typed wrappers, by
// number.

#include "calls/row.hpp"

namespace k2k::calls::wrapped {

using namespace parts;

inline constexpr Row further_scheduling_rows[] = {
    {"sched_get_priority_max",
     146,
     Family::scheduling,
     Blocking::never,
     Role::producer,
     {value("int", "policy")}},
    {"sched_get_priority_min",
     147,
     Family::scheduling,
     Blocking::never,
     Role::producer,
     {value("int", "policy")}},
    {"membarrier",
     324,
     Family::scheduling,
     Blocking::rarely,
     Role::both,
     {value("int", "command"), value("unsigned", "flags", "0"), value("int", "processor", "0")}},
};

}  // namespace k2k::calls::wrapped
