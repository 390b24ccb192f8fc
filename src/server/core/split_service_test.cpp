// Goal: in split mode every request of a bundle that is handed out is accepted and tried.

#include "server/core/split_service.hpp"

#include <gtest/gtest.h>

#include "server/core/core_parts_fixture.hpp"

namespace k2k::server {
namespace {

using protocol::SlotState;
using Task = ThreadPool::Task;

class SplitServiceTest : public CoreTest {
 protected:
  SplitServiceTest() {
    parts->config.bottom_half = BottomHalfMode::split;
    configure();
    parts->roles.pause();  // The pool's work is then only bundles and calls.
  }
};

TEST_F(SplitServiceTest, a_bundle_is_handed_to_the_pool) {
  publish_write(1, 0, "a");
  parts->split_service.hand_out(self, {{1, 0b1}});
  EXPECT_EQ(state(1, 0), SlotState::ready) << "not by this thread";
  const ThreadPool::Work work = parts->pool.next_work(self);
  ASSERT_EQ(work.task, Task::bundle);
  parts->split_service.run_bundle(self, work.bundle);
  parts->pool.finish_work();
  EXPECT_EQ(state(1, 0), SlotState::finished);
  EXPECT_EQ(answer(1, 0), 1);
}

TEST_F(SplitServiceTest, all_requests_of_a_bundle_are_tried) {
  publish_write(1, 0, "a");
  publish(1, 1, calls::nop_number);
  publish_write(2, 5, "bc");
  parts->split_service.hand_out(self, {{1, 0b11}, {2, 0b100000}});
  const ThreadPool::Work work = parts->pool.next_work(self);
  parts->split_service.run_bundle(self, work.bundle);
  EXPECT_EQ(piped(), "abc");
  EXPECT_EQ(state(1, 1), SlotState::finished);
  EXPECT_EQ(answer(2, 5), 2);
}

TEST_F(SplitServiceTest, an_attempt_that_would_wait_is_set_aside) {
  publish_read(1, 0);
  publish_write(1, 1, "1234");
  parts->split_service.hand_out(self, {{1, 0b11}});
  ThreadPool::Work work = parts->pool.next_work(self);
  parts->split_service.run_bundle(self, work.bundle);
  parts->pool.finish_work();
  EXPECT_EQ(state(1, 0), SlotState::processing);
  EXPECT_EQ(state(1, 1), SlotState::finished);
  work = parts->pool.next_work(self);
  ASSERT_EQ(work.task, Task::call);
  parts->waiting.run(self, work.call);
  EXPECT_EQ(answer(1, 0), 4);
}

TEST_F(SplitServiceTest, a_bundle_that_names_a_slot_twice_is_served_once) {
  publish_write(1, 0, "a");
  parts->split_service.hand_out(self, {{1, 0b1}, {1, 0b1}});
  const ThreadPool::Work work = parts->pool.next_work(self);
  parts->split_service.run_bundle(self, work.bundle);
  EXPECT_EQ(piped(), "a");
}

}  // namespace
}  // namespace k2k::server
