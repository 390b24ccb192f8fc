// Goal: a call that waits for a word gets the answer of the system call, however many calls wait;
// no wake-up is lost. Method: real words; the test wakes them, as any thread of the program does.

#include "server/waits/futex_waits.hpp"

#include <asm/unistd.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/system_call.hpp"
#include "protocol/slot.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

class FutexWaitsTest : public testing::Test {
 protected:
  using Answers = std::vector<std::pair<int, std::int64_t>>;  // Lane and value.

  void SetUp() override {
    if (system_call(SYS_futex_waitv, nullptr, 0u, 0u, nullptr, 0) == -ENOSYS) {
      GTEST_SKIP() << "this Linux has no futex_waitv";
    }
  }
  bool add(std::uint8_t lane, const void* word, std::uint32_t value, Instant end = {},
           std::uint8_t flags = 0) {
    Pending call;
    call.request.lane = lane;
    call.request.number = __NR_futex;
    call.request.attributes.flags = flags;
    call.request.arguments[0] = reinterpret_cast<std::uint64_t>(word);
    call.request.arguments[1] = FUTEX_WAIT_PRIVATE;
    call.request.arguments[2] = value;
    call.readiness = {.futex = true, .moment = end};
    return waits.add(call);
  }
  Answers wait() {
    FutexWaits::Round round;
    waits.wait(bell, bell.value(), round);
    EXPECT_TRUE(round.for_pool.empty());
    return told(round);
  }
  static Answers told(const FutexWaits::Round& round) {
    Answers answers;
    for (const auto& one : round.answered) answers.emplace_back(one.call.request.lane, one.value);
    return answers;
  }
  // Wakes up to `count` waits for `word` from another thread, once somebody waits there.
  static std::thread wakes(std::uint32_t* word, int count) {
    return std::thread([word, count] {
      const Instant patience = now() + 10s;
      int left = count;
      while (left > 0 && now() < patience) {
        left -= static_cast<int>(system_call(SYS_futex, word, FUTEX_WAKE_PRIVATE, left, 0, 0, 0));
        std::this_thread::sleep_for(100us);
      }
      EXPECT_EQ(left, 0);
    });
  }

  FutexBell bell;
  FutexWaits waits;
  std::array<std::uint32_t, FutexWaits::calls_max> words{};
};

TEST_F(FutexWaitsTest, answers_as_many_waits_for_one_word_as_were_woken) {
  for (std::uint8_t lane = 0; lane < 5; ++lane) ASSERT_TRUE(add(lane, words.data(), 0));
  std::thread waker([&] {
    const Instant patience = now() + 10s;
    while (system_call(SYS_futex, words.data(), FUTEX_WAKE_PRIVATE, 3, 0, 0, 0) != 3) {
      ASSERT_LT(now(), patience);
      std::this_thread::sleep_for(10ms);
    }
  });
  Answers answers;
  while (answers.size() < 3) {
    const Answers more = wait();
    answers.insert(answers.end(), more.begin(), more.end());
  }
  waker.join();
  EXPECT_EQ(answers, (Answers{{0, 0}, {1, 0}, {2, 0}})) << "in the order of their arrival";
  EXPECT_EQ(waits.size(), 2u);
}

TEST_F(FutexWaitsTest, leaves_calls_behind_the_woken_one_waiting) {
  for (std::uint8_t lane = 0; lane < 4; ++lane) ASSERT_TRUE(add(lane, &words[lane], 0));
  std::thread waker = wakes(&words[0], 1);
  const Answers answers = wait();
  waker.join();
  EXPECT_EQ(answers, (Answers{{0, 0}}));
  EXPECT_EQ(waits.size(), 3u);
}

// The callers do as those of futex(2): a word that has not changed is waited for again.
TEST_F(FutexWaitsTest, loses_no_wake_up_of_words_that_are_woken_together) {
  constexpr auto count = static_cast<std::uint8_t>(FutexWaits::calls_max);
  for (std::uint8_t lane = 0; lane < count; ++lane) ASSERT_TRUE(add(lane, &words[lane], 0));
  std::vector<std::thread> wakers;
  for (std::size_t first = 0; first < 3; ++first) {
    wakers.emplace_back([this, first] {
      for (std::size_t at = first; at < words.size(); at += 3) {
        std::atomic_ref(words[at]).store(1);
        system_call(SYS_futex, &words[at], FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
      }
    });
  }
  const Instant patience = now() + 10s;
  while (waits.size() != 0 && now() < patience) {
    for (const auto& [lane, value] : wait()) {
      const auto place = static_cast<std::uint8_t>(lane);
      const bool done = std::atomic_ref(words[place]).load() == 1;
      EXPECT_TRUE(value == 0 || (value == -EAGAIN && done)) << value;
      if (!done) {
        ASSERT_TRUE(add(place, &words[place], 0));
      }
    }
  }
  for (std::thread& waker : wakers) waker.join();
  EXPECT_EQ(waits.size(), 0u);
}

TEST_F(FutexWaitsTest, a_word_that_has_changed_answers_as_futex_does) {
  ASSERT_TRUE(add(0, &words[0], 0));
  ASSERT_TRUE(add(1, &words[1], 9));
  EXPECT_EQ(wait(), (Answers{{1, -EAGAIN}})) << "it never waited";
  words[0] = 1;
  EXPECT_EQ(wait(), (Answers{{0, 0}})) << "it was waiting as the word changed";
}

TEST_F(FutexWaitsTest, a_word_that_is_gone_answers_efault) {
  void* const page =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  ASSERT_TRUE(add(0, page, 0));
  ASSERT_TRUE(add(1, &words[1], 0, now() + 20ms));
  ASSERT_EQ(::munmap(page, 4096), 0);
  EXPECT_EQ(wait(), (Answers{{0, -EFAULT}}));
  EXPECT_EQ(wait(), (Answers{{1, -ETIMEDOUT}}));
}

TEST_F(FutexWaitsTest, each_call_has_a_timeout_of_its_own) {
  const Instant begin = now();
  ASSERT_TRUE(add(0, &words[0], 0, begin + 40ms));
  ASSERT_TRUE(add(1, &words[1], 0, begin + 20ms));
  ASSERT_TRUE(add(2, &words[2], 0));
  EXPECT_EQ(wait(), (Answers{{1, -ETIMEDOUT}}));
  EXPECT_GE(now() - begin, 20ms);
  EXPECT_EQ(wait(), (Answers{{0, -ETIMEDOUT}}));
  EXPECT_GE(now() - begin, 40ms);
  EXPECT_EQ(waits.size(), 1u);
}

TEST_F(FutexWaitsTest, the_bell_ends_a_wait_and_no_call) {
  ASSERT_TRUE(add(0, &words[0], 0));
  const std::uint32_t seen = bell.value();
  bell.ring();
  FutexWaits::Round round;
  waits.wait(bell, seen, round);  // It rang before.
  EXPECT_TRUE(round.answered.empty());
  std::thread ringer([&] {
    std::this_thread::sleep_for(10ms);
    bell.ring();
  });
  EXPECT_TRUE(wait().empty());
  ringer.join();
  EXPECT_EQ(waits.size(), 1u);
}

TEST_F(FutexWaitsTest, ends_all_waits_or_those_that_are_not_detached) {
  ASSERT_TRUE(add(0, &words[0], 0));
  ASSERT_TRUE(add(1, &words[0], 0, {}, protocol::flag::detached));
  FutexWaits::Round round;
  waits.end(FutexWaits::Whose::not_detached, round);
  EXPECT_EQ(told(round), (Answers{{0, -ECANCELED}}));
  round.answered.clear();
  waits.end(FutexWaits::Whose::everybody, round);
  EXPECT_EQ(told(round), (Answers{{1, -ECANCELED}}));
  EXPECT_EQ(waits.size(), 0u);
}

TEST_F(FutexWaitsTest, keeps_one_call_of_a_slot) {
  ASSERT_TRUE(add(0, &words[0], 0));
  EXPECT_FALSE(add(0, &words[1], 0));
  EXPECT_EQ(waits.size(), 1u);
}

}  // namespace
}  // namespace k2k::server
