// Goal: the word allows the moves its drawing shows, and of two that race for a stuck call one
// wins. Method: every move from every state, then holder and taker in a race.

#include "server/role.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace k2k::server {
namespace {

constexpr std::uint32_t holder = 7;
constexpr std::uint32_t other = 9;

// Brings a fresh word into `phase`, held by `holder`.
void bring(RoleWord& word, RolePhase phase) {
  if (phase == RolePhase::vacant) return;
  ASSERT_TRUE(word.take(holder));
  if (phase == RolePhase::calling) word.begin_call(holder);
}

TEST(RoleWord, starts_vacant) {
  const RoleWord word;
  EXPECT_EQ(word.view().phase, RolePhase::vacant);
  EXPECT_EQ(word.view().holder, 0u);
}

TEST(RoleWord, is_taken_only_when_vacant) {
  for (const RolePhase phase : {RolePhase::vacant, RolePhase::polling, RolePhase::calling}) {
    RoleWord word;
    bring(word, phase);
    EXPECT_EQ(word.take(other), phase == RolePhase::vacant);
    EXPECT_EQ(word.view().holder, phase == RolePhase::vacant ? other : holder);
  }
}

TEST(RoleWord, is_taken_over_only_in_the_call_that_was_seen) {
  for (const RolePhase phase : {RolePhase::vacant, RolePhase::polling, RolePhase::calling}) {
    RoleWord word;
    bring(word, phase);
    EXPECT_EQ(word.take_over(word.view(), other), phase == RolePhase::calling);
  }
  RoleWord word;
  bring(word, RolePhase::calling);
  const RoleWord::View stuck = word.view();
  ASSERT_TRUE(word.end_call(holder));
  word.begin_call(holder);
  EXPECT_FALSE(word.take_over(stuck, other)) << "that call ended; this is the next one";
  EXPECT_TRUE(word.take_over(word.view(), other));
  EXPECT_EQ(word.view().phase, RolePhase::polling);
  EXPECT_EQ(word.view().holder, other);
}

TEST(RoleWord, tells_the_former_holder_that_it_lost_the_role) {
  RoleWord word;
  bring(word, RolePhase::calling);
  ASSERT_TRUE(word.take_over(word.view(), other));
  EXPECT_FALSE(word.end_call(holder));
  word.begin_call(other);
  EXPECT_FALSE(word.end_call(holder)) << "the taker's call is not the loser's to end";
  EXPECT_TRUE(word.end_call(other));
  word.vacate(other);
  EXPECT_FALSE(word.end_call(holder));
  EXPECT_TRUE(word.take(holder));
}

TEST(RoleWord, counts_calls_begun_across_holders) {
  RoleWord word;
  bring(word, RolePhase::calling);
  EXPECT_EQ(word.view().sequence, 1u);
  ASSERT_TRUE(word.end_call(holder));
  word.vacate(holder);
  ASSERT_TRUE(word.take(other));
  EXPECT_EQ(word.view().sequence, 1u);
  word.begin_call(other);
  EXPECT_EQ(word.view().sequence, 2u);
}

TEST(RoleWordDeathTest, ends_the_process_when_somebody_else_moves_it) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  RoleWord vacant;
  EXPECT_DEATH(vacant.vacate(holder), "broken contract");
  EXPECT_DEATH(vacant.begin_call(holder), "broken contract");
  RoleWord polling;
  bring(polling, RolePhase::polling);
  EXPECT_DEATH(polling.vacate(other), "broken contract");
  EXPECT_DEATH(polling.begin_call(other), "broken contract");
  RoleWord calling;
  bring(calling, RolePhase::calling);
  EXPECT_DEATH(calling.vacate(holder), "broken contract");
  EXPECT_DEATH(calling.begin_call(holder), "broken contract");
}

TEST(RoleWordRace, gives_every_stuck_call_to_the_holder_or_the_taker_and_never_to_both) {
#if defined(K2K_TSAN)
  constexpr int rounds = 3'000;
#else
  constexpr int rounds = 100'000;
#endif
  int guarded = 0;  // Touched by whoever owns the role: a race here is one in the role.
  int kept = 0;
  std::atomic<int> taken{0};
  for (int round = 0; round < rounds / 100; ++round) {
    RoleWord word;
    ASSERT_TRUE(word.take(holder));
    std::atomic<bool> lost{false};
    std::thread taker([&] {
      while (!lost.load(std::memory_order_relaxed)) {
        const RoleWord::View seen = word.view();
        if (!word.take_over(seen, other)) continue;
        ++guarded;
        ++taken;
        return;
      }
    });
    int mine = 0;
    while (mine < 100) {
      ++guarded;
      word.begin_call(holder);
      if (!word.end_call(holder)) break;
      ++mine;
    }
    lost.store(true);
    taker.join();
    kept += mine;
    // One of them has it now.
    EXPECT_EQ(word.view().phase, RolePhase::polling);
    EXPECT_EQ(word.view().holder, mine < 100 ? other : holder);
  }
  EXPECT_GT(kept + taken.load(), 0);
  EXPECT_GE(guarded, kept + taken.load());
}

}  // namespace
}  // namespace k2k::server
