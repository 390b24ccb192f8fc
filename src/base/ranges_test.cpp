#include "base/ranges.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

namespace k2k {
namespace {

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(Ranges, holds_nothing_at_first) {
  const Ranges ranges;
  EXPECT_TRUE(ranges.empty());
  for (const std::uintptr_t address : {0ul, 1ul, 4096ul, UINTPTR_MAX - 1, UINTPTR_MAX}) {
    EXPECT_FALSE(ranges.near(at(address))) << address;
    EXPECT_FALSE(ranges.holds(at(address), 1)) << address;
  }
}

TEST(Ranges, shows_all_ranges_in_order) {
  Ranges ranges;
  Ranges::Held all[3];
  EXPECT_EQ(ranges.all(all, 3), 0u);
  ASSERT_EQ(ranges.add(at(5000), 100, 2), 0);
  ASSERT_EQ(ranges.add(at(1000), 50), 0);
  ASSERT_EQ(ranges.all(all, 3), 2u);
  EXPECT_EQ(all[0].first, 1000u);
  EXPECT_EQ(all[0].last, 1050u);
  EXPECT_EQ(all[1].first, 5000u);
  EXPECT_EQ(all[1].kind, 2);
  EXPECT_EQ(ranges.all(all, 1), 1u) << "no room for more";
}

TEST(Ranges, holds_buffers_that_lie_in_one_range_as_a_whole) {
  Ranges ranges;
  ASSERT_EQ(ranges.add(at(1000), 100), 0);
  ASSERT_EQ(ranges.add(at(1100), 100), 0);  // A neighbour: still two ranges.
  EXPECT_TRUE(ranges.holds(at(1000), 100));
  EXPECT_TRUE(ranges.holds(at(1050), 50));
  EXPECT_TRUE(ranges.holds(at(1199), 1));
  EXPECT_TRUE(ranges.holds(at(1100), 0));
  EXPECT_FALSE(ranges.holds(at(999), 2));
  EXPECT_FALSE(ranges.holds(at(1050), 51));
  EXPECT_FALSE(ranges.holds(at(1050), SIZE_MAX));
  EXPECT_FALSE(ranges.holds(at(1200), 1));
}

TEST(Ranges, between_two_of_them_is_near_but_not_held) {
  Ranges ranges;
  ASSERT_EQ(ranges.add(at(5000), 10), 0);
  ASSERT_EQ(ranges.add(at(1000), 10), 0);
  EXPECT_TRUE(ranges.near(at(3000)));
  EXPECT_FALSE(ranges.holds(at(3000), 1));
  EXPECT_FALSE(ranges.near(at(999)));
  EXPECT_FALSE(ranges.near(at(5010)));
  ASSERT_EQ(ranges.remove(at(1000)), 0);
  EXPECT_FALSE(ranges.near(at(3000)));
  EXPECT_TRUE(ranges.near(at(5000)));
  ASSERT_EQ(ranges.remove(at(5000)), 0);
  EXPECT_FALSE(ranges.near(at(5000)));
  EXPECT_TRUE(ranges.empty());
}

TEST(Ranges, tells_the_kind_of_memory) {
  Ranges ranges;
  ASSERT_EQ(ranges.add(at(1000), 100), 0);
  ASSERT_EQ(ranges.add(at(5000), 100, 2), 0);
  ASSERT_EQ(ranges.add(at(3000), 100, 3), 0);
  EXPECT_EQ(ranges.add(at(9000), 100, 0), -EINVAL);
  EXPECT_EQ(ranges.add(at(9000), 100, -1), -EINVAL);
  EXPECT_EQ(ranges.kind_of(at(1050), 10), 1);
  EXPECT_EQ(ranges.kind_of(at(3000), 100), 3);
  EXPECT_EQ(ranges.kind_of(at(5099), 1), 2);
  EXPECT_EQ(ranges.kind_of(at(5099), 2), 0);
  Ranges::Held was;
  ASSERT_EQ(ranges.remove(at(3000), &was), 0);
  EXPECT_EQ(was.first, 3000u);
  EXPECT_EQ(was.last, 3100u);
  EXPECT_EQ(was.kind, 3);
  EXPECT_EQ(ranges.kind_of(at(5000), 1), 2) << "the other ranges keep their kind";
}

TEST(Ranges, removes_ranges_that_a_new_range_would_overlap) {
  Ranges ranges;
  for (std::uintptr_t first = 1000; first <= 5000; first += 1000) {
    ASSERT_EQ(ranges.add(at(first), 500), 0);
  }
  EXPECT_EQ(ranges.remove_overlapping(at(1500), 500), 0) << "a neighbour does not overlap";
  EXPECT_EQ(ranges.remove_overlapping(at(2499), 1502), 3);
  EXPECT_EQ(ranges.add(at(2499), 1502), 0);
  EXPECT_TRUE(ranges.holds(at(1000), 500));
  EXPECT_TRUE(ranges.holds(at(5000), 500));
}

TEST(Ranges, refuses_impossible_ranges) {
  Ranges ranges;
  EXPECT_EQ(ranges.add(nullptr, 100), -EINVAL);
  EXPECT_EQ(ranges.add(at(100), 0), -EINVAL);
  EXPECT_EQ(ranges.add(at(100), SIZE_MAX), -EINVAL);
  EXPECT_EQ(ranges.remove(at(100)), -ENOENT);
  ASSERT_EQ(ranges.add(at(100), 50), 0);
  EXPECT_EQ(ranges.remove(at(101)), -ENOENT);
  EXPECT_EQ(ranges.add(at(60), 41), -EEXIST);
  EXPECT_EQ(ranges.add(at(149), 1), -EEXIST);
  EXPECT_EQ(ranges.add(at(100), 50), -EEXIST);
  EXPECT_EQ(ranges.add(at(90), 100), -EEXIST);
  EXPECT_EQ(ranges.add(at(60), 40), 0);
}

TEST(Ranges, takes_256_in_any_order_and_no_more) {
  Ranges ranges;
  for (std::uintptr_t i = 0; i < Ranges::ranges_max; ++i) {
    ASSERT_EQ(ranges.add(at(1000 + i * 37 % Ranges::ranges_max * 100), 50), 0) << i;
  }
  EXPECT_EQ(ranges.add(at(1), 1), -ENOSPC);
  for (std::uintptr_t i = 0; i < Ranges::ranges_max; ++i) {
    EXPECT_TRUE(ranges.holds(at(1000 + i * 100), 50)) << i;
    EXPECT_FALSE(ranges.holds(at(1050 + i * 100), 1)) << i;
  }
  ASSERT_EQ(ranges.remove(at(1000)), 0);
  EXPECT_EQ(ranges.add(at(1), 1), 0);
}

TEST(Ranges, a_range_that_stays_is_seen_while_others_come_and_go) {
  const auto ranges = std::make_unique<Ranges>();
  ASSERT_EQ(ranges->add(at(50000), 100), 0);
  std::atomic<bool> done{false};
  std::atomic<int> missed{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!done.load(std::memory_order_relaxed)) {
        if (!ranges->near(at(50050)) || !ranges->holds(at(50050), 50)) ++missed;
        if (ranges->holds(at(50050), 51) || ranges->holds(at(45000), 1)) ++missed;
      }
    });
  }
  for (int round = 0; round < 2000; ++round) {
    for (std::uintptr_t i = 0; i < 8; ++i) {
      EXPECT_EQ(ranges->add(at(1000 + i * 1000), 500), 0);
      EXPECT_EQ(ranges->add(at(60000 + i * 1000), 500), 0);
    }
    for (std::uintptr_t i = 0; i < 8; ++i) {
      EXPECT_EQ(ranges->remove(at(1000 + i * 1000)), 0);
      EXPECT_EQ(ranges->remove(at(60000 + i * 1000)), 0);
    }
  }
  done.store(true, std::memory_order_relaxed);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(missed, 0);
}

TEST(Ranges, that_are_watched_make_every_address_near_and_none_held) {
  Ranges ranges;
  static char memory[3][100];
  int other = 0;
  ASSERT_EQ(ranges.add(memory[1], 100), 0);
  EXPECT_FALSE(ranges.near(memory[0]));
  ranges.watch(true);
  EXPECT_TRUE(ranges.watched());
  for (const void* const address :
       {static_cast<const void*>(memory[0]), static_cast<const void*>(memory[2]),
        static_cast<const void*>(&other), static_cast<const void*>(nullptr)}) {
    EXPECT_TRUE(ranges.near(address));
    EXPECT_FALSE(ranges.holds(address, 1));
  }
  EXPECT_TRUE(ranges.holds(memory[1], 100));
  EXPECT_FALSE(ranges.empty());
  ASSERT_EQ(ranges.add(memory[2], 100), 0);
  EXPECT_TRUE(ranges.near(memory[0])) << "a new range leaves the watch on";
  ASSERT_EQ(ranges.remove(memory[2]), 0);
  ranges.watch(false);
  EXPECT_FALSE(ranges.near(memory[0]));
  EXPECT_FALSE(ranges.near(&other));
  EXPECT_TRUE(ranges.near(memory[1]));
  ASSERT_EQ(ranges.remove(memory[1]), 0);
  EXPECT_TRUE(ranges.empty());
}

}  // namespace
}  // namespace k2k
