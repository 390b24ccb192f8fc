#pragma once
// Sockets. The rows of this family, by number.

#include "calls/entry.hpp"

namespace k2k::calls {

inline constexpr Entry network_entries[] = {
    {41, "socket", Family::network, Class::ready, Blocking::never, Changes::process},
    {42, "connect", Family::network, Class::ready, Blocking::waits, Changes::call},
    {43, "accept", Family::network, Class::ready, Blocking::waits, Changes::process},
    {44, "sendto", Family::network, Class::ready, Blocking::waits, Changes::call},
    {45, "recvfrom", Family::network, Class::ready, Blocking::waits, Changes::call},
    {46, "sendmsg", Family::network, Class::ready, Blocking::waits, Changes::call},
    {47, "recvmsg", Family::network, Class::ready, Blocking::waits, Changes::call},
    {48, "shutdown", Family::network, Class::ready, Blocking::never, Changes::call},
    {49, "bind", Family::network, Class::ready, Blocking::never, Changes::call},
    {50, "listen", Family::network, Class::ready, Blocking::never, Changes::call},
    {51, "getsockname", Family::network, Class::ready, Blocking::never, Changes::call},
    {52, "getpeername", Family::network, Class::ready, Blocking::never, Changes::call},
    {53, "socketpair", Family::network, Class::ready, Blocking::never, Changes::process},
    {54, "setsockopt", Family::network, Class::ready, Blocking::never, Changes::call},
    {55, "getsockopt", Family::network, Class::ready, Blocking::never, Changes::call},
    {170, "sethostname", Family::network, Class::ready, Blocking::never, Changes::process,
     Access::privileged},
    {171, "setdomainname", Family::network, Class::ready, Blocking::never, Changes::process,
     Access::privileged},
    {288, "accept4", Family::network, Class::ready, Blocking::waits, Changes::process},
    {299, "recvmmsg", Family::network, Class::ready, Blocking::waits, Changes::call},
    {307, "sendmmsg", Family::network, Class::ready, Blocking::waits, Changes::call},
};

}  // namespace k2k::calls
