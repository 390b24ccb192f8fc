#include "host/thread_state.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string_view>

#include "base/descriptor.hpp"
#include "host/proc_file.hpp"

namespace k2k::host {

// Without ProcFile, whose path takes memory: the watcher must not fail for lack of it.
bool thread_waits(pid_t thread) {
  std::array<char, 48> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/stat", static_cast<int>(thread));
  const Descriptor file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return true;
  std::array<char, 128> text{};
  const ssize_t count = ::read(file.number(), text.data(), text.size());
  if (count <= 0) return true;
  return !fields_behind_name({text.data(), static_cast<std::size_t>(count)}).starts_with(" R");
}

}  // namespace k2k::host
