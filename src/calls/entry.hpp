#pragma once
// One system call of Linux as data for the host: its class, whether it waits, which state it
// changes, and whether kernels may make it. Device code needs none of this (decision 0066):
// calls/rows.hpp describes the calls that have typed wrappers.
//
// C++17, freestanding, constant.

#include <cstdint>

#include "calls/rows.hpp"

namespace k2k::calls {

// The classes of the thesis, section 3.4, and calls that Linux itself does not serve any more.
enum class Class : std::uint8_t {
  ready,                  // A service thread can make the call for a work-item.
  needs_device_hardware,  // Acts on a thread, or through a signal: the kernel has no thread for a
                          // work-item (table 3.2).
  extensive_change,       // Copies, replaces, moves or ends the process that the device works for.
  obsolete,               // Linux removed the call, never had it, or has a better one.
};

// The widest state that a call can change.
enum class Changes : std::uint8_t {
  call,     // Nothing, or an object that its arguments name: a file, a socket, a buffer.
  thread,   // The calling thread: on the host a service thread.
  process,  // State of a whole process: descriptors, address space, children, limits.
};

// Whether kernels may make the call.
enum class Access : std::uint8_t {
  open,        // Under the policies `io` and `any`.
  privileged,  // Acts on the machine, or on another process: under `any` alone.
  refused,     // Under no policy.
};

struct Entry {
  std::uint16_t number;
  const char* name;  // As in Linux' header: __NR_name.
  Family family;
  Class kind;
  Blocking blocking;
  Changes changes;
  Access access = Access::open;
  // The reason why the call is refused, obsolete, or has another answer than for a thread of the
  // process; it completes a sentence that begins with the name. May be empty.
  const char* reason = "";
};

}  // namespace k2k::calls
