// Goal: a signal is told, cancels the kernel that runs, and a second one ends the process; a signal
// that was ignored stays so, and all handlers are as before at the end.

#include "apps/common/interruption.hpp"

#include <unistd.h>

#include <cerrno>

#include "apps/common/input_fixture.hpp"
#include "device/k2k.hpp"

namespace k2k::apps {
namespace {

TEST(Interruptions, are_told_by_their_signal) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const Interruption interruption(nullptr);
    EXPECT_EQ(Interruption::signal(), 0);
    ::raise(number);
    EXPECT_EQ(Interruption::signal(), number);
  }
}

TEST(Interruptions, cancel_the_kernel_that_runs) {
  auto runtime = Runtime::create(small_device());
  ASSERT_TRUE(runtime) << runtime.error().message;
  const Interruption interruption(&*runtime);
  const pid_t own = ::getpid();
  // The kernel sends the signal and would never end.
  const auto report = runtime->launch({.groups = 1, .group_items = 1}, [=] {
    ::kill(own, SIGINT);
    while (true) static_cast<void>(k2k::nop(k2k::work_item));
  });
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ECANCELED);
  EXPECT_EQ(Interruption::signal(), SIGINT);
  const auto after = runtime->launch({.groups = 1, .group_items = 1}, [] {});
  EXPECT_TRUE(after) << "the runtime goes on";
}

TEST(Interruptions, end_the_process_the_second_time) {
  const Ended ended = in_child([] {
    const Interruption interruption(nullptr);
    ::raise(SIGINT);
    ::raise(SIGINT);
    return 0;
  });
  EXPECT_TRUE(WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGINT) << ended.status;
}

TEST(Interruptions, by_ignored_signals_are_none) {
  const Ended ended = in_child([] {
    ::signal(SIGHUP, SIG_IGN);
    const Interruption interruption(nullptr);
    ::raise(SIGHUP);
    return Interruption::signal();
  });
  EXPECT_TRUE(WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0) << ended.status;
}

TEST(Interruptions, leave_the_handlers_as_they_were) {
  {
    const Interruption interruption(nullptr);
  }
  struct sigaction after{};
  ::sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(after.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace k2k::apps
