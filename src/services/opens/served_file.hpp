#pragma once
// Files whose content K2K writes: an open by a kernel renews the content first, so that the kernel
// reads values of the time of its open (runtime/device_file.hpp).
//
// A file is known by its absolute path, as the kernel spells it. The kernel may change the path
// between the comparison and the open: then an open sees older values, and nothing else happens.
//
// Threading: refresh_served() from any service thread; a file is made and ended by any thread. No
// lock: a fork() at any moment leaves no lock held in the child.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "protocol/slot.hpp"

namespace k2k::services {

inline constexpr std::size_t served_files_max = 16;  // Of a process.

class ServedFile {
 public:
  // From now on an open of `path` first calls `refresh`, by several threads at once perhaps.
  // Errors: ENOSPC (served_files_max); EINVAL (no absolute path, or too long a one).
  static Result<std::unique_ptr<ServedFile>> create(std::string path,
                                                    std::function<void()> refresh);
  // Returns once no thread runs `refresh`.
  ~ServedFile();
  ServedFile(const ServedFile&) = delete;
  ServedFile& operator=(const ServedFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  friend void refresh_served(std::uint16_t number,
                             const std::uint64_t (&word)[protocol::argument_count]);
  ServedFile(std::string path, std::function<void()> refresh)
      : path_(std::move(path)), refresh_(std::move(refresh)) {}

  const std::string path_;
  const std::function<void()> refresh_;
  std::size_t place_ = served_files_max;
};

// Before an open, openat or openat2 with these arguments.
void refresh_served(std::uint16_t number, const std::uint64_t (&word)[protocol::argument_count]);

}  // namespace k2k::services
