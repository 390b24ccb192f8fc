// Goal: while the waiting thread is in block(), other threads add calls for which it need not wake;
// a call that it would look at too late is refused, or wakes it.

#include <asm/unistd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "server/waits/descriptor_waits_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

class CallsBeside : public DescriptorWaitsTest {
 protected:
  using Beside = DescriptorWaits::Beside;

  Pending read_of(std::uint8_t lane, int descriptor) {
    return tried(lane, 0, __NR_read, descriptor, buffer, 8);
  }
  // Until the moment, if it is not zero.
  static Pending due(Pending call, Nanoseconds from_now) {
    call.readiness.moment = now() + from_now;
    return call;
  }
  void begin_wait() {
    waits.begin_wait(wake, result);
    EXPECT_TRUE(result.empty());
  }
  Beside add_beside(const Pending& call) { return waits.add_beside(call, now(), result); }
  Answers end_wait() {
    waits.end_wait(result);
    return told(result.answered);
  }

  DescriptorWaits::Round result;
};

TEST_F(CallsBeside, are_those_that_are_due_after_the_next_look) {
  begin(1, __NR_read, pipe[0], buffer, 8);
  begin_wait();
  EXPECT_EQ(add_beside(read_of(2, stream[0])), Beside::added);
  EXPECT_EQ(add_beside(read_of(3, pipe[0])), Beside::added) << "the same descriptor";
  EXPECT_EQ(add_beside(due(read_of(4, stream[0]), 2s)), Beside::added);
  EXPECT_EQ(add_beside(due(read_of(5, stream[0]), 5ms)), Beside::refused);
  Pending sleep;
  sleep.request.lane = 6;
  EXPECT_EQ(add_beside(due(sleep, 5ms)), Beside::refused);
  EXPECT_EQ(add_beside(due(sleep, 2s)), Beside::added);
  const timeval limit{0, 5'000};
  ASSERT_EQ(::setsockopt(stream[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
  EXPECT_EQ(add_beside(tried(7, 0, __NR_recvfrom, stream[0], buffer, 8, 0, 0, 0)), Beside::refused)
      << "the timeout of its socket comes first";
  EXPECT_EQ(waits.size(), 5u);
}

TEST_F(CallsBeside, are_none_of_several_descriptors_of_a_queue_or_with_a_timer) {
  begin(1, __NR_read, pipe[0], buffer, 8);
  begin_wait();
  Pending call = read_of(2, stream[0]);
  call.readiness.several = true;
  EXPECT_EQ(add_beside(call), Beside::refused);
  call = read_of(2, stream[0]);
  call.readiness.queue = 7;
  EXPECT_EQ(add_beside(call), Beside::refused);
  call = read_of(2, stream[0]);
  for (const int number : {__NR_accept, __NR_accept4, __NR_connect}) {
    call.request.number = static_cast<std::uint16_t>(number);
    EXPECT_EQ(add_beside(call), Beside::refused) << number;
  }
}

TEST_F(CallsBeside, are_none_if_the_thread_will_not_look_by_itself) {
  begin_wait();
  EXPECT_EQ(add_beside(read_of(1, pipe[0])), Beside::refused) << "its registration is renewed";
  EXPECT_EQ(add_beside(due({}, 24h)), Beside::refused);
}

TEST_F(CallsBeside, may_come_for_a_while_after_the_last_call_was_answered) {
  begin(1, __NR_read, pipe[0], buffer, 8);
  ASSERT_EQ(::write(pipe[1], "a", 1), 1);
  EXPECT_EQ(round(), (Answers{{1, 1}}));
  EXPECT_EQ(waits.size(), 0u);
  begin_wait();
  EXPECT_EQ(add_beside(read_of(1, pipe[0])), Beside::added);
}

TEST_F(CallsBeside, may_not_come_once_the_thread_has_looked_without_any) {
  begin(1, __NR_read, pipe[0], buffer, 8);
  ASSERT_EQ(::write(pipe[1], "a", 1), 1);
  EXPECT_EQ(round(), (Answers{{1, 1}}));
  // Linux interrupts a look once or twice to take down the io_uring of an earlier test.
  Nanoseconds look{};
  for (int looks = 0; looks < 8 && look < 100ms; ++looks) {
    const Instant before = now();
    EXPECT_TRUE(round().empty());
    look = now() - before;
  }
  EXPECT_GE(look, 100ms);
  EXPECT_LT(look, 10s) << "a second on a quiet machine";
  begin_wait();
  EXPECT_EQ(add_beside(read_of(1, pipe[0])), Beside::refused);
}

TEST_F(CallsBeside, are_reported_to_the_blocked_thread) {
  begin(1, __NR_read, pipe[0], buffer, 8);
  const Pending call = tried(2, 0, __NR_recvfrom, stream[0], buffer, 8, 0, 0, 0);
  begin_wait();
  std::thread blocked([this] { waits.block(); });
  EXPECT_EQ(add_beside(call), Beside::added);
  ASSERT_EQ(::write(stream[1], "abc", 3), 3);
  blocked.join();
  EXPECT_EQ(end_wait(), (Answers{{2, 3}}));
}

TEST_F(CallsBeside, wake_the_thread_if_they_end_others) {
  int later[2] = {-1, -1};
  ASSERT_EQ(::pipe2(later, O_CLOEXEC), 0);
  begin(1, __NR_read, pipe[0], buffer, 8);
  begin_wait();
  ASSERT_EQ(::dup2(later[0], pipe[0]), pipe[0]);
  EXPECT_EQ(add_beside(read_of(2, pipe[0])), Beside::must_wake);
  EXPECT_EQ(told(result.answered), (Answers{{1, -EBADF}}));
  ::close(later[0]);
  ::close(later[1]);
}

TEST_F(CallsBeside, wake_the_thread_if_the_program_closed_its_set) {
  begin(1, __NR_read, pipe[0], buffer, 8);
  const Pending call = tried(2, 0, __NR_recvfrom, stream[0], buffer, 8, 0, 0, 0);
  begin_wait();
  std::thread blocked([this] { waits.block(); });
  close_sets({});
  EXPECT_EQ(add_beside(call), Beside::must_wake);
  EXPECT_EQ(add_beside(call), Beside::refused) << "there is no set any more";
  ring();
  blocked.join();
  EXPECT_TRUE(end_wait().empty());
  ASSERT_EQ(::write(stream[1], "abc", 3), 3);
  EXPECT_EQ(rounds(), (Answers{{2, 3}}));
}

}  // namespace
}  // namespace k2k::server
