// Goal: a bundle is always in one place, attempts are handed out once, parked ones wait together.

#include "server/pool/split_queue.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "protocol/area_fixture.hpp"

namespace k2k::server {
namespace {

using Next = SplitQueue::Next;

class SplitQueueTest : public testing::Test {
 protected:
  static Pending call_of(std::uint8_t lane) {
    Pending call;
    call.request.wave = 1;
    call.request.lane = lane;
    return call;
  }
  // The lanes of all attempts that `admits` lets pass.
  template <class Admits>
  std::vector<int> attempts(const Admits& admits) {
    std::vector<int> lanes;
    Pending attempt;
    while (queue.take_attempt(attempt, admits)) lanes.push_back(attempt.request.lane);
    return lanes;
  }

  protocol::PlainArea area;
  RequestPlaces places{area.view()};
  SplitQueue queue{places};
  Bundle bundle;
};

constexpr auto all = [](const services::Request&) { return true; };
constexpr auto none = [](const services::Request&) { return false; };

TEST_F(SplitQueueTest, is_not_quiet_until_each_bundle_is_accepted) {
  EXPECT_TRUE(queue.quiet());
  EXPECT_EQ(queue.take(bundle), Next::nothing);
  ASSERT_TRUE(queue.add({{1, 0b11}}));
  EXPECT_TRUE(queue.bundles_wait());
  EXPECT_FALSE(queue.quiet());
  EXPECT_FALSE(queue.accepting());
  ASSERT_EQ(queue.take(bundle), Next::bundle);
  ASSERT_EQ(bundle.size(), 1u);
  EXPECT_FALSE(queue.bundles_wait());
  EXPECT_TRUE(queue.accepting());
  EXPECT_FALSE(queue.quiet()) << "a thread is accepting it";
  queue.accept({call_of(0), call_of(1)});
  EXPECT_FALSE(queue.accepting());
  EXPECT_TRUE(queue.quiet()) << "attempts are no bundle";
  EXPECT_EQ(attempts(all), (std::vector<int>{0, 1}));
}

TEST_F(SplitQueueTest, gives_attempts_before_bundles) {
  ASSERT_TRUE(queue.add({{1, 1}}));
  ASSERT_EQ(queue.take(bundle), Next::bundle);
  ASSERT_TRUE(queue.add({{2, 1}}));
  queue.accept({call_of(0)});
  EXPECT_EQ(queue.take(bundle), Next::attempt);
  EXPECT_EQ(attempts(all), std::vector<int>{0});
  EXPECT_EQ(queue.take(bundle), Next::bundle);
}

TEST_F(SplitQueueTest, parks_attempts_for_one_thread_and_gives_them_back_first) {
  ASSERT_TRUE(queue.add({{1, 1}}));
  ASSERT_EQ(queue.take(bundle), Next::bundle);
  queue.accept({call_of(5), call_of(3)});
  EXPECT_TRUE(attempts(none).empty());
  const auto due_of = [](const services::Request& request) {
    return std::uint64_t{100} + request.lane;
  };
  EXPECT_EQ(queue.keep_parked(due_of), 103u);
  EXPECT_EQ(queue.keep_parked(due_of), std::nullopt) << "another thread waits for them";
  ASSERT_TRUE(queue.add({{1, 1}}));
  ASSERT_EQ(queue.take(bundle), Next::bundle);
  queue.accept({call_of(9)});
  queue.give_back_parked();
  EXPECT_EQ(attempts(all), (std::vector<int>{5, 3, 9}));
  EXPECT_EQ(queue.keep_parked(due_of), std::nullopt) << "none is parked";
}

}  // namespace
}  // namespace k2k::server
