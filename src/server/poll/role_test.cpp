// Goal: the word permits only the moves of its drawing, and one of two threads that race for a
// stuck call wins. Method: every move from every state, then holder and taker in a race.

#include "server/poll/role.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

namespace k2k::server {
namespace {

constexpr std::uint32_t holder = 7;
constexpr std::uint32_t other = 9;

// The role is held by `holder`, whose mark stands inside a call.
struct InCall {
  InCall() {
    EXPECT_TRUE(word.take(holder));
    mark.begin();
  }
  RoleWord word;
  telemetry::Mark mark;
};

TEST(RoleWord, starts_vacant) {
  const RoleWord word;
  EXPECT_EQ(word.view().phase, RolePhase::vacant);
  EXPECT_EQ(word.view().holder, 0u);
}

TEST(RoleWord, is_taken_only_when_vacant) {
  RoleWord word;
  EXPECT_TRUE(word.take(holder));
  EXPECT_FALSE(word.take(other));
  EXPECT_FALSE(word.take(holder));
  EXPECT_EQ(word.view().phase, RolePhase::held);
  EXPECT_EQ(word.view().holder, holder);
  word.vacate(holder);
  EXPECT_TRUE(word.take(other));
  EXPECT_EQ(word.view().holder, other);
}

TEST(RoleWord, is_kept_by_a_holder_that_no_thread_disturbs) {
  InCall role;
  role.mark.end();
  EXPECT_TRUE(role.word.still_held_by(holder));
}

TEST(RoleWord, is_taken_over_from_the_call_that_was_seen) {
  InCall role;
  EXPECT_TRUE(role.word.take_over(holder, role.mark, role.mark.view(), other));
  EXPECT_EQ(role.word.view().phase, RolePhase::held);
  EXPECT_EQ(role.word.view().holder, other);
}

TEST(RoleWord, is_not_taken_over_outside_a_call) {
  InCall role;
  role.mark.end();
  EXPECT_FALSE(role.word.take_over(holder, role.mark, role.mark.view(), other));
  EXPECT_TRUE(role.word.still_held_by(holder));
}

TEST(RoleWord, is_not_taken_over_from_a_later_call) {
  InCall role;
  const telemetry::Mark::View stuck = role.mark.view();
  role.mark.end();
  ASSERT_TRUE(role.word.still_held_by(holder));
  role.mark.begin();
  EXPECT_FALSE(role.word.take_over(holder, role.mark, stuck, other));
  EXPECT_EQ(role.word.view().phase, RolePhase::held) << "the claim was given back";
  EXPECT_TRUE(role.word.take_over(holder, role.mark, role.mark.view(), other));
}

TEST(RoleWord, is_not_taken_over_from_a_thread_that_does_not_hold_it) {
  InCall role;
  EXPECT_FALSE(role.word.take_over(other, role.mark, role.mark.view(), 11));
  RoleWord vacant;
  EXPECT_FALSE(vacant.take_over(holder, role.mark, role.mark.view(), other));
  EXPECT_EQ(vacant.view().phase, RolePhase::vacant);
}

TEST(RoleWord, tells_the_former_holder_that_it_lost_the_role) {
  InCall role;
  ASSERT_TRUE(role.word.take_over(holder, role.mark, role.mark.view(), other));
  role.mark.end();
  EXPECT_FALSE(role.word.still_held_by(holder));
  EXPECT_TRUE(role.word.still_held_by(other));
  role.word.vacate(other);
  EXPECT_FALSE(role.word.still_held_by(holder));
  EXPECT_TRUE(role.word.take(holder));
}

TEST(RoleWordDeathTest, ends_the_process_when_another_thread_vacates_it) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  RoleWord vacant;
  EXPECT_DEATH(vacant.vacate(holder), "broken contract");
  RoleWord held;
  ASSERT_TRUE(held.take(holder));
  EXPECT_DEATH(held.vacate(other), "broken contract");
}

// With and without membarrier: the light barrier differs.
class RoleWordRace : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    register_asymmetric_barrier();
    if (GetParam() && !asymmetric.load()) GTEST_SKIP() << "this kernel has no membarrier";
    before_ = asymmetric.exchange(GetParam());
  }
  void TearDown() override { asymmetric.store(before_ || asymmetric.load()); }

 private:
  bool before_ = false;
};

TEST_P(RoleWordRace, gives_every_stuck_call_to_the_holder_or_the_taker_and_never_to_both) {
#if defined(K2K_TSAN)
  constexpr int rounds = 30;
#else
  constexpr int rounds = 1'000;
#endif
  constexpr int calls_a_round = 100;
  int guarded = 0;  // Written only by the holder of the role: a race here is a race in the role.
  int kept = 0;
  int taken = 0;
  for (int round = 0; round < rounds; ++round) {
    RoleWord word;
    telemetry::Mark mark;
    ASSERT_TRUE(word.take(holder));
    std::atomic<bool> over{false};
    bool took = false;
    std::thread taker([&] {
      while (!over.load(std::memory_order_relaxed) && !took) {
        took = word.take_over(holder, mark, mark.view(), other);
      }
      if (took) ++guarded;
    });
    int mine = 0;
    bool lost = false;
    while (mine < calls_a_round && !lost) {
      ++guarded;
      mark.begin();
      mark.end();
      lost = !word.still_held_by(holder);
      if (!lost) ++mine;
    }
    over.store(true);
    taker.join();
    EXPECT_EQ(took, lost) << "round " << round;
    EXPECT_EQ(word.view().phase, RolePhase::held);
    EXPECT_EQ(word.view().holder, took ? other : holder);
    kept += mine;
    taken += took ? 1 : 0;
  }
  // Each call and each take-over counts once.
  EXPECT_EQ(guarded, kept + 2 * taken);
}

INSTANTIATE_TEST_SUITE_P(barriers, RoleWordRace, testing::Bool(), [](const auto& instance) {
  return instance.param ? std::string("membarrier") : std::string("read_modify_write");
});

}  // namespace
}  // namespace k2k::server
