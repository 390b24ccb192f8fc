#include "apps/miniamr/memory_group.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace k2k::miniamr {

namespace {

constexpr const char* groups_of_linux = "/sys/fs/cgroup";
constexpr int cannot_enter = 125;

// 0 or an errno.
int write_text(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path);
  file << text;
  file.close();
  return file ? 0 : errno == 0 ? EIO : errno;
}

Error cannot_limit(int code, std::uint64_t bytes) {
  return {code,
          fmt::format("--limit needs a memory cgroup ({}); run as root, or: systemd-run --user "
                      "--scope -p MemoryMax={} -p MemorySwapMax=0 k2k-miniamr",
                      std::strerror(code), bytes)};
}

}  // namespace

std::string folder_of_group(const std::string& cgroups) {
  std::istringstream lines(cgroups);
  std::string unified;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1) == "/" ? "" : line.substr(second + 1);
    if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      return std::string(groups_of_linux) + "/memory" + path;
    }
    if (controllers.empty()) unified = std::string(groups_of_linux) + path;
  }
  return unified;
}

Result<MemoryGroup> MemoryGroup::create(std::uint64_t limit_bytes) {
  std::ifstream file("/proc/self/cgroup");
  const std::string parent =
      folder_of_group({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
  if (parent.empty()) return cannot_limit(ENOTSUP, limit_bytes);
  const std::string path = fmt::format("{}/k2k-miniamr-{}", parent, ::getpid());
  if (::mkdir(path.c_str(), 0755) != 0) return cannot_limit(errno, limit_bytes);
  MemoryGroup group(path);
  const std::string limit = std::to_string(limit_bytes);
  const bool second = ::access((path + "/memory.max").c_str(), F_OK) == 0;
  const int failed = write_text(path + (second ? "/memory.max" : "/memory.limit_in_bytes"), limit);
  if (failed != 0) return cannot_limit(failed, limit_bytes);
  // Fails where Linux has no swap.
  write_text(path + (second ? "/memory.swap.max" : "/memory.memsw.limit_in_bytes"),
             second ? "0" : limit);
  return group;
}

MemoryGroup::~MemoryGroup() {
  // A process that has just ended may be counted for a moment.
  for (int tries = 0; !path_.empty() && tries < 1'000; ++tries) {
    if (::rmdir(path_.c_str()) == 0 || errno != EBUSY) return;
    ::usleep(1'000);
  }
}

Result<int> MemoryGroup::run(const std::function<int()>& body) const {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool inside = write_text(path_ + "/cgroup.procs", "0") == 0;
    std::exit(inside ? body() : cannot_enter);
  }
  if (child < 0) {
    return Error{errno, fmt::format("cannot start a process ({}); raise the limit of processes "
                                    "(ulimit -u)",
                                    std::strerror(errno))};
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace k2k::miniamr
