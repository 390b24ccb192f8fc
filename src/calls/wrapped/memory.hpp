#pragma once
// The address space. The rows of this family's typed wrappers, by number.

#include "calls/row.hpp"

namespace k2k::calls::wrapped {

using namespace parts;

inline constexpr Row memory_rows[] = {
    {"mmap",
     9,
     Family::memory,
     Blocking::rarely,
     Role::producer,
     {address,
      {Kind::value, "std::size_t", "length", 0, 0},
      value("int", "protection"),
      value("int", "flags"),
      fd,
      offset}},
    {"mprotect",
     10,
     Family::memory,
     Blocking::never,
     Role::consumer,
     {address, value("std::size_t", "length"), value("int", "protection")}},
    {"munmap",
     11,
     Family::memory,
     Blocking::rarely,
     Role::consumer,
     {address, {Kind::value, "std::size_t", "length", 0, 0}}},
    {"msync",
     26,
     Family::memory,
     Blocking::rarely,
     Role::consumer,
     {address, value("std::size_t", "length"), value("int", "flags")}},
    {"madvise",
     28,
     Family::memory,
     Blocking::rarely,
     Role::consumer,
     {address, {Kind::value, "std::size_t", "length", 0, 0}, value("int", "advice")}},
};

}  // namespace k2k::calls::wrapped
