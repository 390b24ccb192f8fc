#include "telemetry/mark.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

namespace k2k::telemetry {
namespace {

TEST(Mark, tells_inside_from_outside_and_counts_passages) {
  Mark mark;
  EXPECT_FALSE(Mark::inside(mark.view()));
  EXPECT_EQ(Mark::passages(mark.view()), 0u);
  std::set<Mark::View> views{mark.view()};
  for (std::uint64_t passage = 1; passage <= 3; ++passage) {
    mark.begin();
    EXPECT_TRUE(Mark::inside(mark.view()));
    EXPECT_EQ(Mark::passages(mark.view()), passage);
    EXPECT_TRUE(views.insert(mark.view()).second);
    mark.end();
    EXPECT_FALSE(Mark::inside(mark.view()));
    EXPECT_EQ(Mark::passages(mark.view()), passage);
    EXPECT_TRUE(views.insert(mark.view()).second);
  }
}

TEST(Mark, makes_only_threads_wait_that_came_while_the_thread_was_inside) {
  Mark mark;
  mark.wait_until_left();
  mark.begin();
  mark.end();
  mark.wait_until_left();
}

TEST(Mark, shows_writes_made_inside_to_a_thread_that_waited) {
  Mark mark;
  int written = 0;  // Not atomic: the mark orders it.
  std::atomic<bool> entered{false};
  std::thread owner([&] {
    mark.begin();
    entered.store(true);
    written = 1;
    mark.end();
  });
  while (!entered.load()) std::this_thread::yield();
  mark.wait_until_left();
  EXPECT_EQ(written, 1);
  owner.join();
}

}  // namespace
}  // namespace k2k::telemetry
