#include "host/thread_state.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string_view>

#include "base/descriptor.hpp"

namespace k2k::host {

bool thread_waits(pid_t thread) {
  std::array<char, 48> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/stat", static_cast<int>(thread));
  const Descriptor file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return true;
  std::array<char, 128> text{};
  const ssize_t count = ::read(file.number(), text.data(), text.size());
  if (count <= 0) return true;
  // "NUMBER (NAME) STATE ...", and a name may contain parentheses.
  const std::string_view line(text.data(), static_cast<std::size_t>(count));
  const std::size_t end = line.rfind(')');
  return end == std::string_view::npos || end + 2 >= line.size() || line[end + 2] != 'R';
}

}  // namespace k2k::host
