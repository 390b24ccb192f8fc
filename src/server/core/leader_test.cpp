// Goal: the holder of a role serves doorbells until the role is not wanted any more.

#include "server/core/leader.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "server/core/core_parts_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;
using protocol::SlotState;

class LeaderTest : public CoreTest {
 protected:
  // The test's thread publishes; the leader has a thread of its own.
  void lead(Role& role) {
    leading = std::thread([this, &role] { kept = parts->leader.lead(self, role); });
  }
  bool end() {
    parts->roles.pause();
    leading.join();
    return kept;
  }

  std::thread leading;
  bool kept = false;
};

TEST_F(LeaderTest, serves_what_is_rung_until_its_role_is_not_wanted) {
  Role& role = hold_role();
  lead(role);
  for (std::uint8_t lane = 0; lane < 3; ++lane) {
    publish(1, lane, __NR_write, pipe[1], "a", 1);
    parts->backend.plain.ring(1, std::uint64_t{1} << lane);
    ASSERT_TRUE(finishes(1, lane));
    EXPECT_EQ(answer(1, lane), 1);
  }
  EXPECT_TRUE(end()) << "the role was not lost";
  EXPECT_EQ(role.word.view().phase, RolePhase::vacant);
}

TEST_F(LeaderTest, finds_requests_whose_doorbell_was_lost) {
  parts->config.rescan_us = 1'000;
  Role& role = hold_role();
  lead(role);
  publish(1, 0, __NR_write, pipe[1], "a", 1);
  EXPECT_TRUE(finishes(1, 0));
  EXPECT_TRUE(end());
}

TEST_F(LeaderTest, hands_bundles_out_in_split_mode) {
  parts->config.bottom_half = BottomHalfMode::split;
  Role& role = hold_role();
  lead(role);
  publish(1, 0, __NR_write, pipe[1], "a", 1);
  parts->backend.plain.ring(1, 0b1);
  ServiceThread& other = parts->threads.add_unit();  // The leader has its own statistics.
  other.is_unit = false;
  other.reserve();
  const ThreadPool::Work work = parts->pool.next_work(other);
  EXPECT_EQ(work.task, ThreadPool::Task::bundle);
  EXPECT_EQ(state(1, 0), SlotState::ready);
  parts->pool.finish_work();
  other.is_unit = true;  // It has no thread to wait for.
  EXPECT_TRUE(end());
}

TEST_F(LeaderTest, waits_until_a_unit_gives_its_role_back) {
  parts->config.bottom_half = BottomHalfMode::on_unit;
  configure();
  Role& role = parts->roles.at(0);
  const ServiceThread& unit = parts->threads.add_unit();
  ASSERT_TRUE(role.word.take(unit.index));
  std::atomic<bool> given_back{false};
  std::thread unit_thread([&] {
    std::this_thread::sleep_for(5ms);
    given_back = true;
    role.word.vacate(unit.index);
  });
  Leader::take_from_units(self, role);
  EXPECT_TRUE(given_back);
  EXPECT_EQ(role.word.view().holder, self.index);
  unit_thread.join();
}

TEST_F(LeaderTest, takes_nothing_from_units_that_do_not_serve) {
  Role& role = hold_role();
  Leader::take_from_units(self, role);
  EXPECT_EQ(role.word.view().holder, self.index);
}

}  // namespace
}  // namespace k2k::server
