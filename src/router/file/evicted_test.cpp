#include "router/file/evicted.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace k2k::router {
namespace {

TEST(Evicted, is_the_set_of_added_pages_that_were_not_taken) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    Evicted evicted;
    std::set<std::uint64_t> pages;
    for (int step = 0; step < 100; ++step) {
      const io::PageRange range{random() % 100, random() % 20};
      std::uint64_t known = 0;
      for (std::uint64_t page = range.first; page < range.end(); ++page) known += pages.count(page);
      if (random() % 3 == 0) {
        ASSERT_EQ(evicted.take(range), known);
        for (std::uint64_t page = range.first; page < range.end(); ++page) pages.erase(page);
      } else {
        evicted.add(range);
        for (std::uint64_t page = range.first; page < range.end(); ++page) pages.insert(page);
      }
    }
    ASSERT_EQ(evicted.take({0, 200}), pages.size());
    ASSERT_EQ(evicted.ranges(), 0u);
  }
}

TEST(Evicted, of_a_stream_is_one_range) {
  Evicted evicted;
  for (std::uint64_t page = 0; page < 10000; page += 10) evicted.add({page, 10});
  EXPECT_EQ(evicted.ranges(), 1u);
  EXPECT_EQ(evicted.take({5000, 10}), 10u);
  EXPECT_EQ(evicted.ranges(), 2u);
  EXPECT_EQ(evicted.take({5000, 10}), 0u);
}

TEST(Evicted, forgets_the_lowest_pages_beyond_its_bound) {
  Evicted evicted;
  for (std::uint64_t at = 0; at < 2 * Evicted::ranges_max; ++at) evicted.add({10 * at, 1});
  EXPECT_EQ(evicted.ranges(), Evicted::ranges_max);
  EXPECT_EQ(evicted.take({0, 10 * Evicted::ranges_max}), 0u);
  EXPECT_EQ(evicted.take({10 * Evicted::ranges_max, 10 * Evicted::ranges_max}),
            Evicted::ranges_max);
}

}  // namespace
}  // namespace k2k::router
