// Goal: a call is tried without waiting, and a wait ends with the call, its launch or the server.

#include "server/pool/system_calls.hpp"

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <thread>

#include "base/clock.hpp"
#include "server/pool/server_parts_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

class SystemCallsTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0); }
  void TearDown() override {
    for (const int descriptor : pipe) ::close(descriptor);
    parts->threads.release();
  }
  Pending read_of(std::uint8_t lane) {
    Pending call;
    call.request = parts->accept(lane, __NR_read, pipe[0], buffer.data(), buffer.size());
    return call;
  }
  // Waits for the call on a service thread; returns its value.
  std::int64_t wait_for(Pending call, const std::function<void()>& meanwhile) {
    std::atomic<bool> begun{false};
    std::atomic<std::int64_t> value{0};
    EXPECT_TRUE(parts->threads.add(
        [&](ServiceThread& self) {
          begun = true;
          value = parts->system_calls.wait(self, call);
        },
        "k2k/test"));
    const Instant patience = now() + 10s;
    while (!begun && now() < patience) std::this_thread::yield();
    meanwhile();
    EXPECT_TRUE(parts->threads.wait_ended(10s));
    return value;
  }

  std::shared_ptr<ServerParts> parts = ServerParts::make();
  std::array<int, 2> pipe{};
  std::array<char, 8> buffer{};
};

TEST_F(SystemCallsTest, try_a_call_without_waiting) {
  ServiceThread& self = parts->threads.add_unit();
  Pending call = read_of(0);
  const services::Answer waits = parts->system_calls.attempt(self, call);
  EXPECT_TRUE(waits.would_wait);
  EXPECT_EQ(waits.readiness.descriptor, pipe[0]);
  ASSERT_EQ(::write(pipe[1], "abc", 3), 3);
  const services::Answer done = parts->system_calls.attempt(self, call);
  EXPECT_FALSE(done.would_wait);
  EXPECT_EQ(done.value, 3);
}

TEST_F(SystemCallsTest, do_not_try_calls_that_may_sleep_on_a_unit) {
  ServiceThread& unit = parts->threads.add_unit();
  Pending call;
  call.request = parts->accept(0, __NR_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0);
  const services::Answer answer = parts->system_calls.attempt(unit, call);
  EXPECT_TRUE(answer.would_wait);
  EXPECT_EQ(answer.readiness.descriptor, -1);
}

TEST_F(SystemCallsTest, wait_until_the_call_is_done) {
  parts->system_calls.end_waits_by(Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  EXPECT_EQ(wait_for(read_of(0), [&] { ASSERT_EQ(::write(pipe[1], "1234", 4), 4); }), 4);
}

TEST_F(SystemCallsTest, end_waits_for_descriptors) {
  parts->system_calls.end_waits_by(Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  EXPECT_EQ(wait_for(read_of(0), [&] { parts->system_calls.end_waits(); }), -ECANCELED);
  EXPECT_EQ(wait_for(read_of(1), [] {}), -ECANCELED) << "from now on";
}

TEST_F(SystemCallsTest, end_the_sleeps_of_a_launch) {
  const timespec minute{60, 0};
  Pending call;
  call.request = parts->accept(0, __NR_nanosleep, &minute, nullptr);
  std::atomic<bool> ended{false};
  const auto end_sleeps = [&] {
    // The call may not have begun yet: then there is no sleep to end.
    const Instant patience = now() + 10s;
    while (!parts->threads.wait_ended(1ms) && now() < patience) {
      parts->system_calls.end_sleeps_of_launch();
    }
    ended = true;
  };
  const Instant before = now();
  EXPECT_EQ(wait_for(call, end_sleeps), -ECANCELED);
  EXPECT_TRUE(ended);
  EXPECT_LT(now() - before, 30s);
}

TEST_F(SystemCallsTest, tell_a_disk_from_memory_by_time) {
  EXPECT_FALSE(parts->system_calls.have_waited(1, cycles_of(5)));
  EXPECT_TRUE(parts->system_calls.have_waited(1, cycles_of(100)));
  EXPECT_FALSE(parts->system_calls.have_waited(100, cycles_of(100))) << "a microsecond each";
}

}  // namespace
}  // namespace k2k::server
