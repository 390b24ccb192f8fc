#include "router/ahead/read_ahead_setting.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "io/file/page_range.hpp"

namespace k2k::router {

namespace {

// Parses the first line, shorter than any valid number.
Result<std::uint32_t> number_in(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const int error = errno;
    return Error{error, fmt::format("cannot open {}: {}", path, std::strerror(error))};
  }
  char text[32] = {};
  const ssize_t count = ::read(descriptor, text, sizeof(text) - 1);
  ::close(descriptor);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text, text + std::max<ssize_t>(count, 0), number);
  if (error != std::errc() || (*end != '\n' && *end != '\0')) {
    return Error{EINVAL, fmt::format("{} holds no number of KiB; {} are assumed", path,
                                     read_ahead_kib_default)};
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(number, read_ahead_kib_max));
}

}  // namespace

Result<std::uint32_t> read_ahead_kib(dev_t device, const std::string& sys) {
  const std::string name = fmt::format("{}:{}", major(device), minor(device));
  for (const std::string& folder :
       {sys + "/dev/block/" + name + "/queue", sys + "/dev/block/" + name + "/../queue",
        sys + "/class/bdi/" + name}) {
    Result<std::uint32_t> found = number_in(folder + "/read_ahead_kb");
    if (found || found.error().code == EINVAL) return found;
  }
  return Error{ENOENT, fmt::format("no read_ahead_kb of device {} under {}; {} KiB are assumed",
                                   name, sys, read_ahead_kib_default)};
}

std::uint64_t read_ahead_pages(int descriptor, const std::string& sys) {
  constexpr std::uint64_t page_kib = io::page_bytes / 1024;
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) return read_ahead_kib_default / page_kib;
  const dev_t device = S_ISBLK(status.st_mode) ? status.st_rdev : status.st_dev;
  const Result<std::uint32_t> kib = read_ahead_kib(device, sys);
  return (kib ? kib.value() : read_ahead_kib_default) / page_kib;
}

}  // namespace k2k::router
