// Goal: for every scope and order, the right work-item makes the call, the others get its result,
// and they see the right data (thesis, section 3.5.1).

#include <asm/unistd.h>

#include <algorithm>
#include <cstring>

#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::scopes_test {
namespace {

class Scopes : public DeviceUnderTest {};
K2K_EVERY_DEVICE(Scopes);

constexpr std::uint32_t items = 48;

TEST_P(Scopes, a_work_group_calls_once_and_all_get_the_answer) {
  Runtime runtime = start();
  const Pair pipe;
  std::atomic<std::uint32_t> right{0};
  launch(runtime, 6, items,
         [&] { right += k2k::write(k2k::work_group, pipe.out(), "abc", 3) == 3; });
  EXPECT_EQ(right.load(), 6 * items);
  EXPECT_EQ(read_all(pipe.in(), 18).size(), 18u);
  ::fcntl(pipe.in(), F_SETFL, O_NONBLOCK);
  char more = 0;
  EXPECT_EQ(::read(pipe.in(), &more, 1), -1) << "called more than once a group";
}

TEST_P(Scopes, a_strong_write_carries_the_earlier_stores_of_every_lane) {
  Runtime runtime = start();
  const TemporaryFile file;
  launch(runtime, 4, items, [&] {
    K2K_LOCAL(char[items], text);
    text[item_rank()] = static_cast<char>('a' + group_rank());
    k2k::pwrite(k2k::work_group, file.fd, text, items, group_rank() * items);
    text[item_rank()] = '!';  // The call is over, so the host no longer reads it.
  });
  for (std::uint32_t group = 0; group < 4; ++group) {
    EXPECT_EQ(file.content().substr(group * items, items),
              std::string(items, static_cast<char>('a' + group)));
  }
}

TEST_P(Scopes, a_relaxed_write_lets_the_others_go_on_with_einprogress) {
  Runtime runtime = start();
  const TemporaryFile file;
  std::vector<long> answers(items);
  launch(runtime, 1, items, [&] {
    K2K_LOCAL(char[items], text);
    text[item_rank()] = static_cast<char>('0' + item_rank() % 10);
    answers[item_rank()] = k2k::pwrite(k2k::work_group, k2k::relaxed, file.fd, text, items, 0);
  });
  EXPECT_EQ(answers[0], static_cast<long>(items));
  for (std::uint32_t item = 1; item < items; ++item) EXPECT_EQ(answers[item], -EINPROGRESS);
  EXPECT_EQ(file.content().size(), items);
  EXPECT_EQ(file.content().substr(40), "01234567");
}

TEST_P(Scopes, a_relaxed_read_shows_its_data_and_its_answer_to_every_lane) {
  Runtime runtime = start();
  const TemporaryFile file(std::string(items, 'r') + std::string(items, 's'));
  std::atomic<int> right{0};
  launch(runtime, 4, items, [&] {
    K2K_LOCAL(char[items], text);
    // Twice, so that a fast caller could overtake slow readers of the first answer.
    const long first = k2k::pread(k2k::work_group, k2k::relaxed, file.fd, text, items, 0);
    const char mine = text[(item_rank() + 7) % items];
    k2k::barrier();  // The buffer is used again: relaxed order does not wait for its readers.
    const long second = k2k::pread(k2k::work_group, k2k::relaxed, file.fd, text, 5, items);
    right += first == static_cast<long>(items) && mine == 'r' && second == 5 && text[4] == 's';
  });
  EXPECT_EQ(right.load(), 4 * static_cast<int>(items));
}

TEST_P(Scopes, answers_of_calls_in_a_row_never_mix) {
  Runtime runtime = start();
  const TemporaryFile file(std::string(100, 'x'));
  std::atomic<int> wrong{0};
  launch(runtime, 4, items, [&] {
    char text[32];
    K2K_LOCAL(char[32], shared);
    for (long count = 1; count < 12; ++count) {
      const auto size = static_cast<std::size_t>(count);
      wrong += k2k::pread(k2k::work_group, k2k::relaxed, file.fd, shared, size, 0) != count;
      wrong += k2k::pread(k2k::work_group, file.fd, shared, size + 1, 0) != count + 1;
      wrong += k2k::pread(k2k::work_item, file.fd, text, size + 2, 0) != count + 2;
      wrong += k2k::lseek(k2k::work_group, k2k::relaxed, -1, 0, 0) != -EBADF;
      const long written = k2k::fsync(k2k::work_group, k2k::relaxed, -1);
      wrong += written != (item_rank() == 0 ? -EBADF : -EINPROGRESS);
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(Scopes, a_chosen_role_replaces_the_call_s_own) {
  Runtime runtime = start();
  std::vector<long> as_consumer(items);
  std::vector<long> as_producer(items);
  launch(runtime, 1, items, [&] {
    as_consumer[item_rank()] = k2k::nop(k2k::work_group, k2k::relaxed | k2k::as_consumer);
    as_producer[item_rank()] = k2k::nop(k2k::work_group, k2k::relaxed | k2k::as_producer);
  });
  EXPECT_EQ(std::count(as_consumer.begin(), as_consumer.end(), -EINPROGRESS), items - 1);
  EXPECT_EQ(std::count(as_producer.begin(), as_producer.end(), 0), items);
}

// --- Kernel scope, on a grid that does not fit on the device.

TEST_P(Scopes, the_last_group_writes_for_the_whole_kernel) {
  Runtime runtime = start();
  const TemporaryFile file;
  const std::uint32_t groups = scaled(60, 20);
  std::vector<char> text(groups);
  std::atomic<std::uint32_t> callers{0};
  std::atomic<std::uint32_t> others{0};
  launch(runtime, groups, 16, [&] {
    if (item_rank() == 5) text[group_rank()] = static_cast<char>('A' + group_rank() % 26);
    const long answer =
        k2k::pwrite(k2k::kernel(3), k2k::relaxed, file.fd, text.data(), text.size(), 0);
    callers += answer == static_cast<long>(text.size());
    others += answer == -EINPROGRESS;
  });
  EXPECT_EQ(callers.load(), 1u);
  EXPECT_EQ(others.load(), groups * 16 - 1);
  EXPECT_EQ(file.content(), std::string(text.data(), text.size()));
}

TEST_P(Scopes, the_first_group_reads_for_the_whole_kernel) {
  Runtime runtime = start();
  const std::string content = "the same bytes for everybody";
  const Pair pipe;
  ASSERT_EQ(::write(pipe.out(), content.data(), content.size()),
            static_cast<ssize_t>(content.size()));
  const std::uint32_t groups = scaled(60, 20);
  std::vector<char> text(content.size());
  std::atomic<std::uint32_t> right{0};
  launch(runtime, groups, 16, [&] {
    const long answer =
        k2k::read(k2k::kernel(0), k2k::relaxed, pipe.in(), text.data(), text.size());
    right += answer == static_cast<long>(content.size()) &&
             std::memcmp(text.data(), content.data(), content.size()) == 0;
  });
  EXPECT_EQ(right.load(), groups * 16) << "a pipe can be read once only";
}

TEST_P(Scopes, a_site_serves_one_call_and_answers_ealready_to_the_next) {
  Runtime runtime = start();
  std::array<long, 4> answers{};
  std::vector<long> producers(8);
  const auto body = [&] {
    const long first = k2k::fsync(k2k::kernel(1), k2k::relaxed, -1);
    const long second = k2k::fsync(k2k::kernel(1), k2k::relaxed, -1);
    const long beyond = k2k::fsync(k2k::kernel(64), k2k::relaxed, -1);
    if (item_rank() == 0) answers = {first, second, beyond, 0};
    static_cast<void>(k2k::nop(k2k::kernel(2), k2k::relaxed | k2k::as_producer));
    producers[item_rank()] = k2k::nop(k2k::kernel(2), k2k::relaxed | k2k::as_producer);
  };
  for (int launches = 0; launches < 2; ++launches) {  // Sites are fresh in every launch.
    launch(runtime, 1, 8, body);
    EXPECT_EQ(answers[0], -EBADF);
    EXPECT_EQ(answers[1], -EALREADY);
    EXPECT_EQ(answers[2], -EINVAL);
    EXPECT_EQ(std::count(producers.begin(), producers.end(), -EALREADY), 8);
  }
}

// --- A wave together.

TEST_P(Scopes, a_wave_that_calls_together_rings_once) {
  // On a busy machine a rescan may be faster than a doorbell, which then may come too late.
  Runtime runtime = start([](RuntimeConfig& config) { config.server.rescan_us = 1'000'000; });
  const TemporaryFile file(std::string(64, 'w'));
  std::atomic<std::uint32_t> right{0};
  const LaunchReport report = launch(runtime, 8, 64, [&] {  // 16 waves.
    char letter = 0;
    right += k2k::pread(k2k::work_item, k2k::wave_wide, file.fd, &letter, 1, item_rank()) == 1 &&
             letter == 'w';
  });
  EXPECT_EQ(right.load(), 512u);
  EXPECT_LE(runtime.stats().doorbells, 16u);
  if (report.elapsed < std::chrono::milliseconds(900)) {  // No rescan was due.
    EXPECT_EQ(runtime.stats().doorbells, 16u);
  }
  EXPECT_EQ(runtime.stats().requests, 512u);
}

TEST_P(Scopes, a_wave_that_calls_together_gives_each_lane_its_own_error) {
  Runtime runtime = start();
  const TemporaryFile file("z");
  std::atomic<std::uint32_t> right{0};
  launch(runtime, 2, 32, [&] {
    char letter = 0;
    const bool mistaken = item_rank() % 4 == 1;
    const long answer =
        k2k::pread(k2k::work_item, k2k::wave_wide, mistaken ? -1 : file.fd, &letter, 1, 0);
    right += answer == (mistaken ? -EBADF : 1);
  });
  EXPECT_EQ(right.load(), 64u);
}

TEST_P(Scopes, halted_callers_are_woken) {
  Runtime runtime = start();
  const std::uint32_t count = scaled(512, 128);
  const Pair pipe;
  std::thread host([&] {
    for (std::uint32_t byte = 0; byte < count; ++byte) EXPECT_EQ(::write(pipe.out(), "h", 1), 1);
  });
  std::atomic<std::uint32_t> right{0};
  launch(runtime, count / 32, 32, [&] {
    char letter = 0;
    right += k2k::read(k2k::work_item, k2k::halting, pipe.in(), &letter, 1) == 1;
    right += k2k::getpid(k2k::work_group, k2k::halting) == ::getpid();
  });
  host.join();
  EXPECT_EQ(right.load(), 2 * count);
}

TEST_P(Scopes, urgent_calls_are_answered_while_a_window_holds_others_together) {
  if (GetParam().on_units) GTEST_SKIP() << "units that serve do not coalesce requests";
  Runtime runtime = start([](RuntimeConfig& config) {
    config.server.coalesce_window_us = 2'000;
    config.server.coalesce_max = 4096;
  });
  std::atomic<int> right{0};
  launch(runtime, 1, 32, [&] {
    right += k2k::getpid(k2k::work_item, k2k::urgent) == ::getpid();
    right += k2k::getpid(k2k::work_item) == ::getpid();
  });
  EXPECT_EQ(right.load(), 64);
  EXPECT_LT(runtime.stats().bundles, 65u);
}

}  // namespace
}  // namespace k2k::conformance::scopes_test
