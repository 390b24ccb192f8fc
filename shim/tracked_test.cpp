#include "shim/tracked.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace k2k::shim {
namespace {

class TrackedTest : public testing::Test {
 protected:
  Tracked& tracked() { return *tracked_; }

 private:
  std::unique_ptr<Tracked> tracked_ = std::make_unique<Tracked>();
};

TEST_F(TrackedTest, is_empty_at_first) {
  EXPECT_FALSE(tracked().any());
  EXPECT_FALSE(tracked().tracked(3));
  EXPECT_EQ(tracked().routing_of(3), routing_unknown);
  EXPECT_EQ(tracked().next(0, INT32_MAX), -1);
}

TEST_F(TrackedTest, numbers_outside_the_table_are_unknown) {
  for (const int number : {-1, INT32_MIN, descriptors_max, INT32_MAX}) {
    EXPECT_FALSE(Tracked::fits(number));
    EXPECT_FALSE(tracked().tracked(number));
    EXPECT_EQ(tracked().routing_of(number), routing_unknown);
    tracked().drop(number);
  }
  tracked().track(descriptors_max - 1, {1, 2}, routing_known);
  EXPECT_TRUE(tracked().tracked(descriptors_max - 1));
  EXPECT_EQ(tracked().next(0, INT32_MAX), descriptors_max - 1);
}

TEST_F(TrackedTest, keeps_a_file_and_its_routing_flags_until_it_is_dropped) {
  tracked().track(70, {5, 6}, routing_known | routes_reads);
  EXPECT_TRUE(tracked().any());
  EXPECT_TRUE(tracked().tracked(70));
  EXPECT_FALSE(tracked().tracked(6));  // The same bit of another word.
  EXPECT_EQ(tracked().routing_of(70), routing_known | routes_reads);
  EXPECT_EQ(tracked().file_of(70), (File{5, 6}));
  tracked().drop(70);
  EXPECT_FALSE(tracked().tracked(70));
  EXPECT_EQ(tracked().routing_of(70), routing_unknown);
}

TEST_F(TrackedTest, a_descriptor_with_unknown_routing_is_tracked) {
  tracked().track(4, {5, 6}, routing_unknown);
  EXPECT_TRUE(tracked().tracked(4));
  EXPECT_EQ(tracked().routing_of(4), routing_unknown);
  EXPECT_EQ(tracked().file_of(4), (File{5, 6}));
}

TEST_F(TrackedTest, after_changed_flags_all_routing_is_unknown_again) {
  tracked().track(4, {5, 6}, routing_known | routes_reads);
  tracked().renew();
  EXPECT_TRUE(tracked().tracked(4));
  EXPECT_EQ(tracked().routing_of(4), routing_unknown);
  tracked().track(4, {5, 6}, routing_known | routes_writes);
  EXPECT_EQ(tracked().routing_of(4), routing_known | routes_writes);
}

TEST_F(TrackedTest, finds_the_next_one_of_a_stretch) {
  for (const int number : {3, 63, 64, 200, 4000}) tracked().track(number, {1, 1}, routing_known);
  EXPECT_EQ(tracked().next(-5, 10), 3);
  EXPECT_EQ(tracked().next(4, 62), -1);
  EXPECT_EQ(tracked().next(4, 63), 63);
  EXPECT_EQ(tracked().next(64, 64), 64);
  EXPECT_EQ(tracked().next(65, INT32_MAX), 200);
  EXPECT_EQ(tracked().next(201, 3999), -1);
  EXPECT_EQ(tracked().next(201, 4000), 4000);
  EXPECT_EQ(tracked().next(10, 5), -1);
}

TEST_F(TrackedTest, a_thread_that_sees_the_routing_sees_the_file) {
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    while (!done.load(std::memory_order_relaxed)) {
      if (tracked().routing_of(9) != routing_unknown && tracked().file_of(9) != File{7, 8}) ++wrong;
    }
  });
  for (int i = 0; i < 20000; ++i) {
    tracked().track(9, {7, 8}, routing_known | routes_reads);
    tracked().drop(9);
    tracked().renew();
  }
  done.store(true, std::memory_order_relaxed);
  reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace k2k::shim
