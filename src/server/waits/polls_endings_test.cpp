// Goal: calls that wait for several descriptors cost the same however many wait, and end well when
// their descriptors, their memory or the set of epoll go away.

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "router/door/files.hpp"
#include "server/waits/descriptor_waits_fixture.hpp"
#include "server/waits/polls_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

class PollsTest : public testing::Test {
 protected:
  void SetUp() override { wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
  void TearDown() override { ::close(wake); }

  // Tries a call once and adds it: it would wait.
  void begin(std::uint32_t wave, services::Request request) {
    Pending call;
    call.request = request;
    call.request.wave = wave;
    const services::Answer answer =
        services::execute_without_waiting(call.request, call.progress, files);
    ASSERT_TRUE(answer.would_wait);
    call.readiness = answer.readiness;
    waits.add(call, now(), round);
  }
  void run_until(std::size_t answers) {
    const Instant patience = now() + 20s;
    while (round.answered.size() < answers && now() < patience) wait_once(waits, wake, round);
    EXPECT_EQ(round.answered.size(), answers);
    EXPECT_TRUE(round.for_pool.empty());
  }
  // The CPU time of calls that all wait for the same two pipes, of which one becomes ready.
  Nanoseconds time_of(std::uint32_t calls) {
    Scene scene;
    std::vector<std::array<pollfd, 2>> lists;
    for (std::uint32_t call = 0; call < calls; ++call) {
      lists.push_back({{{scene.pipes[0][0], POLLIN, 0}, {scene.pipes[1][0], POLLIN, 0}}});
    }
    const Nanoseconds before = thread_time();
    for (std::uint32_t call = 0; call < calls; ++call) {
      begin(call, scene.make(__NR_poll, lists[call].data(), 2, -1));
    }
    make_readable(scene.pipes[0][1]);
    run_until(calls);
    const Nanoseconds spent = thread_time() - before;
    round.answered.clear();
    EXPECT_EQ(waits.size(), 0u);
    return spent;
  }

  int wake = -1;
  router::Files files;
  DescriptorWaits waits{files};
  DescriptorWaits::Round round;
};

TEST_F(PollsTest, cost_the_same_for_each_call_however_many_wait_for_one_descriptor) {
  time_of(500);
  // The least of three: another thread's use of the caches is no cost of the calls.
  Nanoseconds few = Nanoseconds::max();
  Nanoseconds many = Nanoseconds::max();
  for (int turn = 0; turn < 3; ++turn) {
    few = std::min(few, time_of(500));
    many = std::min(many, time_of(8'000));
  }
  EXPECT_LT(many, few * 64) << "16 times as many; where each visits all others, 256 times the time";
}

TEST_F(PollsTest, leave_all_their_lines_with_the_first_descriptor_that_is_ready) {
  Scene scene;
  fill_list(scene);
  begin(0, scene.poll(-1));
  std::vector<pollfd> others(scene.list);
  begin(1, scene.make(__NR_poll, others.data() + 1, 1, -1));
  make_readable(scene.pipes[0][1]);
  run_until(1);
  EXPECT_EQ(round.answered[0].call.request.wave, 0u);
  EXPECT_EQ(waits.size(), 1u);
  make_readable(scene.pipes[1][1]);
  run_until(2);
  EXPECT_EQ(scene.list[1].revents, 0) << "its memory belongs to the program again";
  EXPECT_EQ(others[1].revents, POLLIN);
}

TEST_F(PollsTest, notice_within_a_second_that_a_descriptor_was_closed) {
  Scene scene;
  fill_list(scene);
  begin(0, scene.poll(-1));
  fill_sets(scene);
  begin(1, scene.select(endless));
  scene.close_now(scene.pipes[3][0]);
  const Instant before = now();
  run_until(2);
  EXPECT_LT(now() - before, 10s);
  EXPECT_EQ(round.answered[0].value, 1);
  EXPECT_EQ(scene.list[3].revents, POLLNVAL);
  EXPECT_EQ(round.answered[1].value, 1);
}

// Linux' own call is woken by the file alone that had the number when the call began.
TEST_F(PollsTest, wait_for_the_file_that_got_the_number) {
  Scene scene;
  fill_list(scene);
  begin(0, scene.poll(-1));
  std::array<int, 2> later{};
  ASSERT_EQ(::pipe2(later.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::dup2(later[0], scene.pipes[0][0]), scene.pipes[0][0]);
  const Instant renewed = now() + DescriptorWaits::check_every + 100ms;
  while (now() < renewed) wait_once(waits, wake, round);
  EXPECT_TRUE(round.answered.empty());
  make_readable(later[1]);
  run_until(1);
  EXPECT_EQ(scene.list[0].revents, POLLIN);
  for (const int end : later) ::close(end);
}

TEST_F(PollsTest, without_descriptors_and_time_wait_until_they_are_ended) {
  Scene scene;
  begin(0, scene.poll(-1));
  begin(1, scene.make(__NR_select, 0, 0, 0, 0, 0));
  fill_list(scene);
  begin(2, scene.poll(-1));
  std::vector<DescriptorWaits::Answered> answered;
  waits.end(DescriptorWaits::Whose::everybody, answered);
  ASSERT_EQ(answered.size(), 3u);
  for (const auto& each : answered) EXPECT_EQ(each.value, -ECANCELED);
  EXPECT_EQ(waits.size(), 0u);
}

TEST_F(PollsTest, of_k2ks_own_descriptors_wait_for_no_event_of_theirs) {
  const Descriptor own(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  Scene scene;
  scene.list = {{own.number(), POLLIN, 0}, {scene.pipes[0][0], POLLIN, 0}};
  begin(0, scene.poll(-1));
  const std::uint64_t one = 1;
  ASSERT_EQ(::write(own.number(), &one, sizeof(one)), 8);
  ASSERT_EQ(::write(wake, &one, sizeof(one)), 8);
  wait_once(waits, wake, round);
  EXPECT_TRUE(round.answered.empty());
  make_readable(scene.pipes[0][1]);
  run_until(1);
}

// A list that changes while its call waits: Linux has read it, too, and writes only reports.
TEST_F(PollsTest, leave_a_changed_list_alone_but_for_its_reports) {
  Scene scene;
  fill_list(scene);
  begin(0, scene.poll(-1));
  scene.list[0] = {12'345, POLLOUT, 99};
  make_readable(scene.pipes[0][1]);
  run_until(1);
  EXPECT_EQ(scene.list[0].fd, 12'345);
  EXPECT_EQ(scene.list[0].events, POLLOUT);
  EXPECT_EQ(scene.list[0].revents, POLLIN);
}

TEST_F(PollsTest, whose_memory_has_gone_answer_efault) {
  Scene scene;
  constexpr std::size_t bytes = 4'096;
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const list = static_cast<pollfd*>(memory);
  list[0] = {scene.pipes[0][0], POLLIN, 0};
  begin(0, scene.make(__NR_poll, list, 1, -1));
  auto* const set = reinterpret_cast<fd_set*>(static_cast<char*>(memory) + bytes / 2);
  FD_SET(scene.pipes[0][0], set);
  begin(1, scene.make(__NR_select, 64, set, 0, 0, 0));
  ASSERT_EQ(::munmap(memory, bytes), 0);
  make_readable(scene.pipes[0][1]);
  run_until(2);
  EXPECT_EQ(round.answered[0].value, -EFAULT);
  EXPECT_EQ(round.answered[1].value, -EFAULT);
}

TEST_F(PollsTest, wait_by_time_where_there_is_no_epoll_set) {
  Scene scene;
  fill_list(scene);
  begin(0, scene.poll(-1));
  for (int number = 3; number < 1'000; ++number) {
    std::array<char, 64> path{};
    std::array<char, 64> target{};
    std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", number);
    const ssize_t length = ::readlink(path.data(), target.data(), target.size() - 1);
    if (length > 0 && std::string(target.data()) == "anon_inode:[eventpoll]") ::close(number);
  }
  make_readable(scene.pipes[1][1]);
  run_until(1);
  EXPECT_EQ(scene.list[1].revents, POLLIN);
}

}  // namespace
}  // namespace k2k::server
