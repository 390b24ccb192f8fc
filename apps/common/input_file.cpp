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

Error failed(const std::string& path, int error, const char* remedy) {
  return Error{error, fmt::format("{}: {}; {}", path, std::strerror(error), remedy)};
}

constexpr const char* name_one = "name a file that --generate made";
constexpr const char* name_new_one =
    "name a path that does not exist, in a folder that may be written to";

Error became_shorter(const InputFile& file, std::uint64_t bytes) {
  return damaged_input(
      file,
      fmt::format("the file became shorter while it was in use: {} of {} bytes", bytes, file.size),
      EIO);
}

Result<struct stat> status_of(const InputFile& file) {
  struct stat status{};
  if (::fstat(file.descriptor.number(), &status) != 0) return failed(file.path, errno, name_one);
  return status;
}

}  // namespace

Error wrong_input(const InputFile& file, const std::string& what, int code) {
  return Error{code, fmt::format("{}: {}", file.path, what)};
}

Error damaged_input(const InputFile& file, const std::string& what, int code) {
  return wrong_input(file, fmt::format("{}; {}", what, make_anew), code);
}

Result<InputFile> open_input(const std::string& path) {
  // O_NONBLOCK: a FIFO without a writer is refused below, and not waited for.
  InputFile file{path, Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK))};
  if (!file.descriptor.open()) return failed(path, errno, name_one);
  const auto status = status_of(file);
  if (!status) return status.error();
  if (!S_ISREG(status->st_mode)) {
    return wrong_input(file, fmt::format("not a regular file; {}", name_one));
  }
  file.size = static_cast<std::uint64_t>(status->st_size);
  file.modified = status->st_mtim;
  file.bytes = file.size;
  return Result<InputFile>(std::move(file));
}

Status read_header(const InputFile& file, std::span<std::byte> header, std::uint64_t head_bytes) {
  if (file.size < head_bytes) {
    return damaged_input(file, fmt::format("the file has {} bytes, fewer than its header's {}",
                                           file.size, head_bytes));
  }
  return read_at(file, header.data(), header.size(), 0);
}

Status judge_size(const InputFile& file, std::uint64_t right, const std::string& content) {
  if (file.size == right) return {};
  return damaged_input(
      file, fmt::format("the file has {} bytes, but {} take {}", file.size, content, right));
}

Status read_at(const InputFile& file, void* to, std::size_t bytes, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t count = ::pread(file.descriptor.number(), static_cast<char*>(to) + done,
                                  bytes - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(file.path, errno, make_anew);
    if (count == 0) {
      const Status whole = still_whole(file);
      return whole ? became_shorter(file, offset + done) : whole;  // It has grown again.
    }
    done += static_cast<std::size_t>(count);
  }
  return {};
}

Status still_whole(const InputFile& file) {
  const auto status = status_of(file);
  if (!status) return status.error();
  const auto bytes = static_cast<std::uint64_t>(status->st_size);
  return bytes >= file.size ? Status() : became_shorter(file, bytes);
}

Status unchanged(const InputFile& file) {
  if (Status whole = still_whole(file); !whole) return whole;
  const auto status = status_of(file);
  if (!status) return status.error();
  if (static_cast<std::uint64_t>(status->st_size) == file.size &&
      status->st_mtim.tv_sec == file.modified.tv_sec &&
      status->st_mtim.tv_nsec == file.modified.tv_nsec) {
    return {};
  }
  return damaged_input(file,
                       fmt::format("the file was changed while it was in use: it had {} bytes, and "
                                   "has {}",
                                   file.size, status->st_size),
                       EIO);
}

Result<Descriptor> create_new(const std::string& path) {
  Descriptor made(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!made.open()) return failed(path, errno, name_new_one);
  return Result<Descriptor>(std::move(made));
}

Status write_at(const Descriptor& file, const std::string& path, std::span<const std::byte> from,
                std::uint64_t offset) {
  std::size_t done = 0;
  while (done < from.size()) {
    const ssize_t count = ::pwrite(file.number(), from.data() + done, from.size() - done,
                                   static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int error = count < 0 ? errno : ENOSPC;
      return Error{error, fmt::format("{}: {}; the file needs {} more bytes there", path,
                                      std::strerror(error), from.size() - done)};
    }
    done += static_cast<std::size_t>(count);
  }
  return {};
}

Status write_new_file(const NewFile& file) {
  const SignalsBlocked blocked;
  const auto made = create_new(file.name);
  if (!made) return made.error();
  // The header last: a machine that stops here leaves a file that is refused.
  Status written = write_at(*made, file.name, file.body, file.header.size());
  if (written) {
    written = write_at(*made, file.name, file.tail, file.header.size() + file.body.size());
  }
  if (written) written = write_at(*made, file.name, file.header, 0);
  if (!written) ::unlink(file.name.c_str());
  return written;
}

Status write_new_folder(const std::string& folder, std::span<const NewFile> files) {
  const SignalsBlocked blocked;
  if (::mkdir(folder.c_str(), 0777) != 0) return failed(folder, errno, name_new_one);
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
