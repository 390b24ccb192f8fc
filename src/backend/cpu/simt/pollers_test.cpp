// Goal: every answer is found, whatever the order; and between answers the slots are left alone.
// Method: entries with a flag and a count of polls; the test is the clock.

#include "backend/cpu/simt/pollers.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <vector>

namespace k2k::backend::cpu {
namespace {

constexpr PollerPace pace{.patience = 100, .scattered = 1'000, .rest_max = 50};

struct Entry {
  bool finished = false;
  int polls = 0;
};

class PollersTest : public testing::Test {
 protected:
  PollersTest() : entries(8), pollers(8, pace) { EXPECT_TRUE(pollers.usable()); }

  void wait_all() {
    for (Entry& entry : entries) pollers.push(entry);
  }
  std::uint32_t poll() { return pollers.poll(clock, is_finished, wake); }
  int polls() const {
    int sum = 0;
    for (const Entry& entry : entries) sum += entry.polls;
    return sum;
  }
  void forget_polls() {
    for (Entry& entry : entries) entry.polls = 0;
  }

  std::vector<Entry> entries;
  std::vector<std::size_t> woken;
  std::function<bool(Entry&)> is_finished = [](Entry& entry) {
    ++entry.polls;
    return entry.finished;
  };
  std::function<void(Entry&)> wake = [this](const Entry& entry) {
    woken.push_back(static_cast<std::size_t>(&entry - entries.data()));
  };
  Pollers<Entry> pollers;
  std::uint64_t clock = 1'000'000;
};

TEST_F(PollersTest, starts_empty) {
  EXPECT_TRUE(pollers.empty());
  EXPECT_EQ(poll(), 0u);
  EXPECT_EQ(pollers.poll_all(is_finished, wake), 0u);
}

TEST_F(PollersTest, wakes_in_order_and_polls_one_ahead) {
  wait_all();
  entries[0].finished = true;
  poll();  // The first poll after a long time polls all entries.
  forget_polls();
  entries[1].finished = entries[2].finished = true;
  clock += pace.rest_max;
  EXPECT_EQ(poll(), 2u);
  EXPECT_EQ(woken, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(polls(), 3) << "the two answered entries and the new oldest";
  EXPECT_EQ(pollers.size(), 5u);
}

TEST_F(PollersTest, polls_the_oldest_only_while_it_is_patient) {
  wait_all();
  poll();
  forget_polls();
  entries[5].finished = true;
  for (int times = 0; times < 9; ++times) {
    clock += pace.patience / 10;
    EXPECT_EQ(poll(), 0u);
  }
  EXPECT_EQ(polls(), entries[0].polls);
  clock += pace.patience / 10;
  EXPECT_EQ(poll(), 1u) << "patience has ended";
  EXPECT_EQ(woken, (std::vector<std::size_t>{5}));
}

TEST_F(PollersTest, polls_all_for_a_while_once_an_answer_came_out_of_order) {
  wait_all();
  entries[7].finished = true;
  poll();
  ASSERT_EQ(woken.size(), 1u);
  clock += pace.rest_max;
  entries[4].finished = true;
  EXPECT_EQ(poll(), 1u) << "at once";
  clock += 2 * pace.scattered;
  poll();
  clock += pace.rest_max;
  entries[6].finished = true;
  EXPECT_EQ(poll(), 0u) << "the time of full polls is over";
}

TEST_F(PollersTest, rests_after_answers_and_no_longer_than_allowed) {
  wait_all();
  poll();
  for (std::size_t index = 0; index < 4;
       ++index) {  // Four entries are left at the end: the least number with a rest.
    clock += pace.rest_max;
    entries[index].finished = true;
    ASSERT_EQ(poll(), 1u) << index;
    forget_polls();
    entries[index + 1].finished = true;
    ++clock;
    EXPECT_EQ(poll(), 0u) << index;
    EXPECT_EQ(polls(), 0) << index;
    entries[index + 1].finished = false;
  }
}

TEST_F(PollersTest, does_not_rest_while_one_entry_is_answered_repeatedly_before_many_older_ones) {
  wait_all();
  poll();
  for (int answer = 0; answer < 100; ++answer) {
    entries[7].finished = true;
    clock += pace.patience;
    ASSERT_EQ(poll(), 1u) << answer;
    pollers.push(entries[7]);
    ++clock;
    EXPECT_EQ(poll(), 1u) << "at once";
    entries[7].finished = false;
    pollers.push(entries[7]);
  }
}

TEST_F(PollersTest, rests_if_many_entries_are_answered_before_the_oldest) {
  wait_all();
  poll();
  for (std::size_t index = 1; index < 5; ++index) entries[index].finished = true;
  clock += pace.patience;
  EXPECT_EQ(poll(), 4u);
  for (std::size_t index = 1; index < 5; ++index) pollers.push(entries[index]);
  ++clock;
  EXPECT_EQ(poll(), 0u);
  clock += pace.rest_max;
  EXPECT_EQ(poll(), 4u);
}

TEST_F(PollersTest, never_rests_with_few_entries) {
  for (std::size_t index = 0; index < 3; ++index) pollers.push(entries[index]);
  for (std::size_t index = 0; index < 3; ++index) {
    entries[index].finished = true;
    clock += 1;
    EXPECT_EQ(poll(), 1u) << index;
  }
}

TEST_F(PollersTest, polls_all_when_told_to_even_while_it_rests) {
  wait_all();
  entries[0].finished = true;
  clock += 40;
  poll();
  entries[3].finished = entries[6].finished = true;
  EXPECT_EQ(pollers.poll_all(is_finished, wake), 2u);
  EXPECT_EQ(woken, (std::vector<std::size_t>{0, 3, 6}));
}

TEST_F(PollersTest, wakes_each_entry_once_in_any_order_of_answers) {
  std::mt19937 random(7);
  std::vector<int> wakes(entries.size());
  std::vector<bool> waits(entries.size());
  wake = [&](const Entry& entry) {
    const auto index = static_cast<std::size_t>(&entry - entries.data());
    EXPECT_TRUE(entry.finished);
    EXPECT_TRUE(waits[index]);
    waits[index] = false;
    ++wakes[index];
  };
  for (int step = 0; step < 100'000; ++step) {
    Entry& entry = entries[random() % entries.size()];
    const auto index = static_cast<std::size_t>(&entry - entries.data());
    if (!waits[index]) {
      entry.finished = false;
      waits[index] = true;
      pollers.push(entry);
    } else if (random() % 4 == 0) {
      entry.finished = true;
    }
    clock += random() % 64;
    poll();
  }
  for (Entry& entry : entries) entry.finished = true;
  pollers.poll_all(is_finished, wake);
  EXPECT_TRUE(pollers.empty());
  for (const int count : wakes) EXPECT_GT(count, 1'000);
}

TEST_F(PollersTest, forgets_everything_at_a_restart) {
  wait_all();
  pollers.restart();
  EXPECT_TRUE(pollers.empty());
  wait_all();
  EXPECT_EQ(pollers.size(), 8u);
}

}  // namespace
}  // namespace k2k::backend::cpu
