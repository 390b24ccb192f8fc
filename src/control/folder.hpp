#pragma once
// Where the control sockets of one user lie, and whether what lies there may be believed.
//
//   $K2K_CONTROL_DIR           if set, and nowhere else: for tests and containers
//   $XDG_RUNTIME_DIR/k2k       if that folder is the user's
//   /run/user/UID/k2k          likewise
//   /tmp/k2k-UID
//
// A folder is the user's own, closed to all others, and no link; else nothing is put there and
// nothing found there. It is opened once and used by its descriptor, so what was checked is what is
// used, and the length of a path does not matter.
//
// Threading: from anywhere; the environment is read.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace k2k::control {

struct Folder {
  std::string path;
  uid_t owner = 0;
  Descriptor descriptor;
};

// Where this process's sockets go. Makes it if it is missing.
// Errors, with the path and what mends it:
//   EPERM    it belongs to somebody else, or others may use it
//   ENOTDIR  it is a link or no folder            those of mkdir(2) and open(2)
Result<Folder> own_folder();

// Those of `user` that are there and fit, best first.
std::vector<Folder> folders_of(uid_t user);

// Users who may have sockets here: the caller; for root, all.
std::vector<uid_t> visible_users();

}  // namespace k2k::control
