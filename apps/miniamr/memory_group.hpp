#pragma once
// A memory cgroup (version 1 or 2) below that of this process, with a limit and without swap: Linux
// kills its processes beyond the limit, as the driver of the thesis' GPU did (section 3.8.1).
//
// Threading: one thread.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/result.hpp"

namespace k2k::miniamr {

class MemoryGroup {
 public:
  // Errors: as mkdir(2) and write(2), with the command that makes such a group.
  static Result<MemoryGroup> create(std::uint64_t limit_bytes);
  // Expects that no process is in it any more.
  ~MemoryGroup();
  MemoryGroup(MemoryGroup&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  MemoryGroup& operator=(MemoryGroup&&) = delete;
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  // Runs `body` in a child of fork() within the group; its result is the exit status of the child.
  // Expects that this process has one thread. Returns the status of waitpid(2). Errors: EAGAIN; 125
  // is the exit status of a child that could not enter the group.
  Result<int> run(const std::function<int()>& body) const;

 private:
  explicit MemoryGroup(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// The folder of this process's memory cgroup, of the text of /proc/self/cgroup; empty without one.
std::string folder_of_group(const std::string& cgroups);

}  // namespace k2k::miniamr
