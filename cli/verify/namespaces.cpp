#include "cli/verify/namespaces.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>

namespace k2k::cli::verify {

namespace {

struct Space {
  const char* name;
  int flag;
  std::initializer_list<std::uint16_t> calls;
};
// Sockets of the cases have names in the file system, or none: no case needs a network of its own.
const Space spaces[] = {
    {"network", CLONE_NEWNET, {}},
    {"ipc", CLONE_NEWIPC, {SYS_msgget, SYS_semget, SYS_shmget, SYS_mq_open, SYS_mq_unlink}},
    {"uts", CLONE_NEWUTS, {SYS_sethostname, SYS_setdomainname}},
};

void write_text(const char* path, const std::string& text) {
  const int descriptor = ::open(path, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  static_cast<void>(::write(descriptor, text.data(), text.size()));
  ::close(descriptor);
}

// 0, or the errno of the first try.
int take(int flags) {
  if (::unshare(flags) == 0) return 0;
  const int error = errno;
  const std::string user = fmt::format("{0} {0} 1", ::geteuid());
  const std::string group = fmt::format("{0} {0} 1", ::getegid());
  if (::unshare(flags | CLONE_NEWUSER) != 0) return error;
  write_text("/proc/self/setgroups", "deny");
  write_text("/proc/self/uid_map", user);
  write_text("/proc/self/gid_map", group);
  return 0;
}

}  // namespace

std::vector<MissingNamespace> take_namespaces() {
  int all = 0;
  for (const Space& space : spaces) all |= space.flag;
  if (take(all) == 0) return {};
  std::vector<MissingNamespace> missing;
  for (const Space& space : spaces) {
    if (const int error = take(space.flag); error != 0)
      missing.push_back({space.name, error, space.calls});
  }
  return missing;
}

std::string reason_of(const MissingNamespace& missing) {
  return fmt::format(
      "no {} namespace ({}); run as root, or allow user namespaces (sysctl "
      "user.max_user_namespaces) and unshare in the container's profile",
      missing.name, std::strerror(missing.error));
}

}  // namespace k2k::cli::verify
