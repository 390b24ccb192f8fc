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

// --- Staged: one thread accepts, another tries.

class StagedServiceTest : public CoreTest {
 protected:
  StagedServiceTest() {
    parts->config.bottom_half = BottomHalfMode::staged;
    configure();
    parts->roles.pause();
  }
  // Closes the stage, so that run_stage() returns once no bundle waits.
  void preprocess() {
    ASSERT_EQ(parts->pool.next_work(self).task, Task::stage);
    parts->split.close();
    parts->split_service.run_stage(self);
    parts->pool.finish_work();
  }
};

TEST_F(StagedServiceTest, a_request_passes_two_threads) {
  publish_write(1, 0, "a");
  publish(1, 1, calls::nop_number);
  parts->split_service.hand_out(self, {{1, 0b11}});
  preprocess();
  EXPECT_EQ(state(1, 0), SlotState::processing) << "pre-processed, and not made yet";
  EXPECT_EQ(state(1, 1), SlotState::finished) << "it needs no worker";
  ASSERT_EQ(parts->pool.next_work(self).task, Task::attempt);
  parts->split_service.run_attempts(self);
  parts->pool.finish_work();
  EXPECT_EQ(state(1, 0), SlotState::finished);
  EXPECT_EQ(piped(), "a");
}

TEST_F(StagedServiceTest, several_bundles_are_preprocessed_together) {
  publish_write(1, 0, "a");
  publish_write(2, 5, "bc");
  parts->split_service.hand_out(self, {{1, 0b1}});
  parts->split_service.hand_out(self, {{2, 0b100000}});
  preprocess();
  EXPECT_EQ(self.stats.preprocessed.value(), 2u);
  ASSERT_EQ(parts->pool.next_work(self).task, Task::attempt);
  parts->split_service.run_attempts(self);
  EXPECT_EQ(piped(), "abc") << "in order";
}

TEST_F(StagedServiceTest, faults_are_filled_by_the_stage_though_no_worker_is_free) {
  int resolved = 0;
  fake_resolution = [&](std::span<services::Fault> faults, backend::Reading) {
    resolved += static_cast<int>(faults.size());
    return faults.size();
  };
  publish(1, 0, calls::fault_in_number, 0x1000);
  parts->split_service.hand_out(self, {{1, 0b1}});
  preprocess();
  EXPECT_EQ(resolved, 1);
  fake_resolution = nullptr;
}

TEST_F(StagedServiceTest, the_thread_of_the_stage_sleeps_until_a_bundle_rings) {
  ASSERT_EQ(parts->pool.next_work(self).task, Task::stage);
  std::thread stage([this] { parts->split_service.run_stage(self); });
  for (std::uint8_t lane = 0; lane < 3; ++lane) {
    publish(1, lane, calls::nop_number);
    parts->split_service.hand_out(parts->threads.add_unit(), {{1, std::uint64_t{1} << lane}});
    EXPECT_TRUE(finishes(1, lane));
  }
  parts->split.close();
  stage.join();
  EXPECT_EQ(self.stats.preprocessed.value(), 3u);
  EXPECT_LE(self.stats.preprocess_wakes.value(), 3u);
}

}  // namespace
}  // namespace k2k::server
