#include "cli/watch/replace_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/descriptor.hpp"

namespace k2k::watch {

namespace {

Error unwritable(const std::string& path, int error) {
  return {error, fmt::format("cannot write {}: {}; name another file, or make room", path,
                             std::strerror(error))};
}

// 0, or the errno.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

// `flags` are renameat2(2)'s.
Status write_and_rename(const std::string& path, const std::string& text, unsigned flags) {
  std::string draft = path + ".XXXXXX";
  const Descriptor file(::mkostemp(draft.data(), O_CLOEXEC));
  if (!file.open()) return unwritable(path, errno);
  int error = write_all(file.number(), text);
  if (error == 0 && (::fchmod(file.number(), 0644) != 0 || ::fsync(file.number()) != 0)) {
    error = errno;
  }
  if (error == 0 && ::renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, path.c_str(), flags) != 0)
    error = errno;
  if (error == 0) return {};
  ::unlink(draft.c_str());
  return unwritable(path, error);
}

}  // namespace

Status replace_file(const std::string& path, const std::string& text) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) {
    const Descriptor there(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    const int error = there.open() ? write_all(there.number(), text) : errno;
    if (error != 0) return unwritable(path, error);
    return {};
  }
  return write_and_rename(path, text, 0);
}

Status create_file(const std::string& path, const std::string& text) {
  return write_and_rename(path, text, RENAME_NOREPLACE);
}

}  // namespace k2k::watch
