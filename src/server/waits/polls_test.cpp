// Goal: poll, ppoll, select and pselect6 that wait for several descriptors give Linux' own results.
// Method: each case is run twice, by a thread in the system call and by DescriptorWaits, with fresh
// pipes and the same peer; answers and memory are compared.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/system_call.hpp"
#include "router/door/files.hpp"
#include "server/waits/descriptor_waits_fixture.hpp"
#include "server/waits/polls_fixture.hpp"

namespace k2k::server {
namespace {

using namespace std::chrono_literals;

struct PollOutcome {
  std::int64_t value = 0;
  std::vector<short> reports = {};
  std::vector<std::pair<int, int>> ready = {};  // Set and descriptor.
  // The rest of the time: none, or less than before. Both machines wait for different times.
  bool has_rest = false;

  bool operator==(const PollOutcome&) const = default;
};

void PrintTo(const PollOutcome& outcome, std::ostream* out) {
  *out << "value " << outcome.value << ", reports";
  for (const short each : outcome.reports) *out << ' ' << each;
  *out << ", ready";
  for (const auto& [set, descriptor] : outcome.ready) *out << ' ' << set << ':' << descriptor;
  *out << (outcome.has_rest ? ", some time left" : ", no time left");
}

PollOutcome outcome_of(Scene& scene, std::int64_t value) {
  PollOutcome outcome{.value = value};
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
  static PollOutcome by_linux(const Case& of) {
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

  static PollOutcome by_waits(const Case& of) {
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

// Longer than any test waits.
constexpr timespec long_time{60, 0};
constexpr int short_ms = 30;
constexpr timespec short_time{0, 30'000'000};

std::vector<Case> list_cases() {
  using services::Request;
  return {
      {"one_of_four", [](Scene& s) { return fill_list(s), s.poll(-1); },
       [](Scene& s) { make_readable(s.pipes[2][1]); }},
      {"no_one_in_time", [](Scene& s) { return fill_list(s), s.poll(short_ms); }},
      {"one_in_time", [](Scene& s) { return fill_list(s), s.poll(60'000); },
       [](Scene& s) { make_readable(s.pipes[3][1]); }},
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
       [](Scene& s) { make_readable(s.pipes[0][1]); }},
      {"a_negative_number",
       [](Scene& s) {
         s.list = {{-5, POLLIN, 77}, {s.pipes[1][0], POLLIN, 0}};
         return s.poll(-1);
       },
       [](Scene& s) { make_readable(s.pipes[1][1]); }},
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
       [](Scene& s) { make_readable(s.pipes[1][1]); }},
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
       [](Scene& s) { make_readable(s.pipes[0][1]); }},
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
         make_readable(s.pipes[2][1]);
       }},
      {"a_number_closed_until_the_end", [](Scene& s) { return fill_list(s), s.poll(short_ms); },
       [](Scene& s) { s.close_now(s.pipes[0][0]); }},
      {"a_number_that_got_another_file", [](Scene& s) { return fill_list(s), s.poll(-1); },
       [](Scene& s) {
         ::dup2(s.pipes[1][0], s.pipes[0][0]);
         make_readable(s.pipes[1][1]);
       }},
      {"the_rest_of_the_time", [](Scene& s) { return fill_list(s), s.ppoll(long_time); },
       [](Scene& s) { make_readable(s.pipes[0][1]); }},
      {"the_rest_of_the_time_at_once",
       [](Scene& s) {
         make_readable(s.pipes[0][1]);
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
       [](Scene& s) { make_readable(s.pipes[2][1]); }},
      {"too_long_a_list",
       [](Scene& s) { return s.make(__NR_poll, 0, 1'000'000'000, 1'000); },
       {},
       false},
      {"a_mask",
       [](Scene& s) {
         s.time = {60, 0};
         return fill_list(s), s.make(__NR_ppoll, s.list.data(), s.list.size(), &s.time, &s.mask, 8);
       },
       [](Scene& s) { make_readable(s.pipes[1][1]); }},
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
       [](Scene& s) { make_readable(s.pipes[2][1]); }},
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
       [](Scene& s) { make_readable(s.pipes[2][1]); }},
      {"microseconds_beyond_a_second",
       [](Scene& s) { return fill_sets(s), s.select({0, 9'000'000}); },
       [](Scene& s) { make_readable(s.pipes[2][1]); }},
      {"negative_microseconds",
       [](Scene& s) { return fill_sets(s), s.select({0, -1}); },
       {},
       false},
      {"seconds_without_end",
       [](Scene& s) {
         return fill_sets(s), s.select({std::numeric_limits<time_t>::max(), 999'999});
       },
       [](Scene& s) { make_readable(s.pipes[2][1]); }},
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
       [](Scene& s) { make_readable(s.pipes[0][1]); }},
      {"sets_of_a_number_with_high_bits",  // Linux takes an int.
       [](Scene& s) {
         fill_sets(s);
         return s.make(__NR_select, (std::uint64_t{1} << 32) | 64, &s.sets[0], &s.sets[1],
                       &s.sets[2], 0);
       },
       [](Scene& s) { make_readable(s.pipes[0][1]); }},
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
         make_readable(s.pipes[2][1]);
       }},
      {"the_rest_of_a_fine_time", [](Scene& s) { return fill_sets(s), s.pselect6(long_time); },
       [](Scene& s) { make_readable(s.pipes[2][1]); }},
      {"a_mask_of_sets",
       [](Scene& s) {
         fill_sets(s);
         s.time = {60, 0};
         return s.make(__NR_pselect6, 64, &s.sets[0], &s.sets[1], 0, &s.time, s.pair.data());
       },
       [](Scene& s) { make_readable(s.pipes[2][1]); }},
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

}  // namespace
}  // namespace k2k::server
