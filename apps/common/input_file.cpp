#include "apps/common/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/signals_blocked.hpp"

namespace k2k::apps {

namespace {

Error failed(const std::string& path, int error) {
  return Error{error, fmt::format("{}: {}", path, std::strerror(error))};
}

// 0 or an errno.
int write_whole(int file, std::span<const std::byte> from, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < from.size()) {
    const ssize_t count =
        ::pwrite(file, from.data() + done, from.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : EIO;
    done += static_cast<std::size_t>(count);
  }
  return 0;
}

}  // namespace

Error wrong_input(const InputFile& file, const std::string& what) {
  return Error{EINVAL, fmt::format("{}: {}", file.path, what)};
}

Result<InputFile> open_input(const std::string& path) {
  // O_NONBLOCK: a FIFO without a writer is refused below, and not waited for.
  InputFile file{path, Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), 0, 0};
  if (!file.descriptor.open()) return failed(path, errno);
  struct stat status{};
  if (::fstat(file.descriptor.number(), &status) != 0) return failed(path, errno);
  if (!S_ISREG(status.st_mode)) {
    return wrong_input(file, "no regular file; name a file of --generate");
  }
  file.bytes = static_cast<std::uint64_t>(status.st_size);
  return Result<InputFile>(std::move(file));
}

Status read_at(const InputFile& file, void* to, std::size_t bytes, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t count = ::pread(file.descriptor.number(), static_cast<char*>(to) + done,
                                  bytes - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(file.path, errno);
    if (count == 0) return still_whole(file);
    done += static_cast<std::size_t>(count);
  }
  return {};
}

Status still_whole(const InputFile& file) {
  struct stat status{};
  if (::fstat(file.descriptor.number(), &status) != 0) return failed(file.path, errno);
  const std::uint64_t right = file.offset + file.bytes;
  if (static_cast<std::uint64_t>(status.st_size) >= right) return {};
  return Error{EIO,
               fmt::format("{}: the file became shorter while it was in use: {} of {} bytes; {}",
                           file.path, status.st_size, right, make_anew)};
}

Status write_new_file(const NewFile& file) {
  const SignalsBlocked blocked;
  const Descriptor made(::open(file.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!made.open()) return failed(file.name, errno);
  // The header last: a machine that stops here leaves a file that is refused.
  int error = write_whole(made.number(), file.body, file.header.size());
  if (error == 0) error = write_whole(made.number(), file.header, 0);
  if (error == 0) return {};
  ::unlink(file.name.c_str());
  return failed(file.name, error);
}

Status write_new_folder(const std::string& folder, std::span<const NewFile> files) {
  const SignalsBlocked blocked;
  if (::mkdir(folder.c_str(), 0777) != 0) return failed(folder, errno);
  for (std::size_t place = 0; place < files.size(); ++place) {
    NewFile file = files[place];
    file.name = folder + "/" + file.name;
    const Status written = write_new_file(file);
    if (written) continue;
    while (place-- > 0) ::unlink((folder + "/" + files[place].name).c_str());
    ::rmdir(folder.c_str());
    return written;
  }
  return {};
}

}  // namespace k2k::apps
