// Goal: the held pages never exceed the bound, for any input; pages that a host program uses
// are no longer tracked, nor evicted if they wait for eviction. Method: a real file; the read-ahead
// cache affects the page cache only by its evictions.

#include "router/ahead/read_ahead_cache.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <thread>

#include "router/ahead/comes_true_fixture.hpp"
#include "router/file/file_fixture.hpp"

namespace k2k::router {
namespace {

constexpr std::uint64_t cache_bound = 64;

// comes_true(): pages that the thread is evicting are held, and are counted as evicted a moment
// before they are no longer held.
class ReadAheadCacheTest : public ::testing::Test {
 protected:
  ReadAheadCacheTest() : data(4096) {
    file = OpenFile::open(data.descriptor(), {}, std::make_shared<DirectDevice>(refusals));
    cache = ReadAheadCache::create(cache_bound).value();
  }
  void SetUp() override { ASSERT_GE(file->random(data.descriptor()), 0); }

  DataFile data;
  std::shared_ptr<std::atomic<std::uint64_t>> refusals =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::shared_ptr<OpenFile> file;
  std::unique_ptr<ReadAheadCache> cache;
};

TEST_F(ReadAheadCacheTest, holds_no_more_than_its_bound_for_any_inserts) {
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t at = 0; at < 2000; at += cache->insert_max()) {
        cache->insert(file, {10000 * thread + at, cache->insert_max()});
        EXPECT_LE(cache->pages_held(), cache_bound);
        if (at % 3 == 0) cache->retire(*file, {10000 * thread + at, 5});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto none_lost = [&] {
    const PrefetchStats stats = cache->stats();
    return stats.pages_evicted + stats.pages_held == stats.pages_ahead;
  };
  EXPECT_GE(cache->stats().pages_ahead, 8000u);
  EXPECT_TRUE(comes_true(none_lost));
  cache->end(*file);
  EXPECT_TRUE(comes_true([&] { return cache->pages_held() == 0 && none_lost(); }));
  EXPECT_EQ(cache->pages_unread(), 0u);
}

TEST_F(ReadAheadCacheTest, keeps_used_pages_that_wait_for_their_eviction) {
  // Too few to wake the thread: the pages wait.
  cache->insert(file, {0, 12});
  cache->insert(file, {12, 12});
  cache->insert(file, {24, 12});
  ASSERT_EQ(cache->pages_max(), 40u);
  cache->insert(file, {36, 7});
  ASSERT_EQ(cache->pages_held(), 43u) << "three held pages wait";
  cache->keep(*file, {1, 1});
  EXPECT_EQ(cache->pages_held(), 42u);
  cache->keep(*file, {0, 50});
  EXPECT_EQ(cache->pages_held(), 0u);
  EXPECT_EQ(cache->stats().pages_kept, 43u);
  EXPECT_EQ(cache->stats().pages_evicted, 0u);
  cache->end(*file);
  EXPECT_EQ(cache->stats().pages_evicted, 0u);
}

TEST_F(ReadAheadCacheTest, counts_pages_that_are_read_ahead_again) {
  cache->insert(file, {0, 12});
  cache->end(*file);
  EXPECT_EQ(cache->stats().pages_again, 0u);
  cache->insert(file, {6, 12});
  EXPECT_EQ(cache->stats().pages_again, 6u);
}

TEST_F(ReadAheadCacheTest, evicts_pages_first_that_a_stream_has_read) {
  for (std::uint64_t at = 0; at < 40; at += 10) cache->insert(file, {at, 10});
  cache->retire(*file, {20, 10});
  EXPECT_EQ(cache->pages_unread(), 30u);
  cache->refresh(*file, {20, 5});
  EXPECT_EQ(cache->pages_unread(), 35u);
}

TEST(ReadAheadCacheOf, permits_any_bound_from_one_page_on) {
  for (const std::uint64_t pages : {std::uint64_t{0}, std::uint64_t{read_ahead_pages_max} * 2}) {
    const auto refused = ReadAheadCache::create(pages);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, EINVAL);
  }
  for (std::uint64_t pages = 1; pages < 40; ++pages) {
    const auto cache = ReadAheadCache::create(pages);
    ASSERT_TRUE(cache.ok());
    EXPECT_GE(cache.value()->insert_max(), 1u);
    EXPECT_LE(cache.value()->pages_max(), pages);
  }
}

}  // namespace
}  // namespace k2k::router
