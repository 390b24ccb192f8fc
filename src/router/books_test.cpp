// Goal: what is held never exceeds the bound, whatever comes; what a host program uses leaves the
// books, and of those that wait for their eviction, too. Method: a real file; the page cache has
// nothing to do with the books, but for what they evict.

#include "router/books.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <thread>

#include "router/file_fixture.hpp"

namespace k2k::router {
namespace {

constexpr std::uint64_t bound = 64;

// What the thread is just evicting is held, and counted as evicted a moment before it is not.
bool comes_true(const std::function<bool()>& what) {
  for (int wait = 0; wait < 2000; ++wait) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

class BooksTest : public ::testing::Test {
 protected:
  BooksTest() : data(4096) {
    file = OpenFile::open(data.descriptor(), {}, std::make_shared<DirectDevice>(refusals));
    books = Books::create(bound).value();
  }
  void SetUp() override { ASSERT_GE(file->random(data.descriptor()), 0); }

  DataFile data;
  std::shared_ptr<std::atomic<std::uint64_t>> refusals =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::shared_ptr<OpenFile> file;
  std::unique_ptr<Books> books;
};

TEST_F(BooksTest, hold_no_more_than_their_bound_whoever_inserts) {
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t at = 0; at < 2000; at += books->insert_max()) {
        books->insert(file, {10000 * thread + at, books->insert_max()});
        EXPECT_LE(books->pages_held(), bound);
        if (at % 3 == 0) books->retire(*file, {10000 * thread + at, 5});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto none_lost = [&] {
    const PrefetchStats stats = books->stats();
    return stats.pages_evicted + stats.pages_held == stats.pages_ahead;
  };
  EXPECT_GE(books->stats().pages_ahead, 8000u);
  EXPECT_TRUE(comes_true(none_lost));
  books->end(*file);
  EXPECT_TRUE(comes_true([&] { return books->pages_held() == 0 && none_lost(); }));
  EXPECT_EQ(books->pages_unread(), 0u);
}

TEST_F(BooksTest, keep_what_is_used_though_it_waits_for_its_eviction) {
  // Too few to wake anybody: what has to go waits.
  books->insert(file, {0, 12});
  books->insert(file, {12, 12});
  books->insert(file, {24, 12});
  ASSERT_EQ(books->pages_max(), 40u);
  books->insert(file, {36, 7});
  ASSERT_EQ(books->pages_held(), 43u) << "three of them wait";
  books->keep(*file, {1, 1});
  EXPECT_EQ(books->pages_held(), 42u);
  books->keep(*file, {0, 50});
  EXPECT_EQ(books->pages_held(), 0u);
  EXPECT_EQ(books->stats().pages_kept, 43u);
  EXPECT_EQ(books->stats().pages_evicted, 0u);
  books->end(*file);
  EXPECT_EQ(books->stats().pages_evicted, 0u);
}

TEST_F(BooksTest, count_what_comes_again) {
  books->insert(file, {0, 12});
  books->end(*file);
  EXPECT_EQ(books->stats().pages_again, 0u);
  books->insert(file, {6, 12});
  EXPECT_EQ(books->stats().pages_again, 6u);
}

TEST_F(BooksTest, go_first_with_what_a_stream_has_read) {
  for (std::uint64_t at = 0; at < 40; at += 10) books->insert(file, {at, 10});
  books->retire(*file, {20, 10});
  EXPECT_EQ(books->pages_unread(), 30u);
  books->refresh(*file, {20, 5});
  EXPECT_EQ(books->pages_unread(), 35u);
}

TEST(BooksOf, any_bound_from_one_page_on_can_be_had) {
  for (const std::uint64_t pages : {std::uint64_t{0}, io::partition_pages_max * 2}) {
    const auto refused = Books::create(pages);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, EINVAL);
  }
  for (std::uint64_t pages = 1; pages < 40; ++pages) {
    const auto books = Books::create(pages);
    ASSERT_TRUE(books.ok());
    EXPECT_GE(books.value()->insert_max(), 1u);
    EXPECT_LE(books.value()->pages_max(), pages);
  }
}

}  // namespace
}  // namespace k2k::router
