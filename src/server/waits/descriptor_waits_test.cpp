// Goal: a call that waits for a descriptor gets the answer of the system call, however many calls
// wait; none waits in Linux. Method: real pipes and sockets; the test acts as the peer.

#include "server/waits/descriptor_waits.hpp"

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "calls/rows.hpp"
#include "server/waits/descriptor_waits_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

TEST_F(DescriptorWaitsTest, returns_when_it_is_woken_and_nothing_waits) {
  ring();
  EXPECT_TRUE(round().empty());
  EXPECT_EQ(waits.size(), 0u);
}

TEST_F(DescriptorWaitsTest, answers_what_became_ready_and_keeps_the_rest) {
  begin(1, __NR_read, pipe[0], buffer, 8);
  begin(2, __NR_recvfrom, stream[0], buffer, 8, 0, 0, 0);
  ASSERT_EQ(::write(stream[1], "abc", 3), 3);
  EXPECT_EQ(round(), (Answers{{2, 3}}));
  EXPECT_EQ(std::string(buffer, 3), "abc");
  EXPECT_EQ(waits.size(), 1u);
  ASSERT_EQ(::write(pipe[1], "de", 2), 2);
  EXPECT_EQ(round(), (Answers{{1, 2}}));
}

TEST_F(DescriptorWaitsTest, serves_those_that_wait_for_one_descriptor_in_their_order) {
  for (std::uint8_t lane = 0; lane < 5; ++lane) begin(lane, __NR_read, pipe[0], buffer + lane, 1);
  ASSERT_EQ(::write(pipe[1], "xyz", 3), 3);
  EXPECT_EQ(round(), (Answers{{0, 1}, {1, 1}, {2, 1}}));
  EXPECT_EQ(std::string(buffer, 3), "xyz");
  EXPECT_EQ(waits.size(), 2u);
}

TEST_F(DescriptorWaitsTest, waits_again_for_what_another_reader_took) {
  begin(1, __NR_read, pipe[0], buffer, 8);
  ASSERT_EQ(::write(pipe[1], "a", 1), 1);
  char other = 0;
  ASSERT_EQ(::read(pipe[0], &other, 1), 1);
  ring();
  EXPECT_TRUE(round().empty());
  EXPECT_EQ(waits.size(), 1u);
  ASSERT_EQ(::write(pipe[1], "b", 1), 1);
  EXPECT_EQ(round(), (Answers{{1, 1}}));
}

TEST_F(DescriptorWaitsTest, goes_on_with_a_write_where_it_stopped) {
  const std::string text(200'000, 'w');
  begin(1, __NR_write, pipe[1], text.data(), text.size());
  std::string back;
  std::vector<char> chunk(50'000);
  Answers answers;
  while (answers.empty()) {
    const ssize_t count = ::read(pipe[0], chunk.data(), chunk.size());
    ASSERT_GT(count, 0);
    back.append(chunk.data(), static_cast<std::size_t>(count));
    answers = round();
  }
  EXPECT_EQ(answers, (Answers{{1, 200'000}}));
  while (back.size() < text.size()) {
    const ssize_t count = ::read(pipe[0], chunk.data(), chunk.size());
    ASSERT_GT(count, 0);
    back.append(chunk.data(), static_cast<std::size_t>(count));
  }
  EXPECT_EQ(back, text);
}

TEST_F(DescriptorWaitsTest, keeps_the_two_directions_of_a_socket_apart) {
  const std::string text(3'000'000, 's');
  begin(1, __NR_sendto, stream[0], text.data(), text.size(), 0, 0, 0);
  begin(2, __NR_recvfrom, stream[0], buffer, 8, 0, 0, 0);
  ASSERT_EQ(::write(stream[1], "hi", 2), 2);
  EXPECT_EQ(round(), (Answers{{2, 2}})) << "the sender still waits for room";
  EXPECT_EQ(waits.size(), 1u);
}

TEST_F(DescriptorWaitsTest, tells_the_end_of_a_pipe_and_a_broken_one) {
  begin(1, __NR_read, pipe[0], buffer, 8);
  ::close(pipe[1]);
  pipe[1] = -1;
  EXPECT_EQ(round(), (Answers{{1, 0}}));
  const std::string text(3'000'000, 's');
  begin(2, __NR_sendto, stream[0], text.data(), text.size(), 0, 0, 0);
  std::vector<char> chunk(10);
  ::close(stream[1]);
  stream[1] = -1;
  const Answers answers = round();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_GT(answers[0].second, 0) << "bytes were taken before: their number, not EPIPE";
}

TEST_F(DescriptorWaitsTest, goes_on_by_time_when_the_program_closed_what_wakes_it) {
  begin(1, __NR_read, pipe[0], buffer, 8);
  ASSERT_EQ(::close(wake), 0);
  const Nanoseconds used = thread_time();
  const Instant before = now();
  int looks = 0;
  for (; now() - before < 100ms; ++looks) EXPECT_TRUE(round().empty());
  EXPECT_LT(now() - before, 5s) << "nothing would end a longer sleep";
  EXPECT_LE(looks, 15) << "a look each 10 ms, and a few at once";
  EXPECT_LT(thread_time() - used, 20ms);
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  EXPECT_EQ(round(), (Answers{{1, 1}}));
  wake = ::eventfd(0, EFD_CLOEXEC);
}

TEST_F(DescriptorWaitsTest, answers_ebadf_when_the_descriptor_is_closed) {
  begin(1, __NR_read, pipe[0], buffer, 8);
  ::close(pipe[0]);
  pipe[0] = -1;
  EXPECT_EQ(rounds(), (Answers{{1, -EBADF}})) << "epoll does not report a file that is closed";
}

TEST_F(DescriptorWaitsTest, answers_ebadf_when_another_number_keeps_the_file_open) {
  const int other = ::fcntl(pipe[0], F_DUPFD_CLOEXEC, 0);
  begin(1, __NR_read, pipe[0], buffer, 8);
  ::close(pipe[0]);
  pipe[0] = other;
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  EXPECT_EQ(rounds(), (Answers{{1, -EBADF}}));
  EXPECT_EQ(::read(other, buffer, 8), 1) << "the byte belongs to the number that is open";
}

TEST_F(DescriptorWaitsTest, does_not_read_a_file_that_has_got_the_number) {
  int later[2] = {-1, -1};
  ASSERT_EQ(::pipe2(later, O_CLOEXEC), 0);
  ASSERT_EQ(::write(later[1], "later", 5), 5);
  begin(1, __NR_read, pipe[0], buffer, 8);
  ASSERT_EQ(::dup2(later[0], pipe[0]), pipe[0]);
  EXPECT_EQ(rounds(), (Answers{{1, -EBADF}}));
  EXPECT_EQ(::read(later[0], buffer, 8), 5);
  ::close(later[0]);
  ::close(later[1]);
}

TEST_F(DescriptorWaitsTest, tells_a_call_on_the_new_file_from_older_ones) {
  int later[2] = {-1, -1};
  ASSERT_EQ(::pipe2(later, O_CLOEXEC), 0);
  begin(1, __NR_read, pipe[0], buffer, 8);
  begin(2, __NR_read, pipe[0], buffer, 8);
  ASSERT_EQ(::dup2(later[0], pipe[0]), pipe[0]);
  begin(3, __NR_read, pipe[0], buffer, 8);
  EXPECT_EQ(at_once, (Answers{{1, -EBADF}, {2, -EBADF}}));
  ASSERT_EQ(::write(later[1], "later", 5), 5);
  EXPECT_EQ(rounds(), (Answers{{3, 5}}));
  EXPECT_EQ(waits.size(), 0u);
  ::close(later[0]);
  ::close(later[1]);
}

TEST_F(DescriptorWaitsTest, waits_again_at_a_number_whose_old_file_is_still_open_elsewhere) {
  const int other = ::fcntl(pipe[0], F_DUPFD_CLOEXEC, 0);
  begin(1, __NR_read, pipe[0], buffer, 8);
  ::close(pipe[0]);
  EXPECT_EQ(rounds(), (Answers{{1, -EBADF}}));
  ASSERT_EQ(::dup2(other, pipe[0]), pipe[0]);
  begin(2, __NR_read, pipe[0], buffer, 8);
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  EXPECT_EQ(rounds(), (Answers{{2, 1}}));
  ::close(other);
}

TEST_F(DescriptorWaitsTest, leaves_what_epoll_does_not_take_to_the_pool) {
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  Pending call;
  call.readiness = {.descriptor = file, .events = POLLIN};
  DescriptorWaits::Round result;
  waits.add(call, now(), result);
  EXPECT_EQ(result.for_pool.size(), 1u) << "epoll takes no regular files";
  EXPECT_EQ(waits.size(), 0u);
  ::close(file);
}

// Sets of sets: `depth` of them, of which the innermost one has the pipe.
class SetsOfSets : public DescriptorWaitsTest {
 protected:
  void TearDown() override {
    for (const int set : sets) ::close(set);
    DescriptorWaitsTest::TearDown();
  }
  int set_of(int descriptor) {
    const int set = ::epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{.events = EPOLLIN, .data = {}};
    EXPECT_EQ(::epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event), 0);
    return sets.emplace_back(set);
  }
  int chain(int depth) {
    int set = set_of(pipe[0]);
    while (--depth > 0) set = set_of(set);
    return set;
  }
  void begin_wait(std::uint8_t lane, int set, int timeout_ms = -1) {
    begin(lane, __NR_epoll_wait, set, &got[lane], 1, timeout_ms);
  }

  std::vector<int> sets;
  std::array<epoll_event, 256> got{};
};

TEST_F(SetsOfSets, are_waited_for_where_linux_accepts_no_further_set) {
  constexpr int deepest = 5;  // EP_MAX_NESTS of Linux, and one.
  const int set = chain(deepest);
  begin_wait(1, set);
  begin_wait(2, set, 10);
  begin(3, __NR_read, stream[0], buffer, 8);
  EXPECT_EQ(rounds(), (Answers{{2, 0}})) << "its time";
  ASSERT_EQ(::write(stream[1], "abc", 3), 3);
  EXPECT_EQ(rounds(), (Answers{{3, 3}})) << "others stand in the epoll set";
  ring();
  EXPECT_TRUE(round().empty());
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  EXPECT_EQ(rounds(), (Answers{{1, 1}}));
  EXPECT_EQ(waits.size(), 0u);
}

// Linux lets few paths lead from a file to a set that contains sets of sets.
TEST_F(SetsOfSets, are_waited_for_where_too_many_lead_to_one_file) {
  const int inner = chain(1);
  constexpr int outer = 250;
  for (int lane = 0; lane < outer; ++lane) {
    begin_wait(static_cast<std::uint8_t>(lane), set_of(inner));
  }
  begin(251, __NR_read, stream[0], buffer, 8);
  ASSERT_EQ(::write(stream[1], "abc", 3), 3);
  EXPECT_EQ(rounds(), (Answers{{251, 3}})) << "the epoll set was not given up";
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  std::set<int> answered;
  for (Answers some = rounds(); !some.empty(); some = rounds()) {
    for (const auto& [lane, value] : some) {
      EXPECT_EQ(value, 1);
      EXPECT_TRUE(answered.insert(lane).second);
    }
    if (answered.size() == outer) break;
  }
  EXPECT_EQ(answered.size(), std::size_t{outer});
  EXPECT_EQ(waits.size(), 0u);
}

TEST_F(SetsOfSets, wake_the_blocked_thread_to_be_polled_beside_the_set) {
  using Beside = DescriptorWaits::Beside;
  DescriptorWaits::Round result;
  begin(1, __NR_read, pipe[0], buffer, 8);
  const Pending call = tried(2, 0, __NR_epoll_wait, chain(5), got.data(), 1, -1);
  const Pending read = tried(3, 0, __NR_read, stream[0], buffer, 8);
  waits.begin_wait(wake, result);
  EXPECT_EQ(waits.add_beside(call, now(), result), Beside::must_wake);
  waits.begin_wait(wake, result);
  EXPECT_EQ(waits.add_beside(read, now(), result), Beside::refused) << "the list is in use";
}

TEST_F(SetsOfSets, that_are_closed_answer_ebadf) {
  const int set = chain(5);
  begin_wait(1, set);
  ASSERT_EQ(::close(set), 0);
  sets.pop_back();
  const Instant before = now();
  EXPECT_EQ(rounds(), (Answers{{1, -EBADF}}));
  EXPECT_LT(now() - before, 10s) << "within a second on a quiet machine";
}

TEST_F(SetsOfSets, are_entered_anew_when_the_program_closed_the_epoll_set) {
  const int set = chain(5);
  begin_wait(1, set);
  close_sets(sets);
  ring();
  EXPECT_TRUE(round().empty());
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  EXPECT_EQ(rounds(), (Answers{{1, 1}}));
}

// poll(2) refuses more descriptors than the process may have open.
TEST_F(SetsOfSets, are_tried_where_the_process_may_have_no_descriptor_any_more) {
  const int set = chain(5);
  begin_wait(1, set);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_TRUE(round().empty());
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  EXPECT_EQ(rounds(), (Answers{{1, 1}}));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

// A program that closes all descriptors that it has not opened, as daemons do.
class ClosedSet : public DescriptorWaitsTest {
 protected:
  // Waits for the pipe; returns the set's number.
  int begin_with_set() {
    begin(1, __NR_read, pipe[0], buffer, 8);
    for (int number = 3; number < 1'000; ++number) {
      std::array<char, 64> path{};
      std::array<char, 64> target{};
      std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", number);
      const ssize_t length = ::readlink(path.data(), target.data(), target.size() - 1);
      if (length > 0 && std::string(target.data()) == "anon_inode:[eventpoll]") return number;
    }
    ADD_FAILURE() << "no set is open";
    return -1;
  }
};

TEST_F(ClosedSet, is_made_anew) {
  const int set = begin_with_set();
  ASSERT_EQ(::close(set), 0);
  ring();
  EXPECT_TRUE(round().empty());
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  EXPECT_EQ(rounds(), (Answers{{1, 1}}));
}

TEST_F(ClosedSet, leaves_the_file_alone_that_has_got_its_number) {
  const int set = begin_with_set();
  ASSERT_EQ(::dup2(stream[0], set), set);
  begin(2, __NR_read, pipe[0], buffer, 8);
  ASSERT_EQ(::write(pipe[1], "xy", 2), 2);
  EXPECT_EQ(rounds(), (Answers{{1, 2}}));
  EXPECT_GE(::fcntl(set, F_GETFD), 0) << "it is the program's";
  ::close(set);
}

TEST_F(ClosedSet, is_done_without_where_the_system_gives_none) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int set = begin_with_set();
  ASSERT_EQ(::close(set), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_TRUE(round().empty());
  EXPECT_TRUE(round().empty());
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  EXPECT_EQ(rounds(), (Answers{{1, 1}}));
  sleep(3, now() + 15ms);
  EXPECT_EQ(rounds(), (Answers{{3, 0}}));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(DescriptorWaitsTest, notices_by_itself_that_it_can_no_longer_be_woken) {
  ring();
  EXPECT_TRUE(round().empty()) << "the set knows what wakes it";
  begin(1, __NR_read, pipe[0], buffer, 8);
  ASSERT_EQ(::close(wake), 0);
  EXPECT_TRUE(round().empty());  // No report of the close: this takes check_every.
  const Instant before = now();
  EXPECT_TRUE(round().empty());
  EXPECT_LT(now() - before, 500ms);
  wake = ::eventfd(0, EFD_CLOEXEC);
}

TEST_F(DescriptorWaitsTest, ends_a_wait_at_the_timeout_of_the_socket) {
  const timeval limit{0, 20'000};
  ASSERT_EQ(::setsockopt(stream[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
  const Instant before = now();
  begin(1, __NR_recvfrom, stream[0], buffer, 8, 0, 0, 0);
  begin(2, __NR_recvfrom, stream[1], buffer, 8, 0, 0, 0);  // Without a timeout.
  EXPECT_EQ(round(), (Answers{{1, -EAGAIN}}));
  EXPECT_GE(now() - before, 20ms);
  EXPECT_EQ(waits.size(), 1u);
}

TEST_F(DescriptorWaitsTest, ends_sleeps_in_the_order_of_their_ends) {
  const Instant begin = now();
  sleep(1, begin + 20ms);
  sleep(2, begin + 10ms);
  sleep(3, begin - 1ms);
  begin_flagged(4, 0, __NR_read, pipe[0], buffer, 8);
  EXPECT_EQ(waits.size(), 4u);
  // On a busy machine one round may end several sleeps.
  Answers answers;
  for (int turn = 0; turn < 3 && answers.size() < 3; ++turn) {
    for (const auto& answer : rounds()) {
      const auto least = answer.first == 1 ? 20ms : answer.first == 2 ? 10ms : 0ms;
      EXPECT_GE(now() - begin, least) << answer.first;
      answers.push_back(answer);
    }
  }
  EXPECT_EQ(answers, (Answers{{3, 0}, {2, 0}, {1, 0}}));
  EXPECT_EQ(waits.size(), 1u);
}

TEST_F(DescriptorWaitsTest, answers_a_poll_by_its_descriptor_or_by_its_timeout) {
  pollfd first{pipe[0], POLLIN, 0};
  pollfd second{stream[0], POLLIN, 0};
  begin(1, __NR_poll, &first, 1, 20);
  begin(2, __NR_poll, &second, 1, 60'000);
  begin(3, __NR_recvfrom, stream[0], buffer, 8, 0, 0, 0);
  EXPECT_EQ(rounds(), (Answers{{1, 0}})) << "no error: its time has passed";
  ASSERT_EQ(::write(stream[1], "x", 1), 1);
  EXPECT_EQ(rounds(), (Answers{{2, 1}, {3, 1}}));
  EXPECT_EQ(second.revents, POLLIN);
}

TEST_F(DescriptorWaitsTest, ends_sleeps_with_the_launch) {
  sleep(1, now() + 1h);
  sleep(2, now() + 1h, protocol::flag::detached);
  std::vector<DescriptorWaits::Answered> answered;
  waits.end(DescriptorWaits::Whose::not_detached, answered);
  EXPECT_EQ(told(answered), (Answers{{1, -ECANCELED}}));
  answered.clear();
  waits.end(DescriptorWaits::Whose::everybody, answered);
  EXPECT_EQ(told(answered), (Answers{{2, -ECANCELED}}));
  EXPECT_EQ(waits.size(), 0u);
}

TEST_F(DescriptorWaitsTest, gives_up_on_a_descriptor_that_is_ready_and_never_gives) {
  // A writable socket simulates a descriptor that is reported readable and is not.
  Pending call;
  call.request.number = __NR_recvfrom;
  call.request.row = static_cast<std::int16_t>(calls::find(__NR_recvfrom));
  call.request.arguments[0] = static_cast<std::uint64_t>(stream[0]);
  call.request.arguments[1] = reinterpret_cast<std::uint64_t>(buffer);
  call.request.arguments[2] = 8;
  call.readiness = {.descriptor = stream[0], .events = POLLOUT};
  add(call);
  DescriptorWaits::Round result;
  int tries = 0;
  while (result.for_pool.empty() && ++tries < 1000) wait_once(waits, wake, result);
  EXPECT_EQ(result.for_pool.size(), 1u);
  EXPECT_TRUE(result.answered.empty());
  EXPECT_EQ(waits.size(), 0u);
}

// A device that publishes a slot again while its call waits must not exhaust the host's memory.
TEST_F(DescriptorWaitsTest, keeps_one_call_of_a_slot_until_it_is_answered) {
  char letter = 0;
  for (int time = 0; time < 1000; ++time) begin(1, __NR_read, pipe[0], &letter, 1);
  EXPECT_EQ(waits.size(), 1u);
  ASSERT_EQ(::write(pipe[1], "ab", 2), 2);
  EXPECT_EQ(round(), (Answers{{1, 1}}));
  EXPECT_EQ(letter, 'a');
  ASSERT_EQ(::read(pipe[0], &letter, 1), 1);
  begin(1, __NR_read, pipe[0], &letter, 1);
  EXPECT_EQ(waits.size(), 1u);
}

TEST_F(DescriptorWaitsTest, ends_all_or_the_ones_that_are_not_detached) {
  const std::string text(200'000, 'w');
  begin(1, __NR_read, pipe[0], buffer, 8);
  begin_flagged(2, protocol::flag::detached, __NR_read, pipe[0], buffer, 8);
  begin(3, __NR_write, pipe[1], text.data(), text.size());
  std::vector<DescriptorWaits::Answered> answered;
  waits.end(DescriptorWaits::Whose::not_detached, answered);
  const Answers first = told(answered);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0], (std::pair<int, std::int64_t>{1, -ECANCELED}));
  EXPECT_EQ(first[1].first, 3);
  EXPECT_GT(first[1].second, 0) << "bytes that were written are told";
  EXPECT_EQ(waits.size(), 1u);
  answered.clear();
  waits.end(DescriptorWaits::Whose::everybody, answered);
  EXPECT_EQ(told(answered), (Answers{{2, -ECANCELED}}));
  EXPECT_EQ(waits.size(), 0u);
}

TEST_F(DescriptorWaitsTest, a_connection_ends_one_of_the_accepts_that_wait_for_it) {
  const int listener = listens();
  for (std::uint8_t lane = 0; lane < 3; ++lane) begin(lane, __NR_accept4, listener, 0, 0, 0);
  const int first = connected();
  Answers answers = rounds();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].first, 0);
  EXPECT_GE(answers[0].second, 0);
  EXPECT_EQ(waits.size(), 2u);
  const int second = connected();
  const Answers more = rounds();
  ASSERT_EQ(more.size(), 1u);
  EXPECT_EQ(more[0].first, 1);
  ::close(static_cast<int>(more[0].second));
  DescriptorWaits::Round end;
  waits.end(DescriptorWaits::Whose::everybody, end.answered);
  EXPECT_EQ(told(end.answered), (Answers{{2, -ECANCELED}}));
  for (const int fd : {static_cast<int>(answers[0].second), first, second, listener}) ::close(fd);
}

TEST_F(DescriptorWaitsTest, an_accept_ends_by_the_timeout_of_its_socket) {
  const int listener = listens();
  const timeval limit{0, 20'000};
  ASSERT_EQ(::setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
  begin(0, __NR_accept, listener, 0, 0);
  EXPECT_EQ(rounds(), (Answers{{0, -EAGAIN}}));
  ::close(listener);
}

// Another thread of the process accepts connections, too, some between epoll's report and the call.
// A call that finds nothing 64 times in a row goes to the pool, so this thread leaves one
// connection in 33 to it.
TEST_F(DescriptorWaitsTest, no_accept_keeps_the_thread_where_another_takes_the_connection) {
  constexpr int count = 400;
  const int listener = listens();
  std::atomic<int> stolen{0};
  std::atomic<int> stolen_in_turn{0};
  std::atomic<bool> over{false};
  std::thread thief([&] {
    pollfd watched{listener, POLLIN, 0};
    AttemptTimer timer;
    ASSERT_TRUE(timer.open());
    while (!over) {
      if (stolen_in_turn == 32) {
        std::this_thread::yield();
        continue;
      }
      if (::poll(&watched, 1, 1) != 1) continue;
      timer.begin();
      const int taken = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      timer.end();
      if (taken < 0) continue;
      ++stolen_in_turn;
      ++stolen;
      ::close(taken);
    }
  });
  int accepted = 0;
  std::uint8_t lane = 0;
  for (int connection = 0; connection < count; ++connection) {
    if (waits.size() == 0) {
      Pending call;
      call.request.lane = lane++ % 32;
      call.request.number = __NR_accept4;
      call.request.row = -1;
      call.request.arguments[0] = static_cast<std::uint64_t>(listener);
      call.readiness = {.descriptor = listener, .events = POLLIN};
      add(call);
    }
    const int peer = connected();
    const Instant patience = now() + 20s;
    while (accepted + stolen <= connection && now() < patience) {
      ring();  // So that a stolen connection ends the round.
      for (const auto& [which, value] : round()) {
        ASSERT_GE(value, 0) << which;
        ::close(static_cast<int>(value));
        ++accepted;
        stolen_in_turn = 0;
      }
    }
    ASSERT_EQ(accepted + stolen, connection + 1);
    ::close(peer);
  }
  over = true;
  thief.join();
  ::close(listener);
}

TEST(AttemptTimerTest, ends_a_call_that_sleeps_and_no_call_after_it) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  AttemptTimer timer;
  ASSERT_TRUE(timer.open());
  ASSERT_TRUE(timer.open()) << "again";
  char byte = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    timer.begin();
    EXPECT_EQ(::read(pipe[0], &byte, 1), -1);
    EXPECT_EQ(errno, EINTR);
    timer.end();
    const timespec later{0, 5'000'000};
    EXPECT_EQ(::nanosleep(&later, nullptr), 0) << "no signal comes any more";
  }
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace
}  // namespace k2k::server
