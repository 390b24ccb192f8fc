#pragma once
// A folder of the test for control sockets. For tests; never installed.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace k2k::control {

// While it lives, sockets are made and searched in this folder.
class OwnFolder {
 public:
  OwnFolder() {
    std::string pattern = testing::TempDir() + "k2k_control_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    ::setenv("K2K_CONTROL_DIR", path_.c_str(), 1);
  }
  ~OwnFolder() {
    ::unsetenv("K2K_CONTROL_DIR");
    std::filesystem::remove_all(path_);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class InOwnFolder : public testing::Test {
 protected:
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      static_cast<void>(entry);
      ++count;
    }
    return count;
  }

  const OwnFolder own_;
  const std::string folder_ = own_.path();
};

}  // namespace k2k::control
