#pragma once
// Sockets. The rows of this family's typed wrappers, by number.

#include "calls/row.hpp"

namespace k2k::calls::wrapped {

using namespace parts;

inline constexpr Row network_rows[] = {
    {"socket",
     41,
     Family::network,
     Blocking::never,
     Role::producer,
     {value("int", "domain"), value("int", "type"), value("int", "protocol")}},
    {"sendto",
     44,
     Family::network,
     Blocking::waits,
     Role::consumer,
     {fd,
      in("buffer", 2),
      count,
      value("int", "flags"),
      {Kind::in_sized, "const void*", "address", 5, 128},
      value("std::uint32_t", "address_length")}},
    {"recvfrom",
     45,
     Family::network,
     Blocking::waits,
     Role::producer,
     {fd,
      out("buffer", 2),
      count,
      value("int", "flags"),
      {Kind::out_sized, "void*", "address", 5, 128},
      {Kind::inout_struct, "void*", "address_length", 0, 4}}},
    {"shutdown", 48, Family::network, Blocking::never, Role::consumer, {fd, value("int", "how")}},
    {"listen", 50, Family::network, Blocking::never, Role::consumer, {fd, value("int", "backlog")}},
};

}  // namespace k2k::calls::wrapped
