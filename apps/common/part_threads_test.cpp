// Goal: each part is run once, on the threads that were asked for; threads that cannot be started
// are one line.

#include "apps/common/part_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "apps/common/input_fixture.hpp"

namespace k2k::apps {
namespace {

TEST(PartThreads, run_each_part_once) {
  for (const std::uint32_t threads : {1u, 3u, 9u}) {
    std::vector<std::atomic<int>> runs(100);
    ASSERT_TRUE(run_parts(threads, 100, [&](std::uint32_t part) { ++runs[part]; }));
    for (const auto& each : runs) EXPECT_EQ(each, 1);
  }
  EXPECT_TRUE(run_parts(2, 0, [](std::uint32_t) { FAIL() << "no part"; }));
}

TEST(PartThreads, are_as_many_as_wanted) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<std::uint32_t> waiting{0};
  ASSERT_TRUE(run_parts(3, 3, [&](std::uint32_t) {
    ++waiting;
    while (waiting < 3) std::this_thread::yield();  // A part for each thread.
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  }));
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen.count(std::this_thread::get_id()), 1u);
}

TEST(PartThreads, make_works_one_after_the_other) {
  const auto threads = PartThreads::create(3);
  ASSERT_TRUE(threads) << threads.error().message;
  std::uint64_t sum = 0;
  for (std::uint64_t work = 0; work < 1'000; ++work) {
    std::vector<std::atomic<std::uint64_t>> seen(work % 5);
    (*threads)->run(static_cast<std::uint32_t>(seen.size()),
                    [&](std::uint32_t part) { seen[part] += work; });
    for (const auto& each : seen) sum += each;  // run() returns when all parts are there.
  }
  std::uint64_t right = 0;
  for (std::uint64_t work = 0; work < 1'000; ++work) right += work * (work % 5);
  EXPECT_EQ(sum, right);
}

TEST(PartThreads, that_cannot_be_started_are_an_error) {
  expect_too_few_threads([](std::uint32_t threads) {
    const Status ran = run_parts(threads, 10'000, [](std::uint32_t) {});
    return ran ? "no error" : ran.error().message;
  });
}

}  // namespace
}  // namespace k2k::apps
