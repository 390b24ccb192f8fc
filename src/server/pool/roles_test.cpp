// Goal: each role has one holder, and a role is vacant only while it is wanted.

#include "server/pool/roles.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "server/pool/service_threads.hpp"
#include "services/fake_backend_fixture.hpp"

namespace k2k::server {
namespace {

class RolesTest : public testing::Test {
 protected:
  static ServerConfig config_of(std::uint32_t top_halves) {
    ServerConfig config;
    config.top_halves = top_halves;
    return config;
  }

  services::FakeBackend backend{{.rings = 2}};
  SleepingCalls sleeping;
  ServiceThreads threads{sleeping};
  ServiceThread& one = threads.add_unit();
  ServiceThread& two = threads.add_unit();
  ServiceThread& three = threads.add_unit();
  Roles roles{backend};
};

TEST_F(RolesTest, are_taken_in_order_and_once) {
  EXPECT_EQ(roles.take_vacant(one.index), nullptr) << "none is wanted yet";
  roles.resume(2);
  EXPECT_EQ(roles.take_vacant(one.index), &roles.at(0));
  EXPECT_EQ(roles.take_vacant(two.index), &roles.at(1));
  EXPECT_EQ(roles.take_vacant(three.index), nullptr);
  EXPECT_EQ(roles.held(), 2u);
  EXPECT_EQ(roles.at(1).word.view().holder, two.index);
}

TEST_F(RolesTest, go_to_the_next_thread_while_they_are_wanted) {
  roles.resume(1);
  Role* const role = roles.take_vacant(one.index);
  ASSERT_NE(role, nullptr);
  roles.pass_on(*role, one.index);
  EXPECT_EQ(roles.held(), 0u);
  EXPECT_EQ(roles.take_vacant(two.index), role);
  roles.pause();
  EXPECT_FALSE(roles.wanted(*role));
  EXPECT_EQ(roles.held(), 1u) << "until its holder leaves";
  roles.pass_on(*role, two.index);
  EXPECT_EQ(roles.held(), 0u);
  EXPECT_EQ(roles.take_vacant(one.index), nullptr);
  roles.resume(1);
  EXPECT_EQ(roles.take_vacant(one.index), role);
}

TEST_F(RolesTest, are_not_vacant_once_their_holder_has_left) {
  roles.resume(1);
  Role* const role = roles.take_vacant(one.index);
  ASSERT_NE(role, nullptr);
  roles.leave(*role, one.index);
  EXPECT_EQ(roles.take_vacant(one.index), nullptr);
}

TEST_F(RolesTest, are_taken_over_from_a_holder_in_one_call_at_two_looks) {
  roles.resume(1);
  Role* const role = roles.take_vacant(one.index);
  ASSERT_NE(role, nullptr);
  EXPECT_EQ(roles.take_over_stuck(threads, two.index), nullptr) << "in no call";
  one.call.begin();
  EXPECT_EQ(roles.take_over_stuck(threads, two.index), nullptr) << "seen for the first time";
  one.call.end();
  one.call.begin();
  EXPECT_EQ(roles.take_over_stuck(threads, two.index), nullptr) << "another call";
  EXPECT_EQ(roles.take_over_stuck(threads, two.index), role);
  EXPECT_EQ(role->word.view().holder, two.index);
  EXPECT_EQ(roles.held(), 1u) << "by another thread";
  one.call.end();
  EXPECT_FALSE(role->word.still_held_by(one.index));
}

TEST_F(RolesTest, of_units_count_the_thread_that_stands_by_and_the_thread_that_rescues) {
  ServerConfig config = config_of(1);
  config.bottom_half = BottomHalfMode::on_unit;
  EXPECT_TRUE(roles.assign(config).empty());
  roles.resume(1);
  ASSERT_TRUE(roles.at(0).word.take(one.index)) << "a unit serves";
  EXPECT_EQ(roles.take_vacant(two.index), &roles.at(0));
  EXPECT_EQ(roles.at(0).word.view().holder, one.index) << "the unit still does";
  EXPECT_EQ(roles.held(), 1u);
  one.call.begin();
  EXPECT_EQ(roles.take_over_stuck(threads, three.index), nullptr);
  EXPECT_EQ(roles.take_over_stuck(threads, three.index), &roles.at(0));
  EXPECT_EQ(roles.held(), 2u);
  roles.lose();
  EXPECT_EQ(roles.held(), 1u);
}

TEST_F(RolesTest, share_the_rings_and_give_back_parked_requests) {
  ASSERT_TRUE(roles.assign(config_of(2)).empty());
  EXPECT_EQ(roles.at(0).top_half.rings().size(), 1u);
  EXPECT_EQ(roles.at(1).top_half.rings().size(), 1u);
  Pending call;
  call.request.lane = 9;
  ASSERT_EQ(roles.at(1).parked.add(call, 0, 0), ParkedRequests::Added::parked);
  const std::vector<Pending> parked = roles.assign(config_of(1));
  ASSERT_EQ(parked.size(), 1u);
  EXPECT_EQ(parked[0].request.lane, 9);
  EXPECT_EQ(roles.at(1).parked.count(), 0u);
  EXPECT_EQ(roles.at(0).top_half.rings().size(), 2u);
  EXPECT_EQ(roles.at(1).top_half.rings().size(), 0u);
}

TEST_F(RolesTest, tell_the_positions_of_their_own_rings) {
  ASSERT_TRUE(roles.assign(config_of(2)).empty());
  const auto positions = roles.positions(roles.at(1));
  EXPECT_EQ(positions[0], backend::any_position);
  EXPECT_NE(positions[1], backend::any_position);
}

TEST_F(RolesTest, are_abandoned_with_a_holder_that_is_in_a_call) {
  roles.resume(1);
  Role& role = roles.at(0);
  EXPECT_TRUE(Roles::abandon(role, threads)) << "vacant";
  ASSERT_EQ(roles.take_vacant(one.index), &role);
  EXPECT_FALSE(Roles::abandon(role, threads)) << "its holder is between two calls";
  one.call.begin();
  EXPECT_TRUE(Roles::abandon(role, threads));
  one.call.end();
  EXPECT_FALSE(role.word.still_held_by(one.index));
}

}  // namespace
}  // namespace k2k::server
