// Goal: calls that wait for words are answered once they are woken, or when waits are ended; they
// take few threads.

#include "server/pool/futex_watch.hpp"

#include <asm/unistd.h>
#include <gtest/gtest.h>
#include <linux/futex.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <memory>
#include <thread>

#include "base/clock.hpp"
#include "base/system_call.hpp"
#include "server/pool/server_parts_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;
using protocol::SlotState;
using protocol::TransportError;

// The parts and the watch; the watch's threads keep them alive.
struct FutexWatchedParts : ServerParts {
  FutexWatch watch{set_aside};
};

class FutexWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    if (system_call(SYS_futex_waitv, nullptr, 0u, 0u, nullptr, 0) == -ENOSYS) {
      GTEST_SKIP() << "this Linux has no futex_waitv";
    }
    parts->threads.keep_alive(parts);
  }
  void TearDown() override {
    parts->watch.stop();
    EXPECT_TRUE(parts->threads.wait_ended(10s)) << "no signal is needed";
    parts->threads.release();
  }
  // A wait for `word`, tried once.
  Pending wait_for(std::uint8_t lane, std::uint32_t& word) {
    Pending call;
    call.request = parts->accept(lane, __NR_futex, &word, FUTEX_WAIT_PRIVATE, word, 0);
    const services::Answer answer =
        services::execute_without_waiting(call.request, call.progress, parts->files);
    EXPECT_TRUE(answer.would_wait);
    call.readiness = answer.readiness;
    return call;
  }
  // Wakes `count` waits for `word`.
  static void wake(std::uint32_t& word, int count) {
    const Instant patience = now() + 10s;
    for (int left = count; left > 0 && now() < patience;) {
      left -= static_cast<int>(system_call(SYS_futex, &word, FUTEX_WAKE_PRIVATE, left, 0, 0, 0));
    }
  }
  std::size_t threads() {
    Stats stats;
    parts->threads.add_to(stats);
    return stats.threads;
  }

  std::shared_ptr<FutexWatchedParts> parts = std::make_shared<FutexWatchedParts>();
  std::array<std::uint32_t, 32> words{};
};

TEST_F(FutexWatchTest, answers_a_call_once_its_word_is_woken) {
  const Pending first = wait_for(0, words[0]);
  const Pending second = wait_for(1, words[0]);
  ASSERT_TRUE(parts->watch.take(first));
  ASSERT_TRUE(parts->watch.take(second));
  wake(words[0], 1);
  ASSERT_TRUE(parts->is_answered(first.request));
  EXPECT_EQ(parts->value_of(first.request), 0);
  EXPECT_EQ(parts->control_of(second.request).state, SlotState::processing) << "one was woken";
  wake(words[0], 1);
  ASSERT_TRUE(parts->is_answered(second.request));
  EXPECT_EQ(threads(), 1u) << "calls for one word share a thread";
}

TEST_F(FutexWatchTest, more_words_than_threads_are_waited_for) {
  std::vector<Pending> calls;
  for (std::uint8_t lane = 0; lane < words.size(); ++lane) {
    calls.push_back(wait_for(lane, words[lane]));
    ASSERT_TRUE(parts->watch.take(calls.back()));
  }
  EXPECT_EQ(threads(), FutexWatch::waiters_alone);
  for (std::uint32_t& word : words) {
    word = 1;
    system_call(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, 0, 0, 0);
  }
  for (const Pending& call : calls) {
    ASSERT_TRUE(parts->is_answered(call.request));
    const std::int64_t value = parts->value_of(call.request);
    EXPECT_TRUE(value == 0 || value == -EAGAIN) << value << " (EAGAIN: it had not begun to wait)";
  }
}

TEST_F(FutexWatchTest, leaves_other_calls_to_others) {
  Pending call;
  call.request = parts->accept(0, __NR_nanosleep);
  call.readiness.moment = now() + 1h;
  EXPECT_FALSE(parts->watch.take(call));
  EXPECT_EQ(threads(), 0u);
}

TEST_F(FutexWatchTest, ends_all_waits_when_it_is_stopped) {
  const Pending call = wait_for(0, words[0]);
  ASSERT_TRUE(parts->watch.take(call));
  parts->watch.stop();
  ASSERT_TRUE(parts->is_answered(call.request));
  EXPECT_EQ(parts->control_of(call.request).error, TransportError::shutdown);
  EXPECT_FALSE(parts->watch.take(wait_for(1, words[1])));
}

}  // namespace
}  // namespace k2k::server
