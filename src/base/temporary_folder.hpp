#pragma once
// A new folder below TMPDIR; the destructor removes it with its content.
//
// Threading: none.

#include <stdlib.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/result.hpp"

namespace k2k {

class TemporaryFolder {
 public:
  // Errors: as mkdtemp(3), with the remedy. The name begins with `prefix`.
  static Result<TemporaryFolder> create(std::string_view prefix) {
    const char* const wish = std::getenv("TMPDIR");
    const std::string parent = wish != nullptr && *wish != 0 ? wish : "/tmp";
    // mkdtemp(3) writes over the last six letters.
    std::string path = parent + "/" + std::string(prefix) + "-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
      const int error = errno;
      return Error{error, "cannot make a folder in '" + parent + "' (" + std::strerror(error) +
                              "); set TMPDIR to a folder that may be written to"};
    }
    return TemporaryFolder(std::move(path));
  }
  ~TemporaryFolder() {
    std::error_code ignored;  // A destructor cannot report it.
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace k2k
