// Goal: poll, ppoll, select and pselect6 that wait for several descriptors give Linux' own results.
// Method: each case is run twice, by a thread in the system call and by DescriptorWaits, with fresh
// pipes and the same peer; answers and memory are compared.

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/system_call.hpp"
#include "calls/rows.hpp"
#include "router/door/files.hpp"
#include "server/waits/descriptor_waits_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

// What a call names, and its peers.
struct Scene {
  Scene() {
    for (auto& pipe : pipes) EXPECT_EQ(::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK), 0);
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, stream.data()),
              0);
    const std::string much(4'096, 'x');
    while (::write(stream[0], much.data(), much.size()) > 0) continue;
    file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    for (fd_set& set : sets) FD_ZERO(&set);
  }
  ~Scene() {
    for (auto& pipe : pipes) {
      for (const int end : pipe) close(end);
    }
    for (const int end : stream) close(end);
    close(file);
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  static void close(int descriptor) {
    if (descriptor >= 0) ::close(descriptor);
  }
  void close_now(int& descriptor) {
    ::close(descriptor);
    descriptor = -1;
  }
  // Fills in and returns a request.
  template <class... Arguments>
  services::Request make(std::uint16_t number, Arguments... arguments) {
    services::Request request;
    request.number = number;
    request.row = static_cast<std::int16_t>(calls::find(number));
    int index = 0;
    ((request.arguments[index++] = (std::uint64_t)(arguments)), ...);
    return request;
  }
  services::Request poll(int timeout_ms) {
    return make(__NR_poll, list.data(), list.size(), timeout_ms);
  }
  services::Request ppoll(timespec limit) {
    time = {limit.tv_sec, limit.tv_nsec};
    return make(__NR_ppoll, list.data(), list.size(), &time, 0, 8);
  }
  // Of all three sets, and without a limit if it is negative.
  services::Request select(timeval limit) {
    time = {limit.tv_sec, limit.tv_usec};
    return make(__NR_select, 64, &sets[0], &sets[1], &sets[2], limit.tv_sec < 0 ? nullptr : &time);
  }
  services::Request pselect6(timespec limit) {
    time = {limit.tv_sec, limit.tv_nsec};
    return make(__NR_pselect6, 64, &sets[0], &sets[1], 0, &time, 0);
  }

  std::array<std::array<int, 2>, 4> pipes{};  // Empty: nothing to read.
  std::array<int, 2> stream{};                // [0] is full: nothing can be written.
  int file = -1;
  std::vector<pollfd> list;
  std::array<fd_set, 3> sets;
  std::array<std::int64_t, 2> time{};
  std::uint64_t mask = 0;
  std::array<std::uint64_t, 2> pair = {reinterpret_cast<std::uint64_t>(&mask), 8};
};

struct Outcome {
  std::int64_t value = 0;
  std::vector<short> reports = {};
  std::vector<std::pair<int, int>> ready = {};  // Set and descriptor.
  // The rest of the time: none, or less than before. Both machines wait for different times.
  bool has_rest = false;

  bool operator==(const Outcome&) const = default;
};

void PrintTo(const Outcome& outcome, std::ostream* out) {
  *out << "value " << outcome.value << ", reports";
  for (const short each : outcome.reports) *out << ' ' << each;
  *out << ", ready";
  for (const auto& [set, descriptor] : outcome.ready) *out << ' ' << set << ':' << descriptor;
  *out << (outcome.has_rest ? ", some time left" : ", no time left");
}

Outcome outcome_of(Scene& scene, std::int64_t value) {
  Outcome outcome{.value = value};
  for (const pollfd& each : scene.list) outcome.reports.push_back(each.revents);
  for (int set = 0; set < 3; ++set) {
    for (int descriptor = 0; descriptor < 64; ++descriptor) {
      if (FD_ISSET(descriptor, &scene.sets[static_cast<std::size_t>(set)])) {
        outcome.ready.emplace_back(set, descriptor);
      }
    }
  }
  outcome.has_rest = scene.time[0] != 0 || scene.time[1] != 0;
  return outcome;
}

struct Case {
  std::string name;
  std::function<services::Request(Scene&)> call;
  std::function<void(Scene&)> peer = {};
  bool waits = true;
};

void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }

class Polls : public testing::TestWithParam<Case> {
 protected:
  static Outcome by_linux(const Case& of) {
    Scene scene;
    const services::Request request = of.call(scene);
    const auto& word = request.arguments;
    std::int64_t value = 0;
    std::thread caller([&] {
      value = system_call(request.number, word[0], word[1], word[2], word[3], word[4], word[5]);
    });
    std::this_thread::sleep_for(10ms);  // It has looked at its descriptors, and waits.
    if (of.peer) of.peer(scene);
    caller.join();
    return outcome_of(scene, value);
  }

  static Outcome by_waits(const Case& of) {
    Scene scene;  // First: both scenes get the same numbers.
    router::Files files;
    DescriptorWaits waits(files);
    const int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    Pending call;
    call.request = of.call(scene);
    const services::Answer answer =
        services::execute_without_waiting(call.request, call.progress, files);
    EXPECT_EQ(answer.would_wait, of.waits);
    DescriptorWaits::Round round;
    if (answer.would_wait) {
      EXPECT_TRUE(answer.readiness.several);
      call.readiness = answer.readiness;
      waits.add(call, now(), round);
      if (of.peer) of.peer(scene);
    }
    const Instant patience = now() + 20s;
    while (answer.would_wait && round.answered.empty() && now() < patience)
      wait_once(waits, wake, round);
    EXPECT_TRUE(round.for_pool.empty());
    EXPECT_EQ(waits.size(), 0u);
    ::close(wake);
    if (!answer.would_wait) return outcome_of(scene, answer.value);
    EXPECT_EQ(round.answered.size(), 1u);
    return outcome_of(scene, round.answered.empty() ? -ETIMEDOUT : round.answered[0].value);
  }
};

void send(int descriptor) { EXPECT_EQ(::write(descriptor, "x", 1), 1); }
// The reading ends of all pipes.
void fill_list(Scene& scene, short events = POLLIN) {
  for (const auto& pipe : scene.pipes) scene.list.push_back({pipe[0], events, 0});
}
void fill_sets(Scene& scene) {
  for (const auto& pipe : scene.pipes) FD_SET(pipe[0], &scene.sets[0]);
  FD_SET(scene.stream[0], &scene.sets[1]);
  FD_SET(scene.stream[0], &scene.sets[2]);
}
constexpr timeval endless{-1, 0};
// Longer than any test waits.
constexpr timespec long_time{60, 0};
constexpr int short_ms = 30;
constexpr timespec short_time{0, 30'000'000};

std::vector<Case> list_cases() {
  using services::Request;
  return {
      {"one_of_four", [](Scene& s) { return fill_list(s), s.poll(-1); },
       [](Scene& s) { send(s.pipes[2][1]); }},
      {"no_one_in_time", [](Scene& s) { return fill_list(s), s.poll(short_ms); }},
      {"one_in_time", [](Scene& s) { return fill_list(s), s.poll(60'000); },
       [](Scene& s) { send(s.pipes[3][1]); }},
      {"the_end_of_a_pipe", [](Scene& s) { return fill_list(s), s.poll(-1); },
       [](Scene& s) { s.close_now(s.pipes[1][1]); }},
      {"the_end_without_events", [](Scene& s) { return fill_list(s, 0), s.poll(-1); },
       [](Scene& s) { s.close_now(s.pipes[1][1]); }},
      {"a_descriptor_twice",
       [](Scene& s) {
         s.list = {{s.pipes[0][0], POLLIN, 0},
                   {s.pipes[1][0], POLLIN, 0},
                   {s.pipes[0][0], POLLIN | POLLRDNORM, 0},
                   {s.pipes[0][0], POLLPRI, 0}};
         return s.poll(-1);
       },
       [](Scene& s) { send(s.pipes[0][1]); }},
      {"a_negative_number",
       [](Scene& s) {
         s.list = {{-5, POLLIN, 77}, {s.pipes[1][0], POLLIN, 0}};
         return s.poll(-1);
       },
       [](Scene& s) { send(s.pipes[1][1]); }},
      {"negative_numbers_only",
       [](Scene& s) {
         s.list = {{-5, POLLIN, 77}, {-1, POLLIN, 77}};
         return s.poll(short_ms);
       }},
      {"nothing_for_a_time", [](Scene& s) { return s.poll(short_ms); }},
      {"nothing_for_a_fine_time", [](Scene& s) { return s.ppoll(short_time); }},
      {"a_file_without_its_events",
       [](Scene& s) {
         s.list = {{s.file, POLLPRI, 0}, {s.pipes[1][0], POLLIN, 0}};
         return s.poll(-1);
       },
       [](Scene& s) { send(s.pipes[1][1]); }},
      {"a_file_is_ready",
       [](Scene& s) {
         s.list = {{s.pipes[1][0], POLLIN, 0}, {s.file, POLLIN | POLLOUT, 0}};
         return s.poll(-1);
       },
       {},
       false},
      {"a_closed_number_at_once",
       [](Scene& s) {
         s.list = {{s.pipes[1][0], POLLIN, 0}, {63, POLLIN, 0}};
         return s.poll(-1);
       },
       {},
       false},
      {"unknown_events",
       [](Scene& s) {
         fill_list(s, static_cast<short>(0xc800));
         return s.poll(-1);
       },
       [](Scene& s) { s.close_now(s.pipes[0][1]); }},
      {"all_events",
       [](Scene& s) {
         fill_list(s, -1);
         return s.poll(-1);
       },
       [](Scene& s) { send(s.pipes[0][1]); }},
      {"the_shutdown_of_a_peer",
       [](Scene& s) {
         s.list = {{s.pipes[0][0], POLLIN, 0}, {s.stream[0], POLLRDHUP, 0}};
         return s.poll(-1);
       },
       [](Scene& s) { ::shutdown(s.stream[1], SHUT_WR); }},
      {"room_in_a_socket",
       [](Scene& s) {
         s.list = {{s.pipes[0][0], POLLIN, 0}, {s.stream[0], POLLIN | POLLOUT, 0}};
         return s.poll(-1);
       },
       [](Scene& s) {
         std::string all(1 << 20, '\0');
         while (::read(s.stream[1], all.data(), all.size()) > 0) continue;
       }},
      // Linux notices the closed number when it looks again.
      {"a_number_closed_meanwhile", [](Scene& s) { return fill_list(s), s.poll(-1); },
       [](Scene& s) {
         s.close_now(s.pipes[0][0]);
         send(s.pipes[2][1]);
       }},
      {"a_number_closed_until_the_end", [](Scene& s) { return fill_list(s), s.poll(short_ms); },
       [](Scene& s) { s.close_now(s.pipes[0][0]); }},
      {"a_number_that_got_another_file", [](Scene& s) { return fill_list(s), s.poll(-1); },
       [](Scene& s) {
         ::dup2(s.pipes[1][0], s.pipes[0][0]);
         send(s.pipes[1][1]);
       }},
      {"the_rest_of_the_time", [](Scene& s) { return fill_list(s), s.ppoll(long_time); },
       [](Scene& s) { send(s.pipes[0][1]); }},
      {"the_rest_of_the_time_at_once",
       [](Scene& s) {
         send(s.pipes[0][1]);
         return fill_list(s), s.ppoll(long_time);
       },
       {},
       false},
      {"the_rest_of_no_time", [](Scene& s) { return fill_list(s), s.ppoll(short_time); }},
      {"no_list",
       [](Scene& s) {
         s.time = {60, 0};
         return s.make(__NR_ppoll, 8, 4, &s.time, 0, 8);
       },
       {},
       false},
      {"a_list_of_a_number_with_high_bits",  // Linux takes an unsigned int.
       [](Scene& s) {
         fill_list(s);
         return s.make(__NR_poll, s.list.data(), (std::uint64_t{1} << 32) | s.list.size(), -1);
       },
       [](Scene& s) { send(s.pipes[2][1]); }},
      {"too_long_a_list",
       [](Scene& s) { return s.make(__NR_poll, 0, 1'000'000'000, 1'000); },
       {},
       false},
      {"a_mask",
       [](Scene& s) {
         s.time = {60, 0};
         return fill_list(s), s.make(__NR_ppoll, s.list.data(), s.list.size(), &s.time, &s.mask, 8);
       },
       [](Scene& s) { send(s.pipes[1][1]); }},
      {"a_mask_and_no_one_in_time",
       [](Scene& s) {
         s.time = {0, 30'000'000};
         return fill_list(s), s.make(__NR_ppoll, s.list.data(), s.list.size(), &s.time, &s.mask, 8);
       }},
      {"a_mask_of_a_wrong_size",
       [](Scene& s) {
         s.time = {60, 0};
         return fill_list(s), s.make(__NR_ppoll, s.list.data(), s.list.size(), &s.time, &s.mask, 7);
       },
       {},
       false},
      {"a_wrong_time",
       [](Scene& s) { return fill_list(s), s.ppoll({0, 1'000'000'000}); },
       {},
       false},
  };
}

std::vector<Case> set_cases() {
  return {
      {"a_readable_one_of_sets", [](Scene& s) { return fill_sets(s), s.select(endless); },
       [](Scene& s) { send(s.pipes[2][1]); }},
      {"a_writable_one_of_sets", [](Scene& s) { return fill_sets(s), s.select(endless); },
       [](Scene& s) {
         std::string all(1 << 20, '\0');
         while (::read(s.stream[1], all.data(), all.size()) > 0) continue;
       }},
      {"the_end_of_a_pipe_in_sets", [](Scene& s) { return fill_sets(s), s.select(endless); },
       [](Scene& s) { s.close_now(s.pipes[1][1]); }},
      {"the_end_of_a_peer_in_sets", [](Scene& s) { return fill_sets(s), s.select(endless); },
       [](Scene& s) { s.close_now(s.stream[1]); }},
      {"no_one_of_sets_in_time", [](Scene& s) { return fill_sets(s), s.select({0, 30'000}); }},
      {"one_of_sets_in_time", [](Scene& s) { return fill_sets(s), s.select({60, 0}); },
       [](Scene& s) { send(s.pipes[2][1]); }},
      {"microseconds_beyond_a_second",
       [](Scene& s) { return fill_sets(s), s.select({0, 9'000'000}); },
       [](Scene& s) { send(s.pipes[2][1]); }},
      {"negative_microseconds",
       [](Scene& s) { return fill_sets(s), s.select({0, -1}); },
       {},
       false},
      {"seconds_without_end",
       [](Scene& s) {
         return fill_sets(s), s.select({std::numeric_limits<time_t>::max(), 999'999});
       },
       [](Scene& s) { send(s.pipes[2][1]); }},
      {"empty_sets_for_a_time", [](Scene& s) { return s.select({0, 30'000}); }},
      {"no_sets_for_a_time",
       [](Scene& s) {
         s.time = {0, 30'000};
         return s.make(__NR_select, 0, 0, 0, 0, &s.time);
       }},
      {"sets_with_bits_beyond",
       [](Scene& s) {
         fill_sets(s);
         FD_SET(60, &s.sets[0]);  // No such descriptor, and not asked for.
         return s.make(__NR_select, 60, &s.sets[0], &s.sets[1], &s.sets[2], 0);
       },
       [](Scene& s) { send(s.pipes[0][1]); }},
      {"sets_of_a_number_with_high_bits",  // Linux takes an int.
       [](Scene& s) {
         fill_sets(s);
         return s.make(__NR_select, (std::uint64_t{1} << 32) | 64, &s.sets[0], &s.sets[1],
                       &s.sets[2], 0);
       },
       [](Scene& s) { send(s.pipes[0][1]); }},
      {"a_closed_number_in_sets",
       [](Scene& s) {
         fill_sets(s);
         FD_SET(60, &s.sets[0]);
         return s.select({60, 0});
       },
       {},
       false},
      {"a_number_of_sets_closed_until_the_end",
       [](Scene& s) { return fill_sets(s), s.select({0, 100'000}); },
       [](Scene& s) { s.close_now(s.pipes[0][0]); }},
      {"a_number_of_sets_closed_meanwhile",
       [](Scene& s) { return fill_sets(s), s.select({60, 0}); },
       [](Scene& s) {
         s.close_now(s.pipes[0][0]);
         send(s.pipes[2][1]);
       }},
      {"the_rest_of_a_fine_time", [](Scene& s) { return fill_sets(s), s.pselect6(long_time); },
       [](Scene& s) { send(s.pipes[2][1]); }},
      {"a_mask_of_sets",
       [](Scene& s) {
         fill_sets(s);
         s.time = {60, 0};
         return s.make(__NR_pselect6, 64, &s.sets[0], &s.sets[1], 0, &s.time, s.pair.data());
       },
       [](Scene& s) { send(s.pipes[2][1]); }},
      {"a_mask_of_sets_that_cannot_be_read",
       [](Scene& s) {
         fill_sets(s);
         s.time = {60, 0};
         s.pair[0] = 8;
         return s.make(__NR_pselect6, 64, &s.sets[0], &s.sets[1], 0, &s.time, s.pair.data());
       },
       {},
       false},
      {"the_rest_of_no_fine_time", [](Scene& s) { return fill_sets(s), s.pselect6(short_time); }},
  };
}

TEST_P(Polls, get_linux_results) { EXPECT_EQ(by_waits(GetParam()), by_linux(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Lists, Polls, testing::ValuesIn(list_cases()),
                         [](const auto& of) { return of.param.name; });
INSTANTIATE_TEST_SUITE_P(Sets, Polls, testing::ValuesIn(set_cases()),
                         [](const auto& of) { return of.param.name; });

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
    send(scene.pipes[0][1]);
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
  send(scene.pipes[0][1]);
  run_until(1);
  EXPECT_EQ(round.answered[0].call.request.wave, 0u);
  EXPECT_EQ(waits.size(), 1u);
  send(scene.pipes[1][1]);
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
  send(later[1]);
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
  send(scene.pipes[0][1]);
  run_until(1);
}

// A list that changes while its call waits: Linux has read it, too, and writes only reports.
TEST_F(PollsTest, leave_a_changed_list_alone_but_for_its_reports) {
  Scene scene;
  fill_list(scene);
  begin(0, scene.poll(-1));
  scene.list[0] = {12'345, POLLOUT, 99};
  send(scene.pipes[0][1]);
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
  send(scene.pipes[0][1]);
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
  send(scene.pipes[1][1]);
  run_until(1);
  EXPECT_EQ(scene.list[1].revents, POLLIN);
}

}  // namespace
}  // namespace k2k::server
