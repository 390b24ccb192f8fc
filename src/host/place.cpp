#include "host/place.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace k2k::host {

namespace {

constexpr mode_t writable_by_others = S_IWGRP | S_IWOTH;
constexpr const char* how_to_make = "sudo k2k host limit PCT makes it, once nothing else is there";

std::string owners(const Place& place) {
  return place.callers ? fmt::format("root or user {}", ::geteuid()) : "root";
}

Status check_folder(const Place& place, const Descriptor& folder, const std::string& path,
                    bool sticky_will_do) {
  struct stat facts{};
  if (::fstat(folder.number(), &facts) != 0) {
    return Error{errno, fmt::format("host limit: {}: {}", path, std::strerror(errno))};
  }
  if (!may_own(place, facts.st_uid)) {
    return Error{EPERM, fmt::format("host limit: {} belongs to user {}, not to {}, so its content "
                                    "is not to be believed; remove it, then: sudo k2k host limit "
                                    "PCT",
                                    path, facts.st_uid, owners(place))};
  }
  const bool tame = sticky_will_do && (facts.st_mode & S_ISVTX) != 0;
  if ((facts.st_mode & writable_by_others) != 0 && !tame) {
    return Error{EPERM,
                 fmt::format("host limit: {} has mode {:04o}, so others could replace what "
                             "lies in it; sudo chmod {} {}",
                             path, facts.st_mode & 07777u, sticky_will_do ? "1777" : "0755", path)};
  }
  return {};
}

}  // namespace

std::string override_path() {
  const char* const path = ::secure_getenv("K2K_HOST_DIR");
  return path == nullptr ? "" : path;
}

Place place_of(const std::string& override_path, const Place& machine) {
  if (override_path.empty() || ::access((machine.path + "/limit").c_str(), F_OK) == 0) {
    return machine;
  }
  return {override_path, true};
}

Descriptor open_within(const Descriptor& folder, const char* name, int flags) {
  const int all = flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
  open_how how{};
  how.flags = static_cast<std::uint64_t>(all);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  const long opened = ::syscall(SYS_openat2, folder.number(), name, &how, sizeof(how));
  if (opened >= 0 || (errno != ENOSYS && errno != EPERM)) {
    return Descriptor(static_cast<int>(opened));
  }
  // A kernel before 5.6, or a container that forbids the call.
  return Descriptor(::openat(folder.number(), name, all));
}

std::string mended_by(int code, std::string usual) {
  if (code == EMFILE) return "raise the limit on open files of this process: ulimit -n";
  if (code == ENFILE) return "raise the limit on open files of this machine: sysctl fs.file-max";
  return usual;
}

Result<Descriptor> open_place(const Place& place) {
  Descriptor folder(
      ::open(place.path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!folder.open()) {
    const int code = errno == ELOOP ? ENOTDIR : errno;
    return Error{code, fmt::format("host limit: {}: {}; {}", place.path, std::strerror(code),
                                   mended_by(code, how_to_make))};
  }
  if (Status status = check_folder(place, folder, place.path, false); !status) {
    return status.error();
  }
  return folder;
}

Result<Descriptor> open_holders(const Place& place, const Descriptor& folder) {
  const std::string path = place.path + "/holders";
  Descriptor holders = open_within(folder, "holders", O_DIRECTORY);
  if (!holders.open()) {
    const int code = errno;
    return Error{code, fmt::format("host limit: {}: {}; {}", path, std::strerror(code),
                                   mended_by(code, how_to_make))};
  }
  if (Status status = check_folder(place, holders, path, true); !status) return status.error();
  return holders;
}

bool may_own(const Place& place, uid_t owner) {
  return owner == 0 || (place.callers && owner == ::geteuid());
}

}  // namespace k2k::host
