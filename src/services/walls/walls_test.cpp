// Goal: a thread behind walls is refused what the policy refuses, by Linux itself, and so are the
// threads that it starts; other threads are not; what the kernel lacks is named or ends the start.

#include "services/walls/walls.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "services/raw.hpp"

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
            "server.walls = \"strict\" cannot be kept: no seccomp filter (Invalid argument): the "
            "calls that the policy refuses are refused by K2K alone; use a kernel with "
            "CONFIG_SECCOMP_FILTER, and allow seccomp in the container's profile; or set "
            "server.walls = \"on\" to run without it");
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

}  // namespace
}  // namespace k2k::services
