// Goal: no page that was read before a removal began is placed after it, and neither side holds the
// other up for longer than a placement.
// Method: every order of two that matters, then races over words that stand for a source and its
// page. K2K_DISCARD_TOUCHES=100000000 makes the races as long as that many touches.

#include "backend/page_generations.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

namespace k2k::backend {
namespace {

TEST(PageGenerations, permit_a_page_of_the_present_generation) {
  PageGenerations pages;
  const std::uint64_t generation = pages.now();
  ASSERT_TRUE(pages.begin_placing(generation));
  EXPECT_TRUE(pages.begin_placing(generation));  // Several at a time.
  pages.end_placing(generation);
  pages.end_placing(generation);
}

TEST(PageGenerations, refuse_a_page_that_was_read_before_a_removal_began) {
  PageGenerations pages;
  const std::uint64_t before = pages.now();
  pages.begin_next();
  EXPECT_FALSE(pages.begin_placing(before));
  pages.begin_next();  // The refused ones are not waited for, whatever their parity.
  EXPECT_FALSE(pages.begin_placing(before));
  EXPECT_FALSE(Placing(pages, before));
  EXPECT_TRUE(Placing(pages));
}

TEST(PageGenerations, permit_a_page_that_is_read_during_a_removal) {
  PageGenerations pages;
  pages.begin_next();
  {
    const Placing placing(pages, pages.now());
    EXPECT_TRUE(placing);
  }
}

TEST(PageGenerations, let_a_removal_wait_for_a_placement_in_progress) {
  PageGenerations pages;
  const std::uint64_t generation = pages.now();
  ASSERT_TRUE(pages.begin_placing(generation));
  std::atomic<bool> placed{false};
  std::atomic<bool> placed_before_removal{false};
  std::thread remover([&] {
    pages.begin_next();
    placed_before_removal = placed.load();
  });
  while (pages.now() == generation) std::this_thread::yield();  // Now it waits.
  for (int round = 0; round < 1'000; ++round) std::this_thread::yield();
  placed = true;
  pages.end_placing(generation);
  remover.join();
  EXPECT_TRUE(placed_before_removal);
}

TEST(PageGenerations, let_no_removal_wait_for_a_placement_of_its_own_generation) {
  PageGenerations pages;
  const std::uint64_t before = pages.now();
  ASSERT_TRUE(pages.begin_placing(before));
  std::thread remover([&] { pages.begin_next(); });
  while (pages.now() == before) std::this_thread::yield();  // Now it waits.
  const std::uint64_t generation = pages.now();
  ASSERT_TRUE(pages.begin_placing(generation));
  pages.end_placing(before);
  remover.join();  // Although that placement goes on.
  pages.end_placing(generation);
}

// A page is 0 while it is missing, else what a fill read from the source.
TEST(PageGenerations, leave_no_stale_page_in_races) {
#if defined(K2K_TSAN)
  constexpr std::uint64_t usual = 50'000;
  constexpr std::uint64_t removals_least = 300;
#else
  constexpr std::uint64_t usual = 500'000;
  constexpr std::uint64_t removals_least = 3'000;
#endif
  const char* const asked = std::getenv("K2K_DISCARD_TOUCHES");
  const std::uint64_t touches = asked == nullptr ? usual : std::strtoull(asked, nullptr, 10);
  PageGenerations pages;
  std::atomic<std::uint64_t> source{1};
  std::atomic<std::uint64_t> page{0};
  std::atomic<std::uint64_t> discarded{0};
  std::atomic<std::uint64_t> stale{0};
  std::atomic<std::uint64_t> fills{0};
  std::atomic<std::uint64_t> removals{0};
  std::atomic<int> touching{2};
  const auto fill = [&] {
    const std::uint64_t generation = pages.now();
    const std::uint64_t content = source.load(std::memory_order_relaxed);
    // Removals overtake the fill before its placement, and meet it within.
    const std::uint64_t number = fills.fetch_add(1, std::memory_order_relaxed);
    if (number % 4 == 0) std::this_thread::yield();
    const Placing placing(pages, generation);
    if (number % 4 == 1) std::this_thread::yield();
    std::uint64_t missing = 0;
    if (placing) page.compare_exchange_strong(missing, content);
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&] {
      for (std::uint64_t done = 0;
           done < touches / 2 || removals.load(std::memory_order_relaxed) < removals_least;
           ++done) {
        const std::uint64_t least = discarded.load(std::memory_order_acquire);
        std::uint64_t seen = page.load(std::memory_order_acquire);
        for (; seen == 0; seen = page.load(std::memory_order_acquire)) fill();
        if (seen < least) stale.fetch_add(1, std::memory_order_relaxed);
      }
      --touching;
    });
  }
  while (touching.load() != 0) {
    const std::uint64_t next = source.load(std::memory_order_relaxed) + 1;
    source.store(next, std::memory_order_relaxed);
    pages.begin_next();
    page.store(0);
    discarded.store(next, std::memory_order_release);
    ++removals;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stale.load(), 0u);
}

}  // namespace
}  // namespace k2k::backend
