#include "runtime/device_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "control/inherited.hpp"
#include "control/socket.hpp"
#include "runtime/report/device_text.hpp"

namespace k2k::runtime {

namespace {

constexpr std::string_view device_suffix = ".device";
constexpr std::uint32_t device_files_most = 64;  // Names of a process.
constexpr mode_t only_reads = 0444;

Error cannot(const std::string& path, int code) {
  const char* const remedy =
      code == EFBIG ? "raise the limit of file lengths (ulimit -f)" : "make room there";
  return {code, fmt::format("cannot write {}: {}; {}, or set control.device_file = false", path,
                            std::strerror(code), remedy)};
}

bool lock(const Descriptor& file) { return ::flock(file.number(), LOCK_EX | LOCK_NB) == 0; }

// A file whose lock is free: its process ended. Linux frees a lock with its last descriptor. The
// open of a FIFO would wait without O_NONBLOCK.
void remove_if_left(int folder, const char* name) {
  const Descriptor file(::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts{};
  if (!file.open() || ::fstat(file.number(), &facts) != 0 || !S_ISREG(facts.st_mode)) return;
  if (lock(file)) ::unlinkat(folder, name, 0);
}

void remove_left_files(const control::Folder& folder) {
  control::each_name(folder, [&](const char* name) {
    if (std::string_view(name).ends_with(device_suffix)) {
      remove_if_left(folder.descriptor.number(), name);
    }
    return true;
  });
}

}  // namespace

Result<std::unique_ptr<DeviceFile>> DeviceFile::create(control::Folder folder,
                                                       std::function<server::Stats()> stats) {
  remove_left_files(folder);
  std::unique_ptr<DeviceFile> made(new DeviceFile(std::move(folder), std::move(stats)));
  if (Status status = made->open_free_name(); !status) return status.error();
  if (Status status = made->write_once(); !status) return status.error();
  auto served = services::ServedFile::create(made->path_, [file = made.get()] { file->refresh(); });
  if (!served) return served.error();
  made->served_ = std::move(served).value();
  return made;
}

Status DeviceFile::open_free_name() {
  for (std::uint32_t number = 1; number <= device_files_most; ++number) {
    const std::string name =
        control::text_of({.process = ::getpid(), .number = number}).append(device_suffix);
    const std::string path = folder_.path + "/" + name;
    Descriptor file(::openat(folder_.descriptor.number(), name.c_str(),
                             O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, only_reads));
    if (!file.open() && errno == EEXIST) continue;
    if (!file.open()) return cannot(path, errno);
    // Another process that starts may take the file for one that was left, until it is locked.
    struct stat facts{};
    if (!lock(file) || ::fstat(file.number(), &facts) != 0 || facts.st_nlink == 0) continue;
    name_ = name;
    path_ = path;
    // Whatever the process's mask of modes.
    if (::fchmod(file.number(), only_reads) != 0) return cannot(path, errno);
    file_ = std::move(file);
    device_ = facts.st_dev;
    inode_ = facts.st_ino;
    control::close_in_child(file_.number());  // A child would hold the lock.
    return {};
  }
  return Error{EEXIST,
               fmt::format("all {} names of device files of process {} in {} are taken; end "
                           "a runtime, or set control.device_file = false",
                           device_files_most, ::getpid(), folder_.path)};
}

DeviceFile::~DeviceFile() {
  served_.reset();  // First: a service thread may be in refresh().
  if (has_file()) control::keep_in_child(file_.number());
  if (!name_.empty()) ::unlinkat(folder_.descriptor.number(), name_.c_str(), 0);
}

bool DeviceFile::has_file() {
  if (!file_.open()) return false;
  struct stat facts{};
  if (::fstat(file_.number(), &facts) == 0 && facts.st_dev == device_ && facts.st_ino == inode_) {
    return true;
  }
  control::keep_in_child(file_.number());
  file_.forget();
  return false;
}

Status DeviceFile::write_once() {
  const std::lock_guard guard(writing_);
  if (!has_file()) return cannot(path_, EBADF);
  const std::string text = to_device_text(stats_(), ++sequence_);
  if (!file_may_reach(text.size())) return cannot(path_, EFBIG);
  const ssize_t written = ::pwrite(file_.number(), text.data(), text.size(), 0);
  if (written == static_cast<ssize_t>(text.size())) return {};
  return cannot(path_, written < 0 ? errno : ENOSPC);
}

void DeviceFile::refresh() {
  try {
    static_cast<void>(write_once().ok());
  } catch (const std::bad_alloc&) {  // As a write that fails.
  }
}

}  // namespace k2k::runtime
