#pragma once
// The folder of the host limit, and checks that its contents can be trusted.
//
//   /run/k2k/          root's; nobody else may write here
//     limit            the administrator's word (limit.hpp)
//     holders/         sticky, writable by all: one file a runtime that serves (holders.hpp)
//
// K2K_HOST_DIR names another place, which may belong to the caller: for tests, for containers, or
// for a budget over one's own runtimes. It cannot evade the host limit: where that exists the
// variable is ignored, as it is in set-uid programs.
//
// Threading: pure functions, except override_path(), which reads the environment.

#include <sys/types.h>

#include <string>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace k2k::host {

struct Place {
  std::string path = "/run/k2k";
  bool callers = false;  // True: it may belong to the effective user instead of root.
};

// K2K_HOST_DIR; "" if it is not set or not to be trusted.
std::string override_path();

// `override_path` unless it is "" or `machine` has a limit.
Place place_of(const std::string& override_path, const Place& machine = {});

// Opens what stands at `name` in `folder` for reading, unless it is a link or a mount. Never waits:
// neither for a FIFO nor for somebody's lease. Not open, with errno set, on failure.
Descriptor open_within(const Descriptor& folder, const char* name, int flags = 0);

// The remedy for the error `code` of a call that opens something: `usual`, or more descriptors.
std::string mended_by(int code, std::string usual);

// Each error names path, value and fix.
//   ENOENT  there is none                ENOTDIR  it is no folder, or a link
//   EPERM   it belongs to somebody else, or others may write in it
//   EMFILE, ENFILE  nothing is wrong with it: no descriptor is left
Result<Descriptor> open_place(const Place& place);
// The folder of the holders: as open_place(), but all may write in it if it is sticky.
Result<Descriptor> open_holders(const Place& place, const Descriptor& folder);

// Root, or the effective user where the place may be the caller's.
bool may_own(const Place& place, uid_t owner);

}  // namespace k2k::host
