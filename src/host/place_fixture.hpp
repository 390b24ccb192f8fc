#pragma once
// A folder of the test instead of /run/k2k, and processes that hold parts of its limit.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "host/limit.hpp"
#include "host/place.hpp"

namespace k2k::host {

class TemporaryPlace {
 public:
  TemporaryPlace() {
    std::string pattern = testing::TempDir() + "k2k_host_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    ::chmod(folder_.c_str(), 0755);  // Another user must be able to read it.
    place_ = {folder_ + "/k2k", true};
  }
  ~TemporaryPlace() { std::filesystem::remove_all(folder_); }
  TemporaryPlace(const TemporaryPlace&) = delete;
  TemporaryPlace& operator=(const TemporaryPlace&) = delete;

  [[nodiscard]] const Place& place() const { return place_; }
  [[nodiscard]] const std::string& path() const { return place_.path; }
  [[nodiscard]] std::string holders() const { return place_.path + "/holders"; }
  // A folder beside the place, for files that must not be in it.
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  Place place_;
};

// A forked process, which ends with this object. In the child number() is 0.
class Child {
 public:
  Child() : number_(::fork()) {}
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t number() const { return number_; }
  // The process gets no chance to clean up.
  void kill() {
    if (number_ <= 0) return;
    ::kill(number_, SIGKILL);
    ::waitpid(number_, nullptr, 0);
    number_ = -1;
  }

 private:
  pid_t number_;
};

// A forked process. It runs `work`, then waits to be ended; the parent continues after `work`.
class Process {
 public:
  explicit Process(const std::function<bool()>& work) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    child_.emplace();
    if (child_->number() == 0) {
      const char answer = work() ? 'y' : 'n';
      static_cast<void>(::write(ends[1], &answer, 1));
      while (true) ::pause();
    }
    ::close(ends[1]);
    char answer = 'n';
    worked_ = ::read(ends[0], &answer, 1) == 1 && answer == 'y';
    ::close(ends[0]);
  }

  [[nodiscard]] bool worked() const { return worked_; }
  [[nodiscard]] pid_t number() const { return child_ ? child_->number() : -1; }
  void kill() {
    if (child_) child_->kill();
  }

 private:
  std::optional<Child> child_;
  bool worked_ = false;
};

// Becomes an unprivileged user. For forked processes of tests that run as root.
inline bool become(uid_t user) { return ::setgid(user) == 0 && ::setuid(user) == 0; }

}  // namespace k2k::host
