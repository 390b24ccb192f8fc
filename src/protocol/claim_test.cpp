// Goal: a slot has one owner at a time, with any number of claimers; a slot that the host still
// owns is not given away; a lent block is returned when its call has ended and not before.

#include "protocol/claim.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "protocol/area_fixture.hpp"

namespace k2k::protocol {
namespace {

#if defined(K2K_TSAN)
constexpr int rounds = 2'000;
#else
constexpr int rounds = 50'000;
#endif

constexpr std::uint64_t bit(std::uint32_t lane) { return std::uint64_t{1} << lane; }

void finish_and_release(const AreaView& area, Place place) {
  Slot& slot = area.slot(place.wave, place.lane);
  move<SlotState::populating, SlotState::ready, Side::device>(slot);
  move<SlotState::ready, SlotState::processing, Side::host>(slot);
  move<SlotState::processing, SlotState::finished, Side::host>(slot);
  move<SlotState::finished, SlotState::free, Side::device>(slot);
  unlock(area, place.wave, bit(place.lane));
}

TEST(Claim, takes_all_lanes_or_none) {
  const PlainArea area;
  ASSERT_TRUE(try_claim(area.view(), 1, bit(3)));
  EXPECT_FALSE(try_claim(area.view(), 1, bit(2) | bit(3) | bit(4)));
  EXPECT_EQ(area->locks[1], bit(3));
  EXPECT_EQ(observe(area->slot(1, 2)).state, SlotState::free);
  EXPECT_TRUE(try_claim(area.view(), 1, bit(2) | bit(4)));
  EXPECT_EQ(observe(area->slot(1, 4)).state, SlotState::populating);
}

TEST(Claim, counts_each_use_of_the_slot) {
  const PlainArea area;
  for (std::uint32_t life = 1; life <= 3; ++life) {
    ASSERT_TRUE(try_claim(area.view(), 0, bit(0)));
    EXPECT_EQ(area->slot(0, 0).generation, life);
    finish_and_release(area.view(), {0, 0});
  }
}

TEST(Claim, leaves_a_slot_alone_that_the_host_has_not_retired) {
  const PlainArea area;
  ASSERT_TRUE(try_claim(area.view(), 0, bit(5)));
  Slot& slot = area->slot(0, 5);
  move<SlotState::populating, SlotState::ready, Side::device>(slot);
  unlock(area.view(), 0, bit(5));  // Detached: the state alone guards it now.
  EXPECT_FALSE(try_claim(area.view(), 0, bit(5)));
  EXPECT_FALSE(try_claim(area.view(), 0, bit(4) | bit(5)));
  EXPECT_EQ(area->locks[0], 0u) << "the failed claim gave its locks back";
  move<SlotState::ready, SlotState::processing, Side::host>(slot);
  EXPECT_FALSE(try_claim(area.view(), 0, bit(5)));
  move<SlotState::processing, SlotState::free, Side::host>(slot);
  EXPECT_TRUE(try_claim(area.view(), 0, bit(5)));
}

TEST(ClaimOne, takes_home_then_its_row_then_other_rows) {
  const PlainArea area({.waves = 3, .lanes = 32});
  std::set<std::pair<std::uint32_t, std::uint32_t>> taken;
  for (std::uint32_t count = 0; count < 96; ++count) {
    Place place{1, 7};
    ASSERT_TRUE(try_claim_one(area.view(), place));
    if (count == 0) {
      EXPECT_EQ(place.lane, 7u);
    }
    const std::uint32_t row = count < 32 ? 1 : count < 64 ? 2 : 0;
    EXPECT_EQ(place.wave, row) << "claim " << count;
    EXPECT_TRUE(taken.emplace(place.wave, place.lane).second);
  }
  Place place{1, 7};
  EXPECT_FALSE(try_claim_one(area.view(), place));
}

TEST(ClaimOne, visits_the_whole_area_over_repeated_attempts) {
  const PlainArea area({.waves = 3 * claim_rows_max, .lanes = 32});
  for (std::uint32_t wave = 0; wave < area->wave_count; ++wave) {
    area->locks[wave] = wave == 2 * claim_rows_max + 5 ? ~bit(9) : ~std::uint64_t{0};
  }
  Place place{0, 0};
  int attempts = 1;
  while (!try_claim_one(area.view(), place)) ASSERT_LT(++attempts, 10);
  EXPECT_EQ(place.wave, 2 * claim_rows_max + 5);
  EXPECT_EQ(place.lane, 9u);
}

TEST(ClaimOne, uses_all_64_lanes_of_a_wide_wave) {
  const PlainArea area({.waves = 1, .lanes = 64});
  std::set<std::uint32_t> lanes;
  Place place{0, 63};
  while (try_claim_one(area.view(), place)) lanes.insert(place.lane);
  EXPECT_EQ(lanes.size(), 64u);
}

TEST(ClaimRace, gives_every_slot_one_owner_at_a_time) {
  const PlainArea area({.waves = 2, .lanes = 32});
  std::atomic<int> owners[64] = {};
  std::atomic<int> shared{0};
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < rounds; ++round) {
        // All start at the same few homes, some as a whole wave.
        if (round % 64 == 0) {
          const std::uint64_t lanes = 0xffull << (8 * thread);
          if (!try_claim(area.view(), thread % 2, lanes)) continue;
          for (std::uint32_t lane = 8 * thread; lane < 8 * thread + 8; ++lane) {
            shared += owners[thread % 2 * 32 + lane]++ == 0 ? 0 : 1;
          }
          for (std::uint32_t lane = 8 * thread; lane < 8 * thread + 8; ++lane) {
            --owners[thread % 2 * 32 + lane];
            finish_and_release(area.view(), {thread % 2, lane});
          }
          continue;
        }
        Place place{thread % 2, static_cast<std::uint32_t>(round % 4)};
        if (!try_claim_one(area.view(), place)) continue;
        const std::uint32_t index = place.wave * 32 + place.lane;
        shared += owners[index]++ == 0 ? 0 : 1;
        --owners[index];
        finish_and_release(area.view(), place);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.load(), 0);
  EXPECT_EQ(area->locks[0], 0u);
  EXPECT_EQ(area->locks[1], 0u);
}

TEST(ArenaBlock, is_taken_once_and_given_back) {
  const PlainArea area({.blocks = 2});
  EXPECT_EQ(try_take_block(area.view(), 1), 1u);
  EXPECT_EQ(try_take_block(area.view(), 1), 0u);
  EXPECT_EQ(try_take_block(area.view(), 1), area->arena_blocks);
  give_block(area.view(), 1, block_free);
  EXPECT_EQ(try_take_block(area.view(), 0), 1u);
}

TEST(ArenaBlock, lent_to_a_detached_call_comes_back_when_that_call_ended) {
  const PlainArea area({.blocks = 1});
  const Place place{3, 17};
  ASSERT_TRUE(try_claim(area.view(), place.wave, bit(place.lane)));
  Slot& slot = area->slot(place.wave, place.lane);
  ASSERT_EQ(try_take_block(area.view(), 0), 0u);
  move<SlotState::populating, SlotState::ready, Side::device>(slot);
  unlock(area.view(), place.wave, bit(place.lane));
  give_block(area.view(), 0, lent_to(place, slot.generation));

  EXPECT_EQ(try_take_block(area.view(), 0), area->arena_blocks);
  move<SlotState::ready, SlotState::processing, Side::host>(slot);
  EXPECT_EQ(try_take_block(area.view(), 0), area->arena_blocks);
  move<SlotState::processing, SlotState::free, Side::host>(slot);
  EXPECT_EQ(try_take_block(area.view(), 0), 0u);
}

TEST(ArenaBlock, comes_back_even_if_the_next_call_uses_the_slot_already) {
  const PlainArea area({.blocks = 1});
  const Place place{0, 0};
  ASSERT_TRUE(try_claim(area.view(), 0, 1));
  ASSERT_EQ(try_take_block(area.view(), 0), 0u);
  give_block(area.view(), 0, lent_to(place, area->slot(0, 0).generation));
  finish_and_release(area.view(), place);
  ASSERT_TRUE(try_claim(area.view(), 0, 1));  // Another call in the same slot.
  EXPECT_EQ(try_take_block(area.view(), 0), 0u);
}

TEST(ArenaBlock, names_its_borrower_without_loss) {
  const PlainArea area({.waves = 70'000, .lanes = 64, .blocks = 1});
  const Place place{69'999, 63};
  ASSERT_TRUE(try_claim(area.view(), place.wave, bit(place.lane)));
  EXPECT_FALSE(loan_ended(area.view(), lent_to(place, 1)));
  EXPECT_TRUE(loan_ended(area.view(), lent_to(place, 2)));
  EXPECT_TRUE(loan_ended(area.view(), lent_to({69'999, 62}, 0)));
  EXPECT_NE(lent_to({0, 0}, 0), block_free);
  EXPECT_NE(lent_to({0, 0}, 0), block_owned);
}

TEST(Tickets, take_half_of_the_slots) {
  const PlainArea area({.waves = 2, .lanes = 32, .blocks = 4});
  for (int ticket = 0; ticket < 32; ++ticket) EXPECT_TRUE(admit_ticket(area.view(), false));
  EXPECT_FALSE(admit_ticket(area.view(), false));
  EXPECT_FALSE(admit_ticket(area.view(), false));  // A refusal leaves no trace.
  return_ticket(area.view(), false);
  EXPECT_TRUE(admit_ticket(area.view(), false));
  EXPECT_FALSE(admit_ticket(area.view(), true));
}

TEST(Tickets, take_half_of_the_blocks) {
  const PlainArea area({.waves = 2, .lanes = 32, .blocks = 5});
  EXPECT_TRUE(admit_ticket(area.view(), true));
  EXPECT_TRUE(admit_ticket(area.view(), true));
  EXPECT_FALSE(admit_ticket(area.view(), true));
  for (int ticket = 2; ticket < 32; ++ticket) EXPECT_TRUE(admit_ticket(area.view(), false));
  return_ticket(area.view(), true);
  EXPECT_TRUE(admit_ticket(area.view(), true));
}

TEST(Tickets, need_more_than_one_block_to_keep_one) {
  const PlainArea area({.waves = 2, .lanes = 32, .blocks = 1});
  EXPECT_FALSE(admit_ticket(area.view(), true));
  EXPECT_TRUE(admit_ticket(area.view(), false));
}

TEST(ArenaBlockRace, has_one_owner_at_a_time) {
  const PlainArea area({.blocks = 2});
  std::atomic<int> owners[2] = {};
  std::atomic<int> shared{0};
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < rounds; ++round) {
        const std::uint32_t block = try_take_block(area.view(), thread);
        if (block == area->arena_blocks) continue;
        shared += owners[block]++ == 0 ? 0 : 1;
        --owners[block];
        give_block(area.view(), block, block_free);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.load(), 0);
}

}  // namespace
}  // namespace k2k::protocol
