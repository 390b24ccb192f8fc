// Goal: calls without any report are tried in turn, at growing intervals, and each is answered
// once.

#include "server/waits/retried_calls.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>
#include <vector>

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

class RetriedCallsTest : public testing::Test {
 protected:
  using Answers = std::vector<std::pair<int, std::int64_t>>;  // Lane and value.

  void add(std::uint8_t lane, std::uint64_t queue, Instant end = {}) {
    Pending call;
    call.request.lane = lane;
    call.readiness.queue = queue;
    call.readiness.moment = end;
    calls.add(call, moment);
  }
  // Tries what is due; the first `room` tries get through.
  Answers round(int room) {
    Answers ended;
    calls.try_due(
        moment,
        [&](Pending&) {
          ++tries;
          return room-- > 0 ? services::Answer{.value = 7} : services::Answer{.would_wait = true};
        },
        [&](const Pending& call, std::int64_t value) {
          ended.emplace_back(call.request.lane, value);
        });
    return ended;
  }

  Instant moment{1s};
  RetriedCalls calls;
  int tries = 0;
};

TEST_F(RetriedCallsTest, are_answered_in_their_order) {
  for (std::uint8_t lane = 0; lane < 4; ++lane) add(lane, 5);
  EXPECT_EQ(round(2), (Answers{{0, 7}, {1, 7}}));
  EXPECT_EQ(tries, 3) << "the third would wait, so nobody tries the fourth";
  moment = calls.next();
  EXPECT_EQ(round(9), (Answers{{2, 7}, {3, 7}}));
  EXPECT_EQ(calls.next(), Instant::max());
}

TEST_F(RetriedCallsTest, pause_longer_and_longer_up_to_a_bound) {
  add(0, 5);
  Nanoseconds before{};
  for (int turn = 0; turn < 10; ++turn) {
    EXPECT_TRUE(round(0).empty());
    const Nanoseconds pause = calls.next() - moment;
    EXPECT_EQ(pause, turn == 0 ? RetriedCalls::pause_least
                               : std::min(2 * before, RetriedCalls::pause_most));
    before = pause;
    EXPECT_TRUE(round(1).empty()) << "it is not due yet";
    moment = calls.next();
  }
}

TEST_F(RetriedCallsTest, of_different_queues_do_not_wait_for_each_other) {
  add(0, 5);
  add(1, 6);
  EXPECT_TRUE(round(0).empty());
  EXPECT_EQ(tries, 2);
}

TEST_F(RetriedCallsTest, end_at_their_moment) {
  add(0, 5, moment + 10ms);
  add(1, 5);
  EXPECT_TRUE(round(0).empty());
  moment += 20ms;
  EXPECT_EQ(round(0), (Answers{{0, -EAGAIN}}));
}

TEST_F(RetriedCallsTest, end_when_they_are_told_to) {
  for (std::uint8_t lane = 0; lane < 3; ++lane) add(lane, lane);
  Answers ended;
  calls.end([](const Pending& call) { return call.request.lane != 1; },
            [&](const Pending& call, std::int64_t value) {
              ended.emplace_back(call.request.lane, value);
            });
  EXPECT_EQ(ended, (Answers{{0, -ECANCELED}, {2, -ECANCELED}}));
  EXPECT_EQ(round(1), (Answers{{1, 7}}));
}

}  // namespace
}  // namespace k2k::server
