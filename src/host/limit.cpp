#include "host/limit.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace k2k::host {

namespace {

constexpr std::string_view begin_of_file = "k2k-host-limit 1 ";
constexpr std::size_t bytes_max = 128;

bool permitted(double fraction) { return fraction >= limit_min && fraction <= 1; }

std::optional<double> parse(std::string_view text) {
  if (!text.starts_with(begin_of_file)) return {};
  text.remove_prefix(begin_of_file.size());
  if (text.ends_with('\n')) text.remove_suffix(1);
  double fraction = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fraction);
  if (error != std::errc() || end != text.data() + text.size() || !permitted(fraction)) return {};
  return fraction;
}

// Describes the refused change, its reason, and the user who may make it.
Error refused(const std::string& path, int code) {
  const bool rights = code == EACCES || code == EPERM || code == EROFS;
  return {code,
          fmt::format("host limit: {}: {}{}", path, std::strerror(code),
                      rights ? "; it is the administrator's to set: sudo k2k host limit" : "")};
}

Status make_folders(const Place& place) {
  if (::mkdir(place.path.c_str(), 0755) == 0) {
    ::chmod(place.path.c_str(), 0755);  // Independently of the umask.
  } else if (errno != EEXIST) {
    return refused(place.path, errno);
  }
  const Result<Descriptor> folder = open_place(place);
  if (!folder) return folder.error();
  if (::mkdirat(folder.value().number(), "holders", 0755) == 0) {
    ::fchmodat(folder.value().number(), "holders", 01777, 0);
  } else if (errno != EEXIST) {
    return refused(place.path + "/holders", errno);
  }
  const Result<Descriptor> holders = open_holders(place, folder.value());
  return holders ? Status() : Status(holders.error());
}

}  // namespace

Result<std::optional<double>> read_limit(const Place& place) {
  const Result<Descriptor> folder = open_place(place);
  if (!folder && folder.error().code == ENOENT) return std::optional<double>();
  if (!folder) return folder.error();
  const std::string path = place.path + "/limit";
  const Descriptor file = open_within(folder.value(), "limit");
  if (!file.open() && errno == ENOENT) return std::optional<double>();
  struct stat facts{};
  std::array<char, bytes_max> text{};
  if (!file.open() || ::fstat(file.number(), &facts) != 0) {
    const int code = errno;
    return Error{code, fmt::format("host limit: {}: {}; {}", path, std::strerror(code),
                                   mended_by(code, "sudo k2k host limit PCT writes it anew"))};
  }
  if (!may_own(place, facts.st_uid) || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error{EPERM, fmt::format("host limit: {} (user {}, mode {:04o}) may be others' word; "
                                    "sudo k2k host limit PCT writes it anew",
                                    path, facts.st_uid, facts.st_mode & 07777u)};
  }
  const ssize_t bytes =
      S_ISREG(facts.st_mode) ? ::pread(file.number(), text.data(), text.size(), 0) : 0;
  const std::string_view seen(text.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  const std::optional<double> fraction = parse(seen);
  if (!fraction) {
    return Error{EINVAL, fmt::format("host limit: {} does not say '{}FRACTION' with a fraction of "
                                     "{:g} to 1; sudo k2k host limit PCT writes it anew",
                                     path, begin_of_file, limit_min)};
  }
  return fraction;
}

Status write_limit(const Place& place, double fraction) {
  if (!permitted(fraction)) {
    return Error{EINVAL, fmt::format("a host limit of {:g} % of the CPU time of all cores; "
                                     "permitted are {:g} to 100 %, or off",
                                     fraction * 100, limit_min * 100)};
  }
  if (Status status = make_folders(place); !status) return status;
  const Result<Descriptor> folder = open_place(place);
  if (!folder) return folder.error();
  const int in = folder.value().number();
  const std::string draft = fmt::format(".limit.{}", ::getpid());
  ::unlinkat(in, draft.c_str(), 0);  // Of one with the same number that died over it.
  const Descriptor file(
      ::openat(in, draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.open()) return refused(place.path + "/limit", errno);
  const std::string text = fmt::format("{}{}\n", begin_of_file, fraction);
  const bool written =
      ::write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fchmod(file.number(), 0644) == 0 && ::renameat(in, draft.c_str(), in, "limit") == 0;
  if (written) return {};
  const int code = errno;
  ::unlinkat(in, draft.c_str(), 0);
  return refused(place.path + "/limit", code);
}

Status remove_limit(const Place& place) {
  const Result<Descriptor> folder = open_place(place);
  if (!folder && folder.error().code == ENOENT) return {};
  if (!folder) return folder.error();
  if (::unlinkat(folder.value().number(), "limit", 0) == 0 || errno == ENOENT) return {};
  return refused(place.path + "/limit", errno);
}

}  // namespace k2k::host
