// Goal: a bundle is always in one place, attempts are handed out once, parked ones wait together,
// and the stage takes all bundles that wait.

#include "server/pool/split_queue.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "protocol/area_fixture.hpp"

namespace k2k::server {
namespace {

using Added = SplitQueue::Added;
using Taken = SplitQueue::Found;
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

int count_of(cpu_set_t cores) { return CPU_COUNT(&cores); }
bool has(int core, cpu_set_t cores) { return CPU_ISSET(core, &cores) != 0; }

constexpr auto all = [](const services::Request&) { return true; };
constexpr auto none = [](const services::Request&) { return false; };

TEST_F(SplitQueueTest, is_not_quiet_until_each_bundle_is_accepted) {
  EXPECT_TRUE(queue.quiet());
  EXPECT_EQ(queue.take(bundle), Next::nothing);
  ASSERT_EQ(Added::for_pool, queue.add({{1, 0b11}}));
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
  ASSERT_EQ(Added::for_pool, queue.add({{1, 1}}));
  ASSERT_EQ(queue.take(bundle), Next::bundle);
  ASSERT_EQ(Added::for_pool, queue.add({{2, 1}}));
  queue.accept({call_of(0)});
  EXPECT_EQ(queue.take(bundle), Next::attempt);
  EXPECT_EQ(attempts(all), std::vector<int>{0});
  EXPECT_EQ(queue.take(bundle), Next::bundle);
}

TEST_F(SplitQueueTest, gives_attempts_to_a_further_thread_only_while_all_others_are_in_calls) {
  ASSERT_EQ(Added::for_pool, queue.add({{1, 1}}));
  ASSERT_EQ(queue.take(bundle), Next::bundle);
  static_cast<void>(queue.begin_work());
  queue.accept({call_of(0), call_of(1), call_of(2)});
  EXPECT_EQ(queue.take(bundle), Next::nothing) << "the thread waits for CPU time";
  EXPECT_TRUE(queue.attempts_wait());
  Pending attempt;
  ASSERT_TRUE(queue.take_attempt(attempt, all));
  EXPECT_EQ(queue.take(bundle), Next::attempt) << "it is in a call";
  queue.end_attempt();
  EXPECT_EQ(queue.take(bundle), Next::nothing);
  EXPECT_FALSE(queue.take_attempt(attempt, none));
  ASSERT_TRUE(queue.keep_parked([](const services::Request&) { return std::uint64_t{1}; }));
  ASSERT_EQ(Added::for_pool, queue.add({{1, 2}}));
  ASSERT_EQ(queue.take(bundle), Next::bundle);
  queue.accept({call_of(3)});
  EXPECT_EQ(queue.take(bundle), Next::attempt) << "it waits for parked ones";
  queue.give_back_parked();
  EXPECT_EQ(queue.take(bundle), Next::nothing);
}

TEST_F(SplitQueueTest, parks_attempts_for_one_thread_and_gives_them_back_first) {
  ASSERT_EQ(Added::for_pool, queue.add({{1, 1}}));
  ASSERT_EQ(queue.take(bundle), Next::bundle);
  queue.accept({call_of(5), call_of(3)});
  EXPECT_TRUE(attempts(none).empty());
  const auto due_of = [](const services::Request& request) {
    return std::uint64_t{100} + request.lane;
  };
  EXPECT_EQ(queue.keep_parked(due_of), 103u);
  EXPECT_EQ(queue.keep_parked(due_of), std::nullopt) << "another thread waits for them";
  ASSERT_EQ(Added::for_pool, queue.add({{1, 1}}));
  ASSERT_EQ(queue.take(bundle), Next::bundle);
  queue.accept({call_of(9)});
  queue.give_back_parked();
  EXPECT_EQ(attempts(all), (std::vector<int>{5, 3, 9}));
  EXPECT_EQ(queue.keep_parked(due_of), std::nullopt) << "none is parked";
}

TEST_F(SplitQueueTest, wakes_a_worker_only_if_none_takes_attempts) {
  EXPECT_FALSE(queue.needs_worker());
  queue.add({{1, 1}});
  ASSERT_EQ(queue.take(bundle), Next::bundle);
  queue.accept({call_of(0)});
  EXPECT_TRUE(queue.needs_worker());
  EXPECT_EQ(count_of(queue.begin_work()), 0);
  EXPECT_FALSE(queue.needs_worker());
  EXPECT_FALSE(queue.end_work()) << "an attempt waits";
  EXPECT_EQ(attempts(all), std::vector<int>{0});
  EXPECT_TRUE(queue.end_work());
}

// --- The stage.

class StagedQueueTest : public SplitQueueTest {
 protected:
  StagedQueueTest() { open(); }
  void open(const std::vector<std::uint32_t>& preprocess = {},
            const std::vector<std::uint32_t>& worker = {}) {
    ServerConfig config;
    config.bottom_half = BottomHalfMode::staged;
    config.steering = Steering::steered;
    config.cores = {3};
    config.preprocess_cores = preprocess;
    config.worker_cores = worker;
    queue.open(config);
  }
};

TEST_F(StagedQueueTest, gives_the_stage_to_one_thread_and_all_bundles_to_it) {
  EXPECT_TRUE(queue.quiet());
  EXPECT_EQ(queue.add({{1, 1}}), Added::for_pool) << "no thread has the stage yet";
  EXPECT_EQ(queue.take(bundle), Next::stage);
  EXPECT_EQ(queue.take(bundle), Next::nothing) << "the stage is taken, and its bundles with it";
  EXPECT_EQ(queue.add({{2, 1}}), Added::for_stage);
  ASSERT_EQ(queue.next_bundle(bundle), Taken::bundle);
  EXPECT_EQ(bundle[0].wave, 1u);
  queue.accept({call_of(0)});
  EXPECT_EQ(queue.take(bundle), Next::attempt) << "for a worker";
  ASSERT_EQ(queue.next_bundle(bundle), Taken::bundle);
  EXPECT_EQ(bundle[0].wave, 2u);
  queue.accept({});
  EXPECT_EQ(queue.next_bundle(bundle), Taken::nothing);
  EXPECT_FALSE(queue.quiet()) << "its thread still has the stage";
}

TEST_F(StagedQueueTest, merges_the_bundles_of_one_wake_up) {
  ASSERT_EQ(queue.take(bundle), Next::stage);
  ASSERT_EQ(queue.next_bundle(bundle), Taken::nothing);
  for (std::uint32_t wave = 1; wave <= 3; ++wave) {
    EXPECT_EQ(queue.add({{wave, 1}}), Added::for_stage);
  }
  EXPECT_TRUE(queue.rest()) << "it was rung, so it does not sleep";
  for (std::uint32_t wave = 1; wave <= 3; ++wave) {
    ASSERT_EQ(queue.next_bundle(bundle), Taken::bundle);
    EXPECT_EQ(bundle[0].wave, wave);
    queue.accept({});
  }
  EXPECT_EQ(queue.next_bundle(bundle), Taken::nothing);
}

TEST_F(StagedQueueTest, is_left_when_it_is_closed_and_no_bundle_waits) {
  ASSERT_EQ(queue.take(bundle), Next::stage);
  queue.add({{1, 1}});
  queue.close();
  ASSERT_EQ(queue.next_bundle(bundle), Taken::bundle);
  queue.accept({});
  EXPECT_EQ(queue.next_bundle(bundle), Taken::end);
  EXPECT_TRUE(queue.quiet());
  EXPECT_EQ(queue.add({{2, 1}}), Added::for_pool);
  EXPECT_EQ(queue.take(bundle), Next::bundle) << "the pool accepts it";
}

TEST_F(StagedQueueTest, a_close_ends_a_rest) {
  ASSERT_EQ(queue.take(bundle), Next::stage);
  ASSERT_EQ(queue.next_bundle(bundle), Taken::nothing);
  std::thread closer([&] { queue.close(); });
  EXPECT_FALSE(queue.rest());
  closer.join();
  EXPECT_EQ(queue.next_bundle(bundle), Taken::end);
}

TEST_F(StagedQueueTest, steers_both_stages) {
  EXPECT_TRUE(has(3, queue.stage_cores())) << "the top halves' cores, as in the paper";
  EXPECT_EQ(count_of(queue.begin_work()), 0);
  queue.close();
  open({5}, {6, 7});
  EXPECT_TRUE(has(5, queue.stage_cores()));
  EXPECT_EQ(count_of(queue.stage_cores()), 1);
  EXPECT_EQ(count_of(queue.begin_work()), 2);
}

}  // namespace
}  // namespace k2k::server
