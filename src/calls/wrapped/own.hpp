#pragma once
// K2K's own calls. The rows of this family's typed wrappers, by number.

#include "calls/row.hpp"

namespace k2k::calls::wrapped {

using namespace parts;

inline constexpr Row own_rows[] = {
    {"host_call",
     host_call_number,
     Family::own,
     Blocking::waits,
     Role::both,
     {value("std::uint64_t", "function"), value("std::uint64_t", "signature"),
      value("std::uint64_t", "first"), value("std::uint64_t", "second"),
      value("std::uint64_t", "third"), value("std::uint64_t", "shape")}},
    {"fault_in",
     fault_in_number,
     Family::own,
     Blocking::rarely,
     Role::both,
     {{Kind::address, "void*", "address", 0, 0},
      count,
      {Kind::value, "int", "for_writing", 0, 0, "1"}}},
    {"nop", nop_number, Family::own, Blocking::never, Role::both, {}},
};

}  // namespace k2k::calls::wrapped
