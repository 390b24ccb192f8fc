// Goal: a waiting thread is distinguished from a thread that computes.

#include "host/thread_state.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <limits>
#include <thread>

#include "base/naps.hpp"

namespace k2k::host {
namespace {

using namespace std::chrono_literals;

TEST(ThreadState, runs_for_the_calling_thread) { EXPECT_FALSE(thread_waits(::gettid())); }

TEST(ThreadState, tells_waiting_from_computing) {
  std::atomic<pid_t> thread{0};
  std::atomic<bool> go_on{false};
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::thread other([&] {
    ::prctl(PR_SET_NAME, "a) S (b");  // A name that looks like a state.
    thread = ::gettid();
    while (!go_on) {
    }
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  });
  while (thread == 0) std::this_thread::yield();
  for (int look = 0; look < 100; ++look) EXPECT_FALSE(thread_waits(thread));
  go_on = true;
  Naps naps(100us, 10ms);
  while (!thread_waits(thread))
    naps.take();  // Until the thread is in read(). The test's timeout ends this loop.
  EXPECT_EQ(::write(ends[1], "x", 1), 1);
  other.join();
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(ThreadState, waits_if_nothing_is_known_of_the_thread) {
  EXPECT_TRUE(thread_waits(std::numeric_limits<pid_t>::max()));
}

}  // namespace
}  // namespace k2k::host
