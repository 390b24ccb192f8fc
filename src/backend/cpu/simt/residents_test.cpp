#include "backend/cpu/simt/residents.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "backend/cpu/simt/unit_fixture.hpp"

namespace k2k::backend::cpu {
namespace {

class ResidentsTest : public testing::Test {
 protected:
  ResidentsTest() { EXPECT_TRUE(residents.usable()); }

  void begin(std::uint32_t groups, std::uint32_t items) {
    units.launch.groups = groups;
    units.launch.group_items = items;
    units.launch.next_group.store(0);
    residents.begin_launch();
  }
  // Returns the admitted work-items.
  std::vector<WorkItem*> admit() {
    std::vector<WorkItem*> came;
    residents.admit([&](WorkItem& item) {
      item.state = ItemState::ready;
      came.push_back(&item);
    });
    return came;
  }
  void end(Group& group) {
    for (std::uint32_t rank = 0; rank < group.items; ++rank) {
      group.first[rank].state = ItemState::done;
    }
    group.live = 0;
    residents.give_back(group);
  }

  TwoUnits units;
  Residents residents{units.unit(0), 0, units.plan, units.launch, units.local()};
};

TEST_F(ResidentsTest, TakesNoMoreThanItsShareOfASmallLaunch) {
  begin(4, 32);
  EXPECT_TRUE(residents.none());
  EXPECT_EQ(admit().size(), 2 * 32u) << "four groups, two units";
  EXPECT_FALSE(residents.none());
  EXPECT_EQ(residents.live_items(), 64u);
}

TEST_F(ResidentsTest, TakesNoMoreGroupsThanHaveRoom) {
  begin(1'000, 32);
  EXPECT_EQ(admit().size(), 4 * 32u) << "resident_groups";
  begin(1'000, 32 * 32);
  EXPECT_EQ(admit().size(), 2 * 32 * 32u) << "two groups of 32 waves in 70 rows";
}

TEST_F(ResidentsTest, TakesTheNextGroupWhenOneEnded) {
  begin(1'000, 1);
  const auto items = admit();
  ASSERT_EQ(items.size(), 4u);
  EXPECT_TRUE(admit().empty());
  end(*items[1]->group);
  EXPECT_EQ(residents.live_items(), 3u);
  const auto next = admit();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0]->visible.group, 4u);
  EXPECT_EQ(next[0], items[1]) << "in the row that became free";
}

TEST_F(ResidentsTest, IsEmptyWhenTheLaunchHasNoGroupLeft) {
  begin(2, 1);
  const auto items = admit();
  ASSERT_EQ(items.size(), 1u);
  units.launch.next_group.store(2);
  end(*items[0]->group);
  EXPECT_TRUE(admit().empty());
  EXPECT_TRUE(residents.none());
}

TEST_F(ResidentsTest, AWorkItemKnowsItsPlace) {
  begin(2, 40);
  const auto items = admit();
  ASSERT_EQ(items.size(), 40u);
  for (std::uint32_t rank = 0; rank < 40; ++rank) {
    const WorkItem& item = *items[rank];
    EXPECT_EQ(item.visible.rank, rank);
    EXPECT_EQ(item.visible.lane, rank % 32);
    EXPECT_EQ(item.unit, &units.unit(0));
    EXPECT_EQ(item.wave->first, items[rank - rank % 32]);
    EXPECT_EQ(item.visible.wave_members, rank < 32 ? 0xffff'ffffu : 0xffu);
  }
  EXPECT_EQ(items[0]->visible.wave + 1, items[32]->visible.wave);
}

TEST_F(ResidentsTest, UnitsBeginAtRingsOfTheirOwn) {
  Residents second{units.unit(1), 1, units.plan, units.launch, units.local()};
  begin(2, 1);
  const std::uint32_t row = admit()[0]->visible.wave;
  second.begin_launch();
  std::uint32_t row_of_second = 0;
  second.admit([&](const WorkItem& item) { row_of_second = item.visible.wave; });
  EXPECT_EQ(row % 2, 0u);
  EXPECT_EQ(row_of_second % 2, 1u);
  EXPECT_GE(row_of_second, TwoUnits::rows) << "in a row of its own";
}

TEST_F(ResidentsTest, LocalMemoryIsZeroForTheNextGroup) {
  begin(1'000, 1);
  const auto items = admit();
  Group& group = *items[0]->group;
  group.local[0] = std::byte{1};
  group.local[variables_begin] = std::byte{1};
  group.local_variables = 1;
  group.local_used = variables_begin + 1;
  end(group);
  ASSERT_EQ(admit().size(), 1u);
  EXPECT_EQ(group.local[0], std::byte{0});
  EXPECT_EQ(group.local[variables_begin], std::byte{0});
  EXPECT_EQ(group.local_variables, 0u);
}

TEST_F(ResidentsTest, ForEachPassesWorkItemsThatEnded) {
  begin(4, 2);
  const auto items = admit();
  ASSERT_EQ(items.size(), 4u);
  end(*items[0]->group);
  items[2]->state = ItemState::done;
  std::vector<WorkItem*> seen;
  residents.for_each([&](WorkItem& item) { seen.push_back(&item); });
  EXPECT_EQ(seen, std::vector{items[3]});
}

TEST_F(ResidentsTest, NoneIsLeftWhenTheLaunchEndsEarly) {
  begin(4, 2);
  admit();
  residents.forget_all();
  EXPECT_TRUE(residents.none());
  EXPECT_EQ(residents.live_items(), 0u);
  residents.for_each([](const WorkItem&) { FAIL(); });
}

}  // namespace
}  // namespace k2k::backend::cpu
