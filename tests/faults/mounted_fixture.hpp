#pragma once
// A mount of the fault file system, for as long as a test runs.
//
// Threading: the test's.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <sstream>
#include <string>

#include "base/contract.hpp"
#include "io/file/files_fixture.hpp"
#include "tests/faults/control.hpp"

namespace k2k::faults {

class FaultFileSystem {
 public:
  // The reason why this machine cannot mount a file system; empty if it can.
  static std::string refused() {
    const io::Opened fuse(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
    if (fuse.number() >= 0) return "";
    return std::string("/dev/fuse cannot be opened (") + std::strerror(errno) +
           "): run as root, with the kernel's module fuse";
  }

  FaultFileSystem() {
    std::filesystem::create_directory(folder());
    std::filesystem::create_directory(mount_point());
    share_control();
    start();
    if (error_.empty()) wait_for_mount();
  }
  ~FaultFileSystem() {
    control_->hold_direct_opens = 0;
    control_->hold_reads = 0;
    control_->hold_attributes = 0;
    if (server_ > 0) {
      ::umount2(mount_point().c_str(), MNT_DETACH);
      ::kill(server_, SIGTERM);
      ::waitpid(server_, nullptr, 0);
    }
    ::munmap(control_, sizeof(Control));
  }
  FaultFileSystem(const FaultFileSystem&) = delete;
  FaultFileSystem& operator=(const FaultFileSystem&) = delete;

  // The reason why the mount failed; empty if it succeeded.
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] Control& control() const { return *control_; }
  [[nodiscard]] std::string control_path() const { return files_.path("control"); }
  // The process that serves it.
  [[nodiscard]] pid_t server() const { return server_; }
  // The mount, and the folder with the same files behind it.
  [[nodiscard]] std::string mount_point() const { return files_.path("mount"); }
  [[nodiscard]] std::string folder() const { return files_.path("folder"); }
  // Makes a file of io::content().
  void make_file(const std::string& name, std::size_t bytes) const {
    io::make_file(files_, "folder/" + name, bytes);
  }

 private:
  void share_control() {
    const io::Opened file = io::open_file(files_.path("control"), O_RDWR | O_CREAT);
    K2K_EXPECT(::ftruncate(file.number(), sizeof(Control)) == 0);
    void* const memory =
        ::mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
    K2K_EXPECT(memory != MAP_FAILED);
    control_ = ::new (memory) Control;
  }
  void start() {
    const std::string paths[] = {
        std::filesystem::absolute(files_.path("control")).string(),
        std::filesystem::absolute(folder()).string(),
        std::filesystem::absolute(mount_point()).string(),
        std::filesystem::absolute(files_.path("says")).string(),
    };
    server_ = ::fork();
    if (server_ < 0) error_ = std::string("fork: ") + std::strerror(errno);
    if (server_ != 0) return;
    const int says = ::open(paths[3].c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(says, STDERR_FILENO);
    ::execl(K2K_FAULT_FILE_SYSTEM, K2K_FAULT_FILE_SYSTEM, paths[0].c_str(), paths[1].c_str(),
            paths[2].c_str(), nullptr);
    ::_exit(127);
  }
  void wait_for_mount() {
    struct statfs system{};
    while (::statfs(mount_point().c_str(), &system) != 0 || system.f_type != FUSE_SUPER_MAGIC) {
      int status = 0;
      if (::waitpid(server_, &status, WNOHANG) == server_) {
        server_ = -1;
        std::stringstream text;
        text << std::ifstream(files_.path("says")).rdbuf();
        error_ = "the fault file system ended: " + text.str();
        return;
      }
      ::usleep(1000);
    }
  }

  const io::OwnFiles files_;
  Control* control_ = nullptr;
  pid_t server_ = -1;
  std::string error_;
};

// For SetUp(): mounts it, or skips the test where there is no FUSE.
inline void mount_or_skip(std::unique_ptr<FaultFileSystem>& system) {
  if (const std::string why = FaultFileSystem::refused(); !why.empty()) GTEST_SKIP() << why;
  system = std::make_unique<FaultFileSystem>();
  // Root may lack the right to mount, as in a container; other users may lack fusermount3.
  const bool may_not = system->error().find("not permitted") != std::string::npos;
  if (!system->error().empty() && (may_not || ::geteuid() != 0)) GTEST_SKIP() << system->error();
  ASSERT_EQ(system->error(), "");
}

class WithFaults : public testing::Test {
 protected:
  void SetUp() override { mount_or_skip(system_); }

  [[nodiscard]] FaultFileSystem& system() const { return *system_; }
  [[nodiscard]] Control& control() const { return system_->control(); }

 private:
  std::unique_ptr<FaultFileSystem> system_;
};

}  // namespace k2k::faults
