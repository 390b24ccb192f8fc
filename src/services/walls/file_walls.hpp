#pragma once
// The Landlock ruleset of a policy's roots: a thread restricted by it opens, makes, renames and
// removes files below the roots only.
//
// Service threads may still read the files that K2K itself needs, for reading alone: state of its
// threads (/proc/self/task), facts of disks (/sys/devices), and profiles (router/profile). A second
// descriptor of a file outside the roots, which the router takes for direct transfers, is refused:
// such a file is read through the page cache.
//
// Threading: pure functions, which make system calls.

#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace k2k::services {

struct FileWall {
  Descriptor ruleset;
  // Kept open: Linux makes an entry of /proc anew once no descriptor holds it, and the rules would
  // not contain the new one.
  std::vector<Descriptor> places;
};

// Of Landlock's version `version`, at least 1. Version 1 also refuses to rename from one folder to
// another, and versions before 3 do not see truncate(2), which policies with roots refuse.
// Errors: those of landlock_create_ruleset(2) and landlock_add_rule(2).
Result<FileWall> file_wall(int version, const std::vector<int>& roots);

}  // namespace k2k::services
