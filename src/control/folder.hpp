#pragma once
// The folder of one user's control sockets, and the check that it can be trusted.
//
//   $K2K_CONTROL_DIR           if set, and then no other: for tests and containers
//   $XDG_RUNTIME_DIR/k2k       if that folder belongs to the user
//   /run/user/UID/k2k          if that folder belongs to the user
//   /tmp/k2k-UID
//
// A folder must belong to the user, be closed to all others, and not be a link; otherwise K2K
// neither creates nor searches sockets in it. It is opened once and used by its descriptor, so the
// checked folder is the used one, and the length of its path does not matter.
//
// Threading: from anywhere; the environment is read.

#include <sys/types.h>

#include <functional>
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

// The folder of this process's sockets. Makes it if it is missing.
// Errors, with the path and the remedy:
//   EPERM    it belongs to another user, or others may use it
//   ENOTDIR  it is a link or not a folder            others as mkdir(2) and open(2)
Result<Folder> own_folder();

// The existing, trusted folders of `user`, best first.
std::vector<Folder> folders_of(uid_t user);

// Calls each(name) for the names in the folder until it answers false; for none if the folder
// cannot be read.
void each_name(const Folder& folder, const std::function<bool(const char* name)>& each);

// Users with possible sockets on this machine: the caller; for root, all.
std::vector<uid_t> visible_users();

}  // namespace k2k::control
