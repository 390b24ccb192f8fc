#include "control/folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

namespace k2k::control {

namespace {

constexpr mode_t open_to_others = S_IRWXG | S_IRWXO;
constexpr std::size_t users_max = 1024;
constexpr std::string_view shared_prefix = "k2k-";
constexpr const char* user_folders = "/run/user";
constexpr const char* shared_folder = "/tmp";

std::string variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value == nullptr ? "" : value;
}

bool is_folder_of(const std::string& path, uid_t user) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == user;
}

// Best first. A runtime folder counts only if it belongs to the user: under sudo the variable may
// name another user's folder.
std::vector<std::string> candidates(uid_t user) {
  if (std::string path = variable("K2K_CONTROL_DIR"); !path.empty()) return {path};
  std::vector<std::string> paths;
  const std::string named = variable("XDG_RUNTIME_DIR");
  if (named.starts_with('/') && is_folder_of(named, user)) paths.push_back(named + "/k2k");
  const std::string usual = fmt::format("{}/{}", user_folders, user);
  if (usual != named && is_folder_of(usual, user)) paths.push_back(usual + "/k2k");
  paths.push_back(fmt::format("{}/{}{}", shared_folder, shared_prefix, user));
  return paths;
}

Result<Folder> open_folder(const std::string& path, uid_t user) {
  Folder folder{path, user,
                Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))};
  if (!folder.descriptor.open()) {
    const int code = errno == ELOOP ? ENOTDIR : errno;
    const char* const fix = code == ENOTDIR ? "; remove what is there, a folder is wanted" : "";
    return Error{code, fmt::format("control: {}: {}{}", path, std::strerror(code), fix)};
  }
  struct stat facts{};
  if (::fstat(folder.descriptor.number(), &facts) != 0) {
    return Error{errno, fmt::format("control: {}: {}", path, std::strerror(errno))};
  }
  if (facts.st_uid != user) {
    return Error{EPERM,
                 fmt::format("control: {} belongs to user {}, not to {}, so nothing in it is "
                             "to be believed; have it removed, or name a folder of your own "
                             "in XDG_RUNTIME_DIR",
                             path, facts.st_uid, user)};
  }
  if ((facts.st_mode & open_to_others) != 0) {
    return Error{EPERM, fmt::format("control: {} has mode {:04o}, so it is open to others; chmod "
                                    "0700 {}",
                                    path, facts.st_mode & 07777u, path)};
  }
  return folder;
}

// `path`: relative to the folder `base`.
void each_name_at(int base, const char* path, const std::function<bool(const char* name)>& each) {
  const int copy = ::openat(base, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> list(copy < 0 ? nullptr : ::fdopendir(copy),
                                                 &::closedir);
  if (list == nullptr) {
    if (copy >= 0) ::close(copy);
    return;
  }
  while (const dirent* const entry = ::readdir(list.get())) {
    if (!each(entry->d_name)) return;
  }
}

void add_user(std::vector<uid_t>& users, std::string_view text) {
  uid_t user = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), user);
  if (error != std::errc() || end != text.data() + text.size()) return;
  if (users.size() < users_max) users.push_back(user);
}

}  // namespace

Result<Folder> own_folder() {
  const uid_t user = ::geteuid();
  const std::string path = candidates(user).front();
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{errno, fmt::format("control: cannot make {}: {}; name a folder of your own in "
                                    "XDG_RUNTIME_DIR, or set control.socket = false",
                                    path, std::strerror(errno))};
  }
  return open_folder(path, user);
}

std::vector<Folder> folders_of(uid_t user) {
  std::vector<Folder> folders;
  for (const std::string& path : candidates(user)) {
    Result<Folder> folder = open_folder(path, user);
    if (folder) folders.push_back(std::move(folder).value());
  }
  return folders;
}

void each_name(const Folder& folder, const std::function<bool(const char* name)>& each) {
  each_name_at(folder.descriptor.number(), ".", each);
}

std::vector<uid_t> visible_users() {
  std::vector<uid_t> users{::geteuid()};
  if (users.front() != 0) return users;
  each_name_at(AT_FDCWD, user_folders, [&](std::string_view name) {
    add_user(users, name);
    return true;
  });
  each_name_at(AT_FDCWD, shared_folder, [&](std::string_view name) {
    if (name.starts_with(shared_prefix)) add_user(users, name.substr(shared_prefix.size()));
    return true;
  });
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

}  // namespace k2k::control
