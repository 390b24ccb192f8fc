#include "backend/cpu/simt/waiters.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "backend/cpu/simt/unit_fixture.hpp"

namespace k2k::backend::cpu {
namespace {

class WaitersTest : public testing::Test {
 protected:
  WaitersTest() {
    EXPECT_TRUE(waiters.usable());
    waiters.begin_launch();
  }

  std::vector<WorkItem*> poll(Polls how = Polls::all) {
    std::vector<WorkItem*> ready;
    const bool any = waiters.poll(how, [&](WorkItem& item) { ready.push_back(&item); });
    EXPECT_EQ(any, !ready.empty());
    return ready;
  }
  // Completes as the server does: a row of the unit, or of the other unit.
  void answer(std::uint32_t row) {
    units.finish(row);
    Waiters& home = row < TwoUnits::rows ? waiters : units.unit(1).scheduler().waiters();
    if (home.attention().resume_row(row)) waiters.attention().resume_foreign();
  }
  bool foreigners_wait_at_the_other_unit() {
    return units.unit(1).attention().resume_row(TwoUnits::rows);
  }

  TwoUnits units;
  Waiters waiters{0, units.plan, units.launch};
  WorkItem one;
  WorkItem two;
};

TEST_F(WaitersTest, APollingWorkItemIsReadyWhenItsSlotIsFinished) {
  waiters.poll(one, units.slot(1));
  EXPECT_EQ(one.state, ItemState::polling);
  EXPECT_EQ(waiters.polling(), 1u);
  EXPECT_TRUE(poll().empty());
  answer(1);
  EXPECT_EQ(poll(), std::vector{&one});
  EXPECT_TRUE(waiters.empty());
}

TEST_F(WaitersTest, AHaltedWorkItemIsNotPolledBeforeItsRowIsPosted) {
  ASSERT_TRUE(waiters.halt(one, units.slot(69)));
  EXPECT_EQ(one.state, ItemState::halted);
  units.finish(69);
  EXPECT_TRUE(poll().empty());
  EXPECT_FALSE(waiters.posted());
  answer(69);
  EXPECT_TRUE(waiters.posted());
  EXPECT_EQ(poll(), std::vector{&one});
  EXPECT_TRUE(waiters.empty());
}

TEST_F(WaitersTest, OnlyTheFinishedSlotsOfARowAreReady) {
  ASSERT_TRUE(waiters.halt(one, units.slot(5)));
  ASSERT_TRUE(waiters.halt(two, *(&units.slot(5) + 1)));
  answer(5);
  EXPECT_EQ(poll(), std::vector{&one});
  EXPECT_FALSE(waiters.empty());
}

TEST_F(WaitersTest, NoWorkItemHaltsForASlotThatIsFinished) {
  units.finish(1);
  one.state = ItemState::running;
  EXPECT_FALSE(waiters.halt(one, units.slot(1)));
  EXPECT_EQ(one.state, ItemState::running);
  EXPECT_TRUE(waiters.empty());
}

TEST_F(WaitersTest, TheHomeOfAForeignSlotIsToldThatAWorkItemWaits) {
  waiters.poll(one, units.slot(TwoUnits::rows + 1));
  EXPECT_TRUE(foreigners_wait_at_the_other_unit());
  answer(TwoUnits::rows + 1);
  EXPECT_EQ(poll(), std::vector{&one});
  EXPECT_FALSE(foreigners_wait_at_the_other_unit());
}

TEST_F(WaitersTest, AWorkItemMayHaltForAForeignSlot) {
  ASSERT_TRUE(waiters.halt(one, units.slot(TwoUnits::rows + 1)));
  answer(TwoUnits::rows + 1);
  EXPECT_EQ(poll(), std::vector{&one});
  EXPECT_FALSE(foreigners_wait_at_the_other_unit());
}

TEST_F(WaitersTest, OnlyTheLatestPollerIsTakenBack) {
  waiters.poll(one, units.slot(1));
  waiters.poll(two, units.slot(2));
  EXPECT_FALSE(waiters.take_back(two)) << "not finished";
  answer(1);
  answer(2);
  EXPECT_FALSE(waiters.take_back(one));
  EXPECT_TRUE(waiters.take_back(two));
  EXPECT_EQ(poll(), std::vector{&one});
}

TEST_F(WaitersTest, EveryWaitEndsWhenTheRuntimeCloses) {
  waiters.poll(one, units.slot(1));
  ASSERT_TRUE(waiters.halt(two, units.slot(2)));
  EXPECT_FALSE(waiters.closed());
  units.close();
  EXPECT_TRUE(waiters.closed());
  EXPECT_EQ(poll(Polls::as_it_pays), (std::vector{&one, &two}));
  EXPECT_TRUE(waiters.empty());
}

TEST_F(WaitersTest, AnAbandonedLaunchLeavesNoWaiter) {
  waiters.poll(one, units.slot(TwoUnits::rows));
  ASSERT_TRUE(waiters.halt(two, units.slot(2)));
  waiters.forget(one);
  waiters.forget(two);
  waiters.forget_all();
  EXPECT_TRUE(waiters.empty());
  EXPECT_FALSE(foreigners_wait_at_the_other_unit());
}

}  // namespace
}  // namespace k2k::backend::cpu
