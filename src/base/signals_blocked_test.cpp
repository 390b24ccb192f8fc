// Goal: a thread started within the scope keeps the blocked mask; its starter gets its own mask
// back.

#include "base/signals_blocked.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace k2k {
namespace {

bool blocked(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

TEST(SignalsBlocked, are_blocked_in_a_thread_started_meanwhile) {
  bool interrupt = false;
  bool fault = true;
  std::thread thread;
  {
    const SignalsBlocked guard({SIGBUS});
    thread = std::thread([&] {
      interrupt = blocked(SIGINT);
      fault = blocked(SIGBUS);
    });
  }
  thread.join();
  EXPECT_TRUE(interrupt);
  EXPECT_FALSE(fault);
  EXPECT_FALSE(blocked(SIGINT));
}

TEST(SignalsBlocked, leave_earlier_blocked_signals_blocked) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &one, nullptr);
  {
    const SignalsBlocked guard;
    EXPECT_TRUE(blocked(SIGUSR2));
  }
  EXPECT_TRUE(blocked(SIGUSR1));
  EXPECT_FALSE(blocked(SIGUSR2));
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

}  // namespace
}  // namespace k2k
