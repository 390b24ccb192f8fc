// Goal: a unit serves the doorbells of its own rings, and no role that another thread holds.

#include "server/core/inline_units.hpp"

#include <gtest/gtest.h>

#include "server/core/core_parts_fixture.hpp"

namespace k2k::server {
namespace {

using protocol::SlotState;
using Found = backend::InlineService::Found;
using Reach = backend::InlineService::Reach;

class InlineUnitsTest : public CoreTest {
 protected:
  InlineUnitsTest() {
    parts->backend.facts.compute_units = 2;
    parts->config.bottom_half = BottomHalfMode::on_unit;
    parts->config.top_halves = 2;
    configure();
    EXPECT_TRUE(parts->units.begin(parts->config));
  }
  ~InlineUnitsTest() override { parts->units.end(); }

  // A row of unit 0 rings the first ring, a row of unit 1 the second.
  void call(std::uint32_t row) {
    publish(row, 0, __NR_write, pipe[1], "a", 1);
    parts->backend.plain.ring(row, 0b1);
  }
  bool is_vacant(std::size_t role) {
    return parts->roles.at(role).word.view().phase == RolePhase::vacant;
  }
};

TEST_F(InlineUnitsTest, nothing_is_found_without_a_doorbell) {
  EXPECT_EQ(parts->units.serve(0, Reach::all), Found::nothing);
  EXPECT_TRUE(is_vacant(0));
  EXPECT_TRUE(is_vacant(1));
}

TEST_F(InlineUnitsTest, a_unit_serves_its_doorbells_and_gives_the_role_back) {
  call(0);
  EXPECT_EQ(parts->units.serve(0, Reach::own), Found::served);
  EXPECT_EQ(state(0, 0), SlotState::finished);
  EXPECT_TRUE(is_vacant(0));
  EXPECT_EQ(parts->units.serve(0, Reach::own), Found::nothing);
}

TEST_F(InlineUnitsTest, doorbells_of_other_units_are_within_the_wider_reach_alone) {
  call(1);
  EXPECT_EQ(parts->units.serve(0, Reach::own), Found::nothing);
  EXPECT_EQ(state(1, 0), SlotState::ready);
  EXPECT_EQ(parts->units.serve(0, Reach::all), Found::served);
  EXPECT_EQ(state(1, 0), SlotState::finished);
}

TEST_F(InlineUnitsTest, a_role_that_another_thread_holds_is_busy) {
  call(0);
  ASSERT_TRUE(parts->roles.at(0).word.take(self.index));
  EXPECT_EQ(parts->units.serve(0, Reach::own), Found::busy);
  EXPECT_EQ(state(0, 0), SlotState::ready);
  call(1);
  EXPECT_EQ(parts->units.serve(0, Reach::all), Found::served) << "the other role";
  parts->roles.at(0).word.vacate(self.index);
}

TEST_F(InlineUnitsTest, a_role_that_is_not_the_units_is_left_alone) {
  call(0);
  parts->roles.at(0).on_units.store(false);
  EXPECT_EQ(parts->units.serve(0, Reach::own), Found::nothing);
  EXPECT_TRUE(is_vacant(0));
  EXPECT_EQ(state(0, 0), SlotState::ready);
}

TEST_F(InlineUnitsTest, nothing_is_served_while_no_role_is_wanted) {
  call(0);
  parts->roles.pause();
  EXPECT_EQ(parts->units.serve(0, Reach::all), Found::nothing);
  EXPECT_EQ(state(0, 0), SlotState::ready);
}

}  // namespace
}  // namespace k2k::server
