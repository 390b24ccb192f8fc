#pragma once
// Calls with paths, resolved below the roots of a policy: `..`, symbolic links and magic links do
// not lead out (openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS).
//
// A path is copied once, so that a kernel cannot exchange it between the check and the call. If
// openat2 cannot make a call itself, the call acts on the opened file or directory: stat by
// descriptor, unlink by name in its directory. Absolute paths, and relative ones to the working
// folder, begin with the text of a root; relative ones to a descriptor are resolved below it, and
// it must lie below a root.
//
// Threading: immutable; any thread. perform() may wait for a disk, or for the peer of a FIFO.

#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "services/request.hpp"

namespace k2k::services {

class RootedFiles {
 public:
  // Errors: EINVAL, and those of open(2): a root is not absolute, no folder, or has a proc file
  // system below it, whose files reach the memory of processes.
  static Result<RootedFiles> open(const std::vector<std::string>& roots);

  // Does the call reach files by a path or by a handle, or change the mounts of paths?
  static bool takes_path(std::uint16_t number);
  // Is it one of the calls that perform() makes?
  static bool confines(std::uint16_t number);

  // The descriptors of the roots, open as long as this object lives.
  [[nodiscard]] std::vector<int> folders() const;

  // The call's result, or a negative errno: -EACCES if a path leads out of the roots. `shown`
  // becomes the last path that was examined.
  std::int64_t perform(const Request& request, std::string& shown) const;

 private:
  struct Root {
    std::string name;  // Without a slash at its end.
    int folder;        // Of folders_.
  };
  // A path below a descriptor.
  struct Place {
    Descriptor held;
    int folder = -1;
    std::string rest;
  };
  using Word = std::uint64_t;

  [[nodiscard]] const Root* root_of(const std::string& path) const;
  // Each of these: 0 or more, or a negative errno.
  std::int64_t locate(Word folder, Word path, Place& place, std::string& shown) const;
  std::int64_t locate_parent(Word folder, Word path, Place& place, Descriptor& parent,
                             std::string& shown) const;
  std::int64_t open_file(Word folder, Word path, Word flags, Word mode, std::string& shown) const;
  std::int64_t open_to_look(Word folder, Word path, bool follows, Descriptor& file,
                            std::string& shown) const;

  std::vector<Descriptor> folders_;
  std::vector<Root> roots_;  // The longest name first.
};

}  // namespace k2k::services
