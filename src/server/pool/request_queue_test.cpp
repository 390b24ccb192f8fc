#include "server/pool/request_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "protocol/area_fixture.hpp"

namespace k2k::server {
namespace {

class RequestQueueTest : public testing::Test {
 protected:
  static Pending call_of(std::uint32_t wave, std::uint8_t lane, std::uint64_t argument = 0) {
    Pending call;
    call.request.wave = wave;
    call.request.lane = lane;
    call.request.arguments[0] = argument;
    return call;
  }
  static std::vector<int> lanes(const RequestQueue& queue) {
    std::vector<int> all;
    queue.for_each([&](const Pending& call) { all.push_back(call.request.lane); });
    return all;
  }

  protocol::PlainArea area;
  RequestPlaces places{area.view()};
  RequestQueue queue{places};
  RequestQueue other{places};
};

TEST_F(RequestQueueTest, gives_requests_back_from_both_ends) {
  for (std::uint8_t lane = 0; lane < 4; ++lane) queue.push_back(call_of(3, lane, 10u + lane));
  EXPECT_EQ(queue.size(), 4u);
  EXPECT_EQ(queue.pop_front().request.arguments[0], 10u);
  EXPECT_EQ(queue.pop_back().request.arguments[0], 13u);
  EXPECT_EQ(lanes(queue), (std::vector<int>{1, 2}));
  queue.pop_back();
  queue.pop_back();
  EXPECT_TRUE(queue.empty());
  queue.push_back(call_of(3, 0));
  EXPECT_EQ(lanes(queue), (std::vector<int>{0}));
}

TEST_F(RequestQueueTest, takes_another_queue_to_its_front) {
  queue.take_to_front(other);
  EXPECT_TRUE(queue.empty());
  other.push_back(call_of(0, 1));
  other.push_back(call_of(0, 2));
  queue.take_to_front(other);
  EXPECT_TRUE(other.empty());
  other.push_back(call_of(0, 3));
  queue.take_to_front(other);
  EXPECT_EQ(lanes(queue), (std::vector<int>{3, 1, 2}));
  EXPECT_EQ(queue.pop_back().request.lane, 2);
  EXPECT_EQ(queue.size(), 2u);
}

TEST_F(RequestQueueTest, holds_one_request_a_slot_in_whatever_queue) {
  queue.push_back(call_of(1, 1, 1));
  queue.push_back(call_of(1, 1, 2));
  other.push_back(call_of(1, 1, 3));
  EXPECT_TRUE(other.empty());
  ASSERT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.pop_front().request.arguments[0], 1u);
  other.push_back(call_of(1, 1, 3));
  EXPECT_EQ(other.size(), 1u);
}

TEST_F(RequestQueueTest, gives_the_requests_that_one_asks_for_wherever_they_stand) {
  for (std::uint8_t lane = 0; lane < 5; ++lane) queue.push_back(call_of(1, lane));
  std::vector<Pending> taken;
  const auto is_even = [](const Pending& call) { return call.request.lane % 2 == 0; };
  queue.take_if(is_even, taken);
  ASSERT_EQ(taken.size(), 3u);
  for (std::uint8_t each = 0; each < 3; ++each) EXPECT_EQ(taken[each].request.lane, 2 * each);
  queue.take_if(is_even, taken);
  EXPECT_EQ(taken.size(), 3u);
  ASSERT_EQ(queue.size(), 2u);
  queue.push_back(call_of(1, 4));
  EXPECT_EQ(queue.pop_front().request.lane, 1);
  EXPECT_EQ(queue.pop_front().request.lane, 3);
  EXPECT_EQ(queue.pop_front().request.lane, 4);
  EXPECT_TRUE(queue.empty());
}

TEST_F(RequestQueueTest, has_room_for_all_slots) {
  for (std::uint32_t wave = 0; wave < 4; ++wave) {
    for (std::uint8_t lane = 0; lane < 32; ++lane) queue.push_back(call_of(wave, lane));
  }
  EXPECT_EQ(queue.size(), 128u);
}

TEST_F(RequestQueueTest, share_their_table_without_a_common_lock) {
  // Each thread owns one queue. Both add the same slots: each slot waits in one of the queues.
  constexpr std::uint64_t rounds = 20'000;
  std::atomic<int> waiting[4] = {};
  std::atomic<bool> twice{false};
  const auto use = [&](RequestQueue& own, std::uint64_t mark) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const std::uint8_t lane = round % 4;
      own.push_back(call_of(1, lane, mark + round));
      if (own.empty()) continue;
      if (waiting[lane].fetch_add(1) != 0) twice = true;
      waiting[lane].fetch_sub(1);
      if (own.pop_front().request.arguments[0] != mark + round) twice = true;
    }
  };
  std::thread thread([&] { use(other, 1'000'000); });
  use(queue, 2'000'000);
  thread.join();
  EXPECT_FALSE(twice);
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(other.empty());
}

}  // namespace
}  // namespace k2k::server
