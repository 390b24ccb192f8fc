// Goal: a ticket gives one answer. A detached call is made with the bytes that it was given, and
// its failure is reported.

#include <cstring>

#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::outcomes_test {
namespace {

class Outcomes : public DeviceUnderTest {};
K2K_EVERY_DEVICE(Outcomes);

TEST_P(Outcomes, a_ticket_gives_the_answer_and_the_data) {
  Runtime runtime = start();
  const TemporaryFile file("0123456789");
  std::atomic<int> right{0};
  const LaunchReport report = launch(runtime, 4, 32, [&] {
    char first[4] = {};
    char second[4] = {};
    auto one = k2k::pread(k2k::work_item, k2k::async, file.fd, first, 4, 0);
    auto two = k2k::pread(k2k::work_item, k2k::async, file.fd, second, 4, 4);
    right += two.redeem() == 4 && std::memcmp(second, "4567", 4) == 0;
    right += one.redeem() == 4 && std::memcmp(first, "0123", 4) == 0;
  });
  EXPECT_EQ(right.load(), 256);
  EXPECT_EQ(report.unredeemed_tickets, 0u);
}

TEST_P(Outcomes, a_ticket_says_when_its_answer_is_there) {
  Runtime runtime = start();
  const Pair pipe;
  std::atomic<bool> seen_waiting{false};
  std::thread host([&] {
    while (!seen_waiting.load()) std::this_thread::yield();
    EXPECT_EQ(::write(pipe.out(), "t", 1), 1);
  });
  std::atomic<long> answer{0};
  launch(runtime, 1, 1, [&] {
    char letter = 0;
    auto ticket = k2k::read(k2k::work_item, k2k::async, pipe.in(), &letter, 1);
    if (ticket.ready()) return;  // Nothing was written yet, so the ticket must not be ready.
    seen_waiting = true;
    while (!ticket.ready()) k2k::yield();
    answer = ticket.redeem();
  });
  seen_waiting = true;
  host.join();
  EXPECT_EQ(answer.load(), 1);
}

TEST_P(Outcomes, a_ticket_is_worth_nothing_the_second_time) {
  Runtime runtime = start();
  std::array<long, 5> answers{};
  launch(runtime, 1, 1, [&] {
    auto ticket = k2k::getpid(k2k::work_item, k2k::async);
    auto copy = ticket;
    auto late_copy = ticket;
    answers[0] = ticket.redeem();
    answers[1] = ticket.redeem();
    answers[2] = copy.ready() ? copy.redeem() : Reply(1);  // The slot is free.
    // Another call may use the slot by now: its answer does not belong to the copy.
    auto other = k2k::fsync(k2k::work_item, k2k::async, -1);
    answers[3] = late_copy.ready() ? late_copy.redeem() : Reply(1);
    answers[4] = other.redeem();
  });
  EXPECT_EQ(answers[0], ::getpid());
  EXPECT_EQ(answers[1], -EINVAL);
  EXPECT_EQ(answers[2], -EINVAL);
  EXPECT_EQ(answers[3], -EINVAL);
  EXPECT_EQ(answers[4], -EBADF);
}

TEST_P(Outcomes, unredeemed_tickets_are_counted_and_their_slots_come_back) {
  Runtime runtime = start();
  for (int launches = 0; launches < 6; ++launches) {  // 6 × 64 tickets: more than the 256 slots.
    const LaunchReport report =
        launch(runtime, 2, 32, [&] { static_cast<void>(k2k::getpid(k2k::work_item, k2k::async)); });
    EXPECT_EQ(report.unredeemed_tickets, 64u);
  }
  std::atomic<int> right{0};
  const LaunchReport report = launch(runtime, 8, 32, [&] {
    auto ticket = k2k::getpid(k2k::work_item, k2k::async);
    right += ticket.redeem() == ::getpid();
  });
  EXPECT_EQ(right.load(), 256);
  EXPECT_EQ(report.unredeemed_tickets, 0u);
}

// Each work-item keeps tickets while it makes other calls, and there are more work-items than
// slots, more buffers than blocks.
class TicketsOfAll : public Outcomes {
 protected:
  void keep_room(Runtime runtime, std::uint32_t groups) {
    const TemporaryFile file("0123456789");
    const TemporaryFile copy;
    std::atomic<std::uint32_t> right{0};
    const LaunchReport report = launch(runtime, groups, 32, [&] {
      char first[4] = {};
      char second[4] = {};
      char third[4] = {};
      auto one = k2k::pread(k2k::work_item, k2k::async, file.fd, first, 4, 0);
      auto two = k2k::pread(k2k::work_item, k2k::async, file.fd, second, 4, 4);
      const long now = k2k::pread(k2k::work_item, file.fd, third, 2, 8);
      const long sent = k2k::pwrite(k2k::work_item, k2k::detached, copy.fd, third, 2, 0);
      const bool answers = two.redeem() == 4 && one.redeem() == 4 && now == 2 && sent == 0;
      right += answers && std::memcmp(first, "0123", 4) == 0 &&
               std::memcmp(second, "4567", 4) == 0 && std::memcmp(third, "89", 2) == 0;
      if (one.redeem() != -EINVAL || two.redeem() != -EINVAL) right = 1u << 31;
    });
    EXPECT_EQ(right.load(), groups * 32);
    EXPECT_EQ(report.unredeemed_tickets, 0u);
    EXPECT_TRUE(runtime.drain().value().empty());
    EXPECT_EQ(copy.content(), "89");
  }
};
K2K_EVERY_DEVICE(TicketsOfAll);

TEST_P(TicketsOfAll, leave_slots_for_other_calls) { keep_room(start(), race_checked ? 8 : 32); }

TEST_P(TicketsOfAll, leave_blocks_for_other_calls) {
  // 256 work-items keep 512 buffers beside 64 blocks. More of them wait longer for each block.
  keep_room(start([](RuntimeConfig& config) { config.device.strict = true; }), 8);
}

TEST_P(TicketsOfAll, leave_slots_to_waves_that_call_together) {
  Runtime runtime = start();
  std::atomic<std::uint32_t> right{0};
  launch(runtime, 16, 32, [&] {
    auto one = k2k::getpid(k2k::work_item, k2k::async | k2k::wave_wide);
    auto two = k2k::getpid(k2k::work_item, k2k::async);
    const long third = k2k::getpid(k2k::work_item, k2k::wave_wide);
    right += one.redeem() == third && two.redeem() == third;
  });
  EXPECT_EQ(right.load(), 512u);
}

TEST_P(Outcomes, lanes_that_did_not_call_hold_an_empty_ticket) {
  Runtime runtime = start();
  std::atomic<int> callers{0};
  std::atomic<int> others{0};
  launch(runtime, 2, 32, [&] {
    auto ticket = k2k::getpid(k2k::work_group, k2k::async);
    const bool ready_at_once = item_rank() == 0 || ticket.ready();
    const long answer = ticket.redeem();
    callers += answer == ::getpid();
    others += ready_at_once && answer == -EINPROGRESS;
  });
  EXPECT_EQ(callers.load(), 2);
  EXPECT_EQ(others.load(), 62);
}

TEST_P(Outcomes, a_detached_write_keeps_the_bytes_it_was_given) {
  Runtime runtime = start();
  const TemporaryFile file;
  launch(runtime, 4, 32, [&] {
    char text[8];
    std::memset(text, 'a' + static_cast<int>(item_rank() % 26), sizeof(text));
    const long answer = k2k::pwrite(k2k::work_item, k2k::detached, file.fd, text, sizeof(text),
                                    static_cast<std::int64_t>(global_rank() * sizeof(text)));
    std::memset(text, '!', sizeof(text));  // Ours again, at once.
    if (answer != 0) k2k::pwrite(k2k::work_item, file.fd, "?", 1, 0);
  });
  EXPECT_TRUE(runtime.drain().value().empty());
  const std::string content = file.content();
  ASSERT_EQ(content.size(), 128u * 8);
  for (std::size_t item = 0; item < 128; ++item) {
    EXPECT_EQ(content.substr(item * 8, 8), std::string(8, static_cast<char>('a' + item % 32 % 26)));
  }
}

TEST_P(Outcomes, a_detached_group_write_lets_the_group_use_its_buffer_again) {
  Runtime runtime = start();
  const TemporaryFile file;
  launch(runtime, 4, 32, [&] {
    K2K_LOCAL(char[32], text);
    for (std::uint32_t round = 0; round < 3; ++round) {
      text[item_rank()] = static_cast<char>('0' + round);
      const std::int64_t place = (group_rank() * 3 + round) * 32;
      k2k::pwrite(k2k::work_group, k2k::detached, file.fd, text, 32, place);
    }
  });
  EXPECT_TRUE(runtime.drain().value().empty());
  std::string expected;
  for (int block = 0; block < 12; ++block) {
    expected += std::string(32, static_cast<char>('0' + block % 3));
  }
  EXPECT_EQ(file.content(), expected);
}

TEST_P(Outcomes, errors_of_detached_calls_are_handed_over_by_drain_once) {
  Runtime runtime = start();
  launch(runtime, 2, 16, [&] {
    k2k::write(k2k::work_item, k2k::detached, -1, "x", 1);
    k2k::close(k2k::work_group, k2k::relaxed | k2k::detached, -1);
    k2k::getpid(k2k::work_item, k2k::detached);
  });
  std::uint64_t writes = 0;
  std::uint64_t closes = 0;
  const std::vector<server::DetachedError> errors = runtime.drain().value();
  for (const server::DetachedError& error : errors) {
    EXPECT_EQ(error.error, EBADF);
    (error.name == "write" ? writes : closes) += error.count;
  }
  EXPECT_EQ(errors.size(), 2u);
  EXPECT_EQ(writes, 32u);
  EXPECT_EQ(closes, 2u);
  EXPECT_TRUE(runtime.drain().value().empty());
}

TEST_P(Outcomes, a_detached_call_may_outlive_its_kernel_and_the_next_ones) {
  Runtime runtime = start();
  const Pair pipe;
  std::vector<char> text(64);
  launch(runtime, 1, 1,
         [&] { k2k::read(k2k::work_item, k2k::detached, pipe.in(), text.data(), text.size()); });
  std::atomic<int> right{0};
  launch(runtime, 8, 32, [&] { right += k2k::getpid(k2k::work_item) == ::getpid(); });
  EXPECT_EQ(right.load(), 256);
  ASSERT_EQ(::write(pipe.out(), "late", 4), 4);
  EXPECT_TRUE(runtime.drain().value().empty());
  EXPECT_EQ(std::string(text.data(), 4), "late");
}

}  // namespace
}  // namespace k2k::conformance::outcomes_test
