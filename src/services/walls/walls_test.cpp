// Goal: a thread behind walls is refused what the policy refuses, by Linux itself, and so are the
// threads that it starts; other threads are not; what Linux lacks is named or ends the start.

#include "services/walls/walls.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "services/raw.hpp"
#include "services/rules/call_rules.hpp"

namespace k2k::services {
namespace {

// Runs `body` on a thread that ends with its walls.
template <class Body>
void on_a_thread(const Body& body) {
  std::thread thread(body);
  thread.join();
}

WallKernel kernel_without_filters() {
  WallKernel kernel = WallKernel::of_linux();
  kernel.set_filter = [](const FilterProgram&) { return EINVAL; };
  return kernel;
}

// A call that every policy refuses, with arguments that make it harmless.
std::int64_t unshare_nothing() { return raw(SYS_unshare, 0ul); }

TEST(Walls, refuse_a_call_that_the_policy_refuses) {
  const auto walls = Walls::create({.strict = true});
  ASSERT_TRUE(walls) << walls.error().message;
  EXPECT_EQ(walls.value()->missing(), "");
  on_a_thread([&] {
    EXPECT_EQ(unshare_nothing(), 0);
    EXPECT_FALSE(walls.value()->enclose_this_thread());
    ASSERT_EQ(walls.value()->enclose(), 0);
    EXPECT_TRUE(walls.value()->enclose_this_thread());
    EXPECT_EQ(unshare_nothing(), -EPERM);
    EXPECT_EQ(raw(SYS_getppid), ::getppid());
    EXPECT_EQ(::fork(), -1);
    EXPECT_EQ(errno, EPERM);
  });
}

TEST(Walls, leave_other_threads_alone) {
  const auto walls = Walls::create({.strict = true});
  ASSERT_TRUE(walls) << walls.error().message;
  on_a_thread([&] { ASSERT_EQ(walls.value()->enclose(), 0); });
  EXPECT_EQ(unshare_nothing(), 0);
  EXPECT_FALSE(walls.value()->enclose_this_thread());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Walls, enclose_the_threads_that_a_thread_behind_them_starts) {
  const auto walls = Walls::create({.strict = true});
  ASSERT_TRUE(walls) << walls.error().message;
  on_a_thread([&] {
    ASSERT_EQ(walls.value()->enclose(), 0);
    on_a_thread([&] {
      EXPECT_EQ(unshare_nothing(), -EPERM);
      EXPECT_FALSE(walls.value()->enclose_this_thread());
      walls.value()->inherit();
      EXPECT_TRUE(walls.value()->enclose_this_thread());
    });
  });
}

TEST(Walls, stand_inside_each_other) {
  const auto outer = Walls::create({.strict = true});
  ASSERT_TRUE(outer) << outer.error().message;
  on_a_thread([&] {
    ASSERT_EQ(outer.value()->enclose(), 0);
    const auto inner = Walls::create({.openness = Openness::known_only, .strict = true});
    ASSERT_TRUE(inner) << inner.error().message;
    ASSERT_EQ(inner.value()->enclose(), 0);
    EXPECT_EQ(unshare_nothing(), -EPERM);
    EXPECT_EQ(raw(SYS_sched_get_priority_max, 0), -EPERM);
  });
}

TEST(Walls, follow_known_only) {
  const auto walls = Walls::create({.openness = Openness::known_only, .strict = true});
  ASSERT_TRUE(walls) << walls.error().message;
  on_a_thread([&] {
    ASSERT_EQ(walls.value()->enclose(), 0);
    EXPECT_EQ(raw(SYS_sched_get_priority_max, 0), -EPERM);  // It has no typed wrapper.
    EXPECT_EQ(raw(SYS_getpid), ::getpid());
  });
}

TEST(Walls, end_a_strict_start_where_the_kernel_has_no_filter) {
  const auto walls = Walls::create({.strict = true}, kernel_without_filters());
  ASSERT_FALSE(walls);
  EXPECT_EQ(walls.error().code, ENOTSUP);
  EXPECT_EQ(walls.error().message,
            "server.walls = \"strict\" cannot be kept: no seccomp filter (Invalid argument): K2K "
            "alone refuses the calls that the policy refuses; use a Linux with "
            "CONFIG_SECCOMP_FILTER, and allow seccomp in the container's profile; or set "
            "server.walls = \"on\" to run without");
}

TEST(Walls, name_what_the_kernel_lacks_and_do_without) {
  const auto walls = Walls::create({}, kernel_without_filters());
  ASSERT_TRUE(walls) << walls.error().message;
  EXPECT_TRUE(walls.value()->missing().starts_with("no seccomp filter (Invalid argument): "));
  on_a_thread([&] {
    EXPECT_EQ(walls.value()->enclose(), 0);
    EXPECT_TRUE(walls.value()->enclose_this_thread());
    EXPECT_EQ(unshare_nothing(), 0);
  });
}

TEST(Walls, tell_a_thread_that_they_could_not_be_built) {
  int filters = 0;
  WallKernel kernel = WallKernel::of_linux();
  kernel.set_filter = [&filters](const FilterProgram&) { return filters++ == 0 ? 0 : ENOMEM; };
  const auto walls = Walls::create({}, kernel);
  ASSERT_TRUE(walls) << walls.error().message;
  EXPECT_EQ(walls.value()->enclose(), ENOMEM);
  EXPECT_FALSE(walls.value()->enclose_this_thread());
}

// --- Files, below the roots of a policy.

namespace fs = std::filesystem;

class FileWalls : public testing::Test {
 protected:
  FileWalls() {
    std::string pattern = testing::TempDir() + "k2k_walls_XXXXXX";
    folder_ = fs::canonical(::mkdtemp(pattern.data()));
    fs::create_directories(folder_ / "root/one");
    fs::create_directory(folder_ / "root/two");
    std::ofstream(inside()) << "inside";
    std::ofstream(outside()) << "outside";
    WantedRules wanted;
    wanted.roots = {(folder_ / "root").string()};
    wanted.audit_file = (folder_ / "audit").string();
    rules_ = CallRules::create(wanted).value();
  }
  ~FileWalls() override { fs::remove_all(folder_); }
  void SetUp() override {
    if (WallKernel::of_linux().landlock_version() <= 0) GTEST_SKIP() << "no Landlock here";
  }

  [[nodiscard]] std::string inside() const { return folder_ / "root/one/file"; }
  [[nodiscard]] std::string outside() const { return folder_ / "secret"; }
  fs::path folder_;
  std::shared_ptr<CallRules> rules_;
};

// 0, or the negative errno of openat().
std::int64_t error_of_open(const std::string& path, int flags) {
  const std::int64_t file = raw(SYS_openat, AT_FDCWD, path.c_str(), flags | O_CLOEXEC, 0600);
  if (file >= 0) ::close(static_cast<int>(file));
  return file < 0 ? file : 0;
}

TEST_F(FileWalls, open_files_below_the_roots_only) {
  const auto walls = Walls::create({.rules = rules_.get(), .strict = true});
  ASSERT_TRUE(walls) << walls.error().message;
  on_a_thread([&] {
    ASSERT_EQ(walls.value()->enclose(), 0);
    EXPECT_EQ(error_of_open(inside(), O_RDWR), 0);
    EXPECT_EQ(error_of_open(inside() + ".new", O_RDWR | O_CREAT), 0);
    EXPECT_EQ(error_of_open(outside(), O_RDONLY), -EACCES);
    EXPECT_EQ(error_of_open(outside(), O_WRONLY), -EACCES);
    EXPECT_EQ(error_of_open(outside() + ".new", O_RDWR | O_CREAT), -EACCES);
    EXPECT_EQ(error_of_open("/proc/self/mem", O_RDWR), -EACCES);
    EXPECT_EQ(raw(SYS_unlinkat, AT_FDCWD, outside().c_str(), 0), -EACCES);
  });
  EXPECT_EQ(error_of_open(outside(), O_RDWR), 0);  // Another thread.
}

TEST_F(FileWalls, let_files_be_moved_between_folders_below_the_roots) {
  const int version = WallKernel::of_linux().landlock_version();
  const auto walls = Walls::create({.rules = rules_.get(), .strict = true});
  ASSERT_TRUE(walls) << walls.error().message;
  const std::string to = folder_ / "root/two/file";
  on_a_thread([&] {
    ASSERT_EQ(walls.value()->enclose(), 0);
    EXPECT_EQ(raw(SYS_renameat2, AT_FDCWD, inside().c_str(), AT_FDCWD, to.c_str(), 0),
              version == 1 ? -EXDEV : 0);
    EXPECT_LT(raw(SYS_renameat2, AT_FDCWD, to.c_str(), AT_FDCWD, outside().c_str(), 0), 0);
  });
}

TEST_F(FileWalls, let_k2k_look_at_its_threads_and_at_disks) {
  const auto walls = Walls::create({.rules = rules_.get(), .strict = true});
  ASSERT_TRUE(walls) << walls.error().message;
  const std::string main_thread = fmt::format("/proc/self/task/{}/stat", ::getpid());
  const std::string online = "/sys/devices/system/cpu/online";
  on_a_thread([&] {
    ASSERT_EQ(walls.value()->enclose(), 0);
    const std::string own = fmt::format("/proc/self/task/{}/stat", ::gettid());
    EXPECT_EQ(error_of_open(own, O_RDONLY), 0);
    EXPECT_EQ(error_of_open(main_thread, O_RDONLY), 0);
    EXPECT_EQ(error_of_open(fmt::format("/proc/self/task/{}/mem", ::gettid()), O_RDWR), -EACCES);
    EXPECT_NE(error_of_open(online, O_RDONLY), -EACCES);
  });
}

TEST_F(FileWalls, leave_memory_of_this_process_readable) {
  const auto walls = Walls::create({.rules = rules_.get(), .strict = true});
  ASSERT_TRUE(walls) << walls.error().message;
  const std::string path = inside();
  services::Request request;
  request.number = SYS_openat;
  request.arguments[0] = static_cast<std::uint64_t>(AT_FDCWD);
  request.arguments[1] = reinterpret_cast<std::uint64_t>(path.c_str());
  request.arguments[2] = O_RDONLY;
  on_a_thread([&] {
    ASSERT_EQ(walls.value()->enclose(), 0);
    const std::int64_t file = rules_->perform(request);
    EXPECT_GE(file, 0);
    if (file >= 0) ::close(static_cast<int>(file));
  });
}

TEST_F(FileWalls, refuse_the_calls_that_cannot_be_confined) {
  const auto walls = Walls::create({.rules = rules_.get(), .strict = true});
  ASSERT_TRUE(walls) << walls.error().message;
  on_a_thread([&] {
    ASSERT_EQ(walls.value()->enclose(), 0);
    EXPECT_EQ(raw(SYS_truncate, inside().c_str(), 0), -EPERM);
    EXPECT_EQ(raw(SYS_link, inside().c_str(), (inside() + ".link").c_str()), -EPERM);
  });
}

TEST_F(FileWalls, end_a_strict_start_without_landlock_which_no_policy_without_roots_needs) {
  WallKernel kernel = WallKernel::of_linux();
  kernel.landlock_version = [] { return -EOPNOTSUPP; };
  const auto walls = Walls::create({.rules = rules_.get(), .strict = true}, kernel);
  ASSERT_FALSE(walls);
  EXPECT_EQ(walls.error().code, ENOTSUP);
  EXPECT_EQ(walls.error().message,
            "server.walls = \"strict\" cannot be kept: no Landlock (Operation not supported): K2K "
            "alone keeps the paths of kernels below the roots; use Linux 5.13 or later, boot with "
            "lsm=landlock,..., and allow landlock_* in the container's profile; or set "
            "server.walls = \"on\" to run without");
  EXPECT_TRUE(Walls::create({.strict = true}, kernel));
}

TEST_F(FileWalls, are_left_out_alone) {
  WallKernel kernel = WallKernel::of_linux();
  kernel.restrict_files = [](int) { return E2BIG; };
  const auto walls = Walls::create({.rules = rules_.get()}, kernel);
  ASSERT_TRUE(walls) << walls.error().message;
  EXPECT_TRUE(walls.value()->missing().starts_with("no Landlock (Argument list too long): "));
  on_a_thread([&] {
    ASSERT_EQ(walls.value()->enclose(), 0);
    EXPECT_EQ(error_of_open(outside(), O_RDONLY), 0);
    EXPECT_EQ(unshare_nothing(), -EPERM);
  });
}

}  // namespace
}  // namespace k2k::services
