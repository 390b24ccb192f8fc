#pragma once
// The folder of the host limit, and checks that its contents can be trusted.
//
//   /run/k2k/          root's; no other user may write in it
//     limit            the administrator's limit (limit.hpp)
//     holders/         sticky, writable by all: one file for each serving runtime (holders.hpp)
//
// K2K_HOST_DIR names another folder, which may belong to the caller: for tests, for containers, or
// for a budget over one's own runtimes. It cannot evade the host limit: if the limit exists, the
// variable is ignored, as in set-uid programs.
//
// Threading: pure functions, except override_path(), which reads the environment.

#include <sys/types.h>

#include <string>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace k2k::host {

struct Place {
  std::string path = "/run/k2k";
  bool callers = false;  // It may belong to the effective user instead of root.
};

// K2K_HOST_DIR; "" if it is not set or cannot be trusted.
std::string override_path();

// `override_path` unless it is "" or `machine` has a limit.
Place place_of(const std::string& override_path, const Place& machine = {});

// Opens `name` in `folder` for reading, unless it is a link or a mount. Never waits, neither for a
// FIFO nor for another process' lease. Returns a closed descriptor, with errno set, on failure.
Descriptor open_within(const Descriptor& folder, const char* name, int flags = 0);

// The remedy for the error `code` of opening a file: `usual`, or more descriptors.
std::string mended_by(int code, std::string usual);

// Each error names path, value and remedy.
//   ENOENT  it is missing                ENOTDIR  it is not a folder, or a link
//   EPERM   it belongs to another user, or others may write in it
//   EMFILE, ENFILE  the folder is right: no descriptor is left
Result<Descriptor> open_place(const Place& place);
// The folder of the holders: as open_place(), but all may write in it if it is sticky.
Result<Descriptor> open_holders(const Place& place, const Descriptor& folder);

// Root, or the effective user if the folder may belong to the caller.
bool may_own(const Place& place, uid_t owner);

}  // namespace k2k::host
