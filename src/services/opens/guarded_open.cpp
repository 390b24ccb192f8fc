#include "services/opens/guarded_open.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/descriptor.hpp"
#include "base/own_descriptors.hpp"
#include "base/system_call.hpp"
#include "services/opens/copy_in.hpp"

namespace k2k::services {

namespace {

struct Opening {
  int folder;
  std::uint64_t path;
  open_how how;
  bool strict;  // openat2: unknown flags are errors.

  [[nodiscard]] std::int64_t with(std::uint64_t flags, std::uint64_t mode) const {
    if (!strict) return system_call(SYS_openat, folder, path, flags, mode);
    const open_how changed{flags, mode, how.resolve};
    return system_call(SYS_openat2, folder, path, &changed, sizeof(changed));
  }
};

bool may_write(std::uint64_t flags) {
  const std::uint64_t access = flags & O_ACCMODE;
  if (access != O_WRONLY && access != O_RDWR) return false;
  const bool makes_one =
      (flags & O_TMPFILE) == O_TMPFILE || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  return (flags & O_PATH) == 0 && !makes_one;
}

std::int64_t open_root() { return system_call(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0); }

const Descriptor& root_folder() {
  static const Descriptor root(static_cast<int>(open_root()));
  return root;
}

// File systems whose files are processes, their threads, and groups of both: a write changes one of
// them. Of cgroups and resctrl, a written 0 names the process or the thread that writes.
bool is_of_processes(const struct statfs& system) {
  constexpr std::array<std::uint64_t, 4> systems = {PROC_SUPER_MAGIC, CGROUP_SUPER_MAGIC,
                                                    CGROUP2_SUPER_MAGIC, RDTGROUP_SUPER_MAGIC};
  return std::ranges::find(systems, static_cast<std::uint64_t>(system.f_type)) != systems.end();
}

// True also if Linux does not tell. A file system of the network is asked once, not at each open.
bool works_among_processes() {
  static constinit std::atomic<std::uint64_t> other_device{0};  // 0 = none known yet.
  struct statx folder{};
  if (::statx(AT_FDCWD, ".", AT_STATX_DONT_SYNC, STATX_TYPE, &folder) != 0) return true;
  const std::uint64_t device = std::uint64_t{folder.stx_dev_major} << 32 | folder.stx_dev_minor;
  if (device == other_device.load(std::memory_order_relaxed) && device != 0) return false;
  struct statfs system{};
  if (::statfs(".", &system) != 0 || is_of_processes(system)) return true;
  other_device.store(device, std::memory_order_relaxed);
  return false;
}

// Linux walks without entering a mount, and neither the root nor the working folder is of
// processes; nothing if it would leave their mounts.
std::optional<std::int64_t> open_in_mount(const Opening& opening) {
  if (opening.strict || opening.folder != AT_FDCWD || works_among_processes()) return {};
  open_how how = opening.how;
  how.resolve = RESOLVE_NO_XDEV;
  how.mode = (how.flags & O_CREAT) != 0 ? how.mode & 07777 : 0;
  const std::int64_t opened = system_call(SYS_openat2, AT_FDCWD, opening.path, &how, sizeof(how));
  switch (opened) {
    case -EXDEV:   // Another mount.
    case -EAGAIN:  // A rename elsewhere.
    case -EINVAL:  // Flags that open ignores.
    case -ENOSYS:  // No openat2.
    case -EPERM:   // Likewise, by seccomp.
      return {};
    default:
      return opened;
  }
}

// A number of K2K's own for the file that the calling thread looks at.
class Place {
 public:
  // 0, or a negative errno.
  std::int64_t take() {
    // Otherwise the host program closed it, and may have another file there.
    const bool ours = number_.open() && (system_call(SYS_fcntl, number(), F_GETFL) & O_PATH) != 0;
    if (ours) return 0;
    number_.forget();
    number_ = Descriptor(static_cast<int>(open_root()));
    return is_own(number()) ? 0 : -EMFILE;
  }
  [[nodiscard]] int number() const { return number_.number(); }
  // The descriptor's file lies here from now on, and nowhere else.
  std::int64_t move_here(std::int64_t descriptor) const {
    const std::int64_t moved = system_call(SYS_dup3, descriptor, number(), O_CLOEXEC);
    system_call(SYS_close, descriptor);
    return moved < 0 ? moved : 0;
  }
  // So that no file stays in use.
  void clear() const { system_call(SYS_dup3, root_folder().number(), number(), O_CLOEXEC); }

 private:
  Descriptor number_;
};

bool is_of_processes(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return true;
  if (!S_ISREG(status.st_mode)) return false;
  struct statfs system{};
  return ::fstatfs(descriptor, &system) != 0 || is_of_processes(system);
}

// Step 1; or the answer, if a new file was made.
struct Found {
  std::int64_t descriptor;
  bool is_answer;
};

Found find(const Opening& opening) {
  const std::uint64_t flags = opening.how.flags;
  const std::uint64_t of_link = flags & O_NOFOLLOW;
  const std::int64_t found = opening.with(O_PATH | O_CLOEXEC | of_link, 0);
  if (found != -ENOENT || (flags & O_CREAT) == 0) return {found, found < 0};
  const std::int64_t made = opening.with(flags | O_EXCL, opening.how.mode);
  if (made != -EEXIST) return {made, true};
  // A link without a target, or another thread was faster. This descriptor cannot write.
  const std::int64_t other = opening.with(
      O_RDONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | of_link, opening.how.mode);
  return {other, other < 0};
}

std::int64_t open_same(const Opening& opening, int descriptor) {
  std::array<char, 32> link{};
  fmt::format_to_n(link.data(), link.size() - 1, "/proc/self/fd/{}", descriptor);
  constexpr std::uint64_t for_path = O_CREAT | O_EXCL | O_NOFOLLOW;
  Opening same{AT_FDCWD, reinterpret_cast<std::uint64_t>(link.data()), {}, opening.strict};
  const std::int64_t opened = same.with(opening.how.flags & ~for_path, 0);
  const bool no_processes = opened == -ENOENT && ::access(link.data(), F_OK) != 0;
  return no_processes ? -EPERM : opened;
}

std::int64_t open_to_write(const Opening& opening) {
  if (const auto opened = open_in_mount(opening)) return *opened;
  thread_local Place place;
  if (const std::int64_t failed = place.take(); failed != 0) return failed;
  const Found found = find(opening);
  if (found.is_answer) return found.descriptor;
  if (const std::int64_t failed = place.move_here(found.descriptor); failed != 0) return failed;
  const std::int64_t opened =
      is_of_processes(place.number()) ? -EPERM : open_same(opening, place.number());
  place.clear();
  return opened;
}

// Copied once: a kernel may change the structure while Linux looks at it.
std::int64_t open_by_structure(const std::uint64_t (&word)[protocol::argument_count]) {
  constexpr std::size_t known = sizeof(open_how);
  constexpr std::size_t page = 4096;
  const std::uint64_t bytes = word[3];
  if (bytes < known) return -EINVAL;
  if (bytes > page) return -E2BIG;
  std::array<char, page> whole{};
  if (const int failed = copy_in(word[2], whole.data(), bytes); failed != 0) return -failed;
  // As a Linux that knows no more of the structure.
  if (std::any_of(whole.begin() + known, whole.begin() + bytes, [](char one) { return one != 0; }))
    return -E2BIG;
  open_how how{};
  std::memcpy(&how, whole.data(), known);
  const Opening opening{static_cast<int>(word[0]), word[1], how, true};
  // Linux answers with an error.
  const bool wrong_mode =
      (how.mode & ~std::uint64_t{(how.flags & O_CREAT) != 0 ? 07777u : 0u}) != 0;
  const bool waits_for_disk =
      (how.resolve & RESOLVE_CACHED) != 0 && (how.flags & (O_TRUNC | O_CREAT)) != 0;
  if (!may_write(how.flags) || wrong_mode || waits_for_disk)
    return opening.with(how.flags, how.mode);
  return open_to_write(opening);
}

}  // namespace

std::optional<std::int64_t> open_guarded(std::uint16_t number,
                                         const std::uint64_t (&word)[protocol::argument_count]) {
  const auto open = [](std::uint64_t folder, std::uint64_t path, std::uint64_t flags,
                       std::uint64_t mode) -> std::optional<std::int64_t> {
    const auto known = static_cast<std::uint32_t>(flags);
    if (!may_write(known)) return {};
    return open_to_write({static_cast<int>(folder), path, {known, mode, 0}, false});
  };
  constexpr std::uint64_t here = static_cast<std::uint64_t>(AT_FDCWD);
  switch (number) {
    case SYS_open:
      return open(here, word[0], word[1], word[2]);
    case SYS_creat:
      return open(here, word[0], O_CREAT | O_WRONLY | O_TRUNC, word[1]);
    case SYS_openat:
      return open(word[0], word[1], word[2], word[3]);
    case SYS_openat2:
      return open_by_structure(word);
    default:
      return {};
  }
}

}  // namespace k2k::services
