// Goal: a call that would wait is made on the right thread, and answered.

#include "server/core/waiting_calls.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "server/core/core_parts_fixture.hpp"
#include "services/services.hpp"

namespace k2k::server {
namespace {

using protocol::SlotState;

class WaitingCallsTest : public CoreTest {
 protected:
  WaitingCallsTest() {
    configure();
    parts->roles.pause();  // The pool's work is then only calls.
  }
  // A read of the empty pipe, tried once.
  Pending read_of_pipe(std::uint8_t lane) { return parts->tried_read(lane, pipe[0], buffer); }
};

TEST_F(WaitingCallsTest, a_call_for_a_descriptor_waits_on_the_thread_for_all_of_them) {
  watch_descriptors();
  parts->waiting.set_aside(read_of_pipe(0));
  EXPECT_EQ(state(1, 0), SlotState::processing);
  ASSERT_EQ(::write(pipe[1], "123", 3), 3);
  ASSERT_TRUE(finishes(1, 0));
  EXPECT_EQ(answer(1, 0), 3);
}

TEST_F(WaitingCallsTest, a_call_that_no_thread_watches_goes_to_the_pool) {
  const Pending call = read_of_pipe(3);
  EXPECT_FALSE(parts->waiting.watch(call));
  parts->waiting.set_aside(call);
  const ThreadPool::Work work = parts->pool.next_work(self);
  EXPECT_EQ(work.task, ThreadPool::Task::call);
  EXPECT_EQ(work.call.request.lane, 3);
}

TEST_F(WaitingCallsTest, a_thread_makes_the_call_and_answers_it) {
  const Pending call = read_of_pipe(0);
  ASSERT_EQ(::write(pipe[1], "12345", 5), 5);
  parts->waiting.run(self, call);
  EXPECT_EQ(state(1, 0), SlotState::finished);
  EXPECT_EQ(answer(1, 0), 5);
  EXPECT_EQ(parts->backend.resumed(), std::vector<std::uint32_t>{1});
}

TEST_F(WaitingCallsTest, a_unit_leaves_the_call_to_the_pool) {
  const Pending call = read_of_pipe(0);
  ASSERT_EQ(::write(pipe[1], "12345", 5), 5);
  self.is_unit = true;
  parts->waiting.run(self, call);
  EXPECT_EQ(state(1, 0), SlotState::processing);
  EXPECT_EQ(parts->pool.next_work(self).task, ThreadPool::Task::call);
}

}  // namespace
}  // namespace k2k::server
