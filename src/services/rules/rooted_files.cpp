#include "services/rules/rooted_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

#include "services/own_process.hpp"
#include "services/raw.hpp"

namespace k2k::services {

namespace {

constexpr std::uint64_t working_folder = static_cast<std::uint64_t>(AT_FDCWD);
constexpr std::uint64_t in_page = 4095;
constexpr int renames_met_max = 16;  // openat2 answers EAGAIN if a rename elsewhere meets a `..`.

constexpr std::uint16_t confined[] = {
    SYS_open,       SYS_creat,    SYS_openat,    SYS_stat,      SYS_lstat,
    SYS_newfstatat, SYS_statx,    SYS_access,    SYS_faccessat, 439,
    SYS_mkdir,      SYS_mkdirat,  SYS_rmdir,     SYS_unlink,    SYS_unlinkat,
    SYS_rename,     SYS_renameat, SYS_renameat2, SYS_readlink,  SYS_readlinkat,
};

// Besides these. Numbers without a name are younger than the C library.
constexpr std::uint16_t other_paths[] = {
    SYS_link,
    SYS_symlink,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_mknod,
    SYS_uselib,
    SYS_statfs,
    SYS_truncate,
    SYS_chdir,
    SYS_chroot,
    SYS_pivot_root,
    SYS_acct,
    SYS_mount,
    SYS_umount2,
    SYS_swapon,
    SYS_swapoff,
    SYS_quotactl,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_getxattr,
    SYS_lgetxattr,
    SYS_listxattr,
    SYS_llistxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_utimes,
    SYS_inotify_add_watch,
    SYS_mknodat,
    SYS_fchownat,
    SYS_futimesat,
    SYS_linkat,
    SYS_symlinkat,
    SYS_fchmodat,
    SYS_utimensat,
    SYS_fanotify_mark,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_bpf,
    SYS_execve,
    SYS_execveat,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_openat2,
    SYS_pidfd_getfd,
    SYS_mount_setattr,
    SYS_quotactl_fd,
    452,  // fchmodat2
    457,  // statmount
    458,  // listmount
    463,  // setxattrat
    464,  // getxattrat
    465,  // listxattrat
    466,  // removexattrat
    467,  // open_tree_attr
    468,  // file_getattr
    469,  // file_setattr
};

template <std::size_t count>
bool contains(const std::uint16_t (&numbers)[count], std::uint16_t number) {
  return std::find(std::begin(numbers), std::end(numbers), number) != std::end(numbers);
}

// From memory that may not be there, page by page: a page behind the end may be missing.
std::int64_t copy_path(std::uint64_t address, std::string& path) {
  path.clear();
  char piece[in_page + 1];
  while (path.size() < PATH_MAX) {
    const std::size_t bytes = in_page + 1 - (address & in_page);
    const iovec into{piece, bytes};
    const iovec from{reinterpret_cast<void*>(address), bytes};
    const ssize_t count = ::process_vm_readv(::getpid(), &into, 1, &from, 1, 0);
    if (count <= 0) return -EFAULT;
    const std::size_t length = ::strnlen(piece, static_cast<std::size_t>(count));
    path.append(piece, length);
    if (length < static_cast<std::size_t>(count)) {
      return path.size() < PATH_MAX ? 0 : -ENAMETOOLONG;
    }
    address += length;
  }
  return -ENAMETOOLONG;
}

std::int64_t open_beneath(int folder, const char* path, std::uint64_t flags, std::uint64_t mode) {
  open_how how{};
  how.flags = flags;
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  std::int64_t file = -EAGAIN;
  for (int met = 0; file == -EAGAIN && met < renames_met_max; ++met) {
    file = raw(SYS_openat2, folder, path, &how, sizeof(how));
  }
  // EXDEV: the path leads out.
  return file == -EXDEV || file == -EAGAIN ? -EACCES : file;
}

// What open(2) would do: it ignores unknown flags, and the mode where no file is made.
std::uint64_t known_flags(std::uint64_t flags) {
  constexpr std::uint64_t with_path = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  constexpr std::uint64_t large_file = 0100000;
  constexpr std::uint64_t known = O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND |
                                  O_NONBLOCK | O_SYNC | O_ASYNC | O_DIRECT | large_file |
                                  O_NOATIME | O_TMPFILE | with_path;
  return flags & ((flags & O_PATH) != 0 ? with_path : known);
}

std::uint64_t known_mode(std::uint64_t flags, std::uint64_t mode) {
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return makes ? mode & 07777 : 0;
}

// Does the folder lie in a file system of processes, or is one mounted below it?
bool contains_processes(int descriptor, const std::string& folder) {
  struct statfs status{};
  if (::fstatfs(descriptor, &status) != 0 || status.f_type == PROC_SUPER_MAGIC) return true;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string word;
    std::string point;
    for (int index = 0; index < 5 && words >> word; ++index) point = word;
    while (words >> word && word != "-") {
    }
    if (!(words >> word) || word != "proc") continue;
    if (point.starts_with(folder + "/")) return true;
  }
  return false;
}

}  // namespace

bool RootedFiles::confines(std::uint16_t number) { return contains(confined, number); }
bool RootedFiles::takes_path(std::uint16_t number) {
  return confines(number) || contains(other_paths, number);
}

Result<RootedFiles> RootedFiles::open(const std::vector<std::string>& roots) {
  RootedFiles files;
  for (const std::string& root : roots) {
    if (!root.starts_with('/')) {
      return Error{EINVAL, fmt::format("'{}' is not an absolute path", root)};
    }
    Descriptor folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder.open()) return Error{errno, fmt::format("'{}': {}", root, std::strerror(errno))};
    const std::unique_ptr<char, void (*)(void*)> canonical(::realpath(root.c_str(), nullptr),
                                                           ::free);
    if (canonical == nullptr) {
      return Error{errno, fmt::format("'{}': {}", root, std::strerror(errno))};
    }
    const std::int64_t probe =
        open_beneath(folder.number(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (probe < 0) {
      return Error{static_cast<int>(-probe),
                   fmt::format("'{}': openat2: {}; roots need Linux 5.6 and a seccomp profile that "
                               "allows the call",
                               root, std::strerror(static_cast<int>(-probe)))};
    }
    ::close(static_cast<int>(probe));
    std::string name = canonical.get();
    if (name == "/") name.clear();
    if (contains_processes(folder.number(), name)) {
      return Error{EINVAL, fmt::format("'{}' contains files that reach the memory of processes; "
                                       "name folders beside it",
                                       root)};
    }
    std::string as_given = root.substr(0, root.find_last_not_of('/') + 1);
    files.roots_.push_back({name, folder.number()});
    if (as_given != name) files.roots_.push_back({std::move(as_given), folder.number()});
    files.folders_.push_back(std::move(folder));
  }
  std::stable_sort(
      files.roots_.begin(), files.roots_.end(),
      [](const Root& left, const Root& right) { return left.name.size() > right.name.size(); });
  return files;
}

std::vector<int> RootedFiles::folders() const {
  std::vector<int> numbers;
  for (const Descriptor& folder : folders_) numbers.push_back(folder.number());
  return numbers;
}

const RootedFiles::Root* RootedFiles::root_of(const std::string& path) const {
  for (const Root& root : roots_) {
    if (path == root.name || path.starts_with(root.name + "/")) return &root;
  }
  return nullptr;
}

std::int64_t RootedFiles::locate(Word folder, Word path, Place& place, std::string& shown) const {
  if (const std::int64_t failed = copy_path(path, shown); failed != 0) return failed;
  if (shown.empty()) return -ENOENT;
  std::string whole = shown;
  if (!shown.starts_with('/')) {
    char name[PATH_MAX] = {};
    if (static_cast<int>(folder) != AT_FDCWD) {
      // Under a number of K2K's own: a kernel cannot put another folder there.
      place.held = Descriptor(::fcntl(static_cast<int>(folder), F_DUPFD_CLOEXEC, 0));
      if (!place.held.open()) return -EBADF;
      const std::string link = fmt::format("/proc/self/fd/{}", place.held.number());
      if (::readlink(link.c_str(), name, sizeof(name) - 1) < 0 || root_of(name) == nullptr) {
        return -EACCES;
      }
      place.folder = place.held.number();
      place.rest = shown;
      return 0;
    }
    if (::getcwd(name, sizeof(name)) == nullptr) return -errno;
    whole = fmt::format("{}/{}", name, shown);
  }
  const Root* const root = root_of(whole);
  if (root == nullptr) return -EACCES;
  place.folder = root->folder;
  const std::size_t rest = whole.find_first_not_of('/', root->name.size());
  place.rest = rest == std::string::npos ? "." : whole.substr(rest);
  return 0;
}

std::int64_t RootedFiles::locate_parent(Word folder, Word path, Place& place, Descriptor& parent,
                                        std::string& shown) const {
  if (const std::int64_t failed = locate(folder, path, place, shown); failed != 0) return failed;
  const std::size_t last = place.rest.find_last_not_of('/');
  std::string leaf = place.rest.substr(0, last + 1);
  const std::size_t slash = leaf.find_last_of('/');
  const std::string above = slash == std::string::npos ? "." : leaf.substr(0, slash);
  // Slashes behind the name say that it is a folder's.
  leaf = place.rest.substr(slash == std::string::npos ? 0 : slash + 1);
  const std::string name = leaf.substr(0, leaf.find('/'));
  if (name == "." || name == "..") return -EACCES;
  const std::int64_t opened =
      open_beneath(place.folder, above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (opened < 0) return opened;
  parent = Descriptor(static_cast<int>(opened));
  place.rest = std::move(leaf);
  return 0;
}

std::int64_t RootedFiles::open_file(Word folder, Word path, Word flags, Word mode,
                                    std::string& shown) const {
  Place place;
  if (const std::int64_t failed = locate(folder, path, place, shown); failed != 0) return failed;
  const std::uint64_t known = known_flags(static_cast<std::uint32_t>(flags));
  return open_beneath(place.folder, place.rest.c_str(), known, known_mode(known, mode));
}

std::int64_t RootedFiles::open_to_look(Word folder, Word path, bool follows, Descriptor& file,
                                       std::string& shown) const {
  const Word flags = O_PATH | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW);
  const std::int64_t opened = open_file(folder, path, flags, 0, shown);
  if (opened < 0) return opened;
  file = Descriptor(static_cast<int>(opened));
  return 0;
}

std::int64_t RootedFiles::perform(const Request& request, std::string& shown) const {
  if (const std::int64_t refused = refuse_own(request); refused != 0) return refused;
  const auto& word = request.arguments;
  Descriptor file;

  const auto status = [&](Word folder, Word path, Word into, Word flags) -> std::int64_t {
    const bool follows = (flags & AT_SYMLINK_NOFOLLOW) == 0;
    const std::int64_t failed = open_to_look(folder, path, follows, file, shown);
    // The descriptor's own: Linux would read the path once more.
    const bool of_folder = failed == -ENOENT && shown.empty() && (flags & AT_EMPTY_PATH) != 0;
    if (failed != 0 && !of_folder) return failed;
    return raw(SYS_newfstatat, of_folder ? static_cast<int>(folder) : file.number(), "", into,
               AT_EMPTY_PATH);
  };
  const auto access = [&](Word folder, Word path, Word mode, Word flags) -> std::int64_t {
    const bool follows = (flags & AT_SYMLINK_NOFOLLOW) == 0;
    const std::int64_t failed = open_to_look(folder, path, follows, file, shown);
    if (failed != 0) return failed;
    constexpr long faccessat2 = 439;
    return raw(faccessat2, file.number(), "", mode, AT_EMPTY_PATH | (flags & AT_EACCESS));
  };
  const auto read_link = [&](Word folder, Word path, Word buffer, Word bytes) -> std::int64_t {
    const std::int64_t failed = open_to_look(folder, path, false, file, shown);
    return failed != 0 ? failed : raw(SYS_readlinkat, file.number(), "", buffer, bytes);
  };
  Place place;
  const auto make_folder = [&](Word folder, Word path, Word mode) -> std::int64_t {
    const std::int64_t failed = locate_parent(folder, path, place, file, shown);
    return failed != 0 ? failed : raw(SYS_mkdirat, file.number(), place.rest.c_str(), mode);
  };
  const auto remove = [&](Word folder, Word path, Word flags) -> std::int64_t {
    const std::int64_t failed = locate_parent(folder, path, place, file, shown);
    return failed != 0 ? failed : raw(SYS_unlinkat, file.number(), place.rest.c_str(), flags);
  };
  const auto rename = [&](Word old_folder, Word old_path, Word folder, Word path,
                          Word flags) -> std::int64_t {
    std::int64_t failed = locate_parent(old_folder, old_path, place, file, shown);
    if (failed != 0) return failed;
    Place to;
    Descriptor into;
    failed = locate_parent(folder, path, to, into, shown);
    return failed != 0 ? failed
                       : raw(SYS_renameat2, file.number(), place.rest.c_str(), into.number(),
                             to.rest.c_str(), flags);
  };

  switch (request.number) {
    case SYS_open:
      return open_file(working_folder, word[0], word[1], word[2], shown);
    case SYS_creat:
      return open_file(working_folder, word[0], O_CREAT | O_WRONLY | O_TRUNC, word[1], shown);
    case SYS_openat:
      return open_file(word[0], word[1], word[2], word[3], shown);
    case SYS_stat:
      return status(working_folder, word[0], word[1], 0);
    case SYS_lstat:
      return status(working_folder, word[0], word[1], AT_SYMLINK_NOFOLLOW);
    case SYS_newfstatat:
      return status(word[0], word[1], word[2], word[3]);
    case SYS_statx: {
      const bool follows = (word[2] & AT_SYMLINK_NOFOLLOW) == 0;
      const std::int64_t failed = open_to_look(word[0], word[1], follows, file, shown);
      const bool of_folder = failed == -ENOENT && shown.empty() && (word[2] & AT_EMPTY_PATH) != 0;
      if (failed != 0 && !of_folder) return failed;
      return raw(SYS_statx, of_folder ? static_cast<int>(word[0]) : file.number(), "",
                 word[2] | AT_EMPTY_PATH, word[3], word[4]);
    }
    case SYS_access:
      return access(working_folder, word[0], word[1], 0);
    case SYS_faccessat:
      return access(word[0], word[1], word[2], 0);
    case 439:  // faccessat2
      return access(word[0], word[1], word[2], word[3]);
    case SYS_readlink:
      return read_link(working_folder, word[0], word[1], word[2]);
    case SYS_readlinkat:
      return read_link(word[0], word[1], word[2], word[3]);
    case SYS_mkdir:
      return make_folder(working_folder, word[0], word[1]);
    case SYS_mkdirat:
      return make_folder(word[0], word[1], word[2]);
    case SYS_rmdir:
      return remove(working_folder, word[0], AT_REMOVEDIR);
    case SYS_unlink:
      return remove(working_folder, word[0], 0);
    case SYS_unlinkat:
      return remove(word[0], word[1], word[2]);
    case SYS_rename:
      return rename(working_folder, word[0], working_folder, word[1], 0);
    case SYS_renameat:
      return rename(word[0], word[1], word[2], word[3], 0);
    case SYS_renameat2:
      return rename(word[0], word[1], word[2], word[3], word[4]);
    default:
      return -EACCES;
  }
}

}  // namespace k2k::services
