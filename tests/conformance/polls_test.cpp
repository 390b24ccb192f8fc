// Goal: a thousand work-items that wait for several descriptors, or for an epoll set, need no
// threads of their own, and each gets the answer of the system call.

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <ctime>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "tests/conformance/waits_fixture.hpp"

namespace k2k::conformance::polls_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t descriptors_each = 4;

// A set of each pipe's reading end.
struct EpollSet {
  explicit EpollSet(int descriptor) : number(::epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    EXPECT_EQ(::epoll_ctl(number, EPOLL_CTL_ADD, descriptor, &event), 0);
  }
  ~EpollSet() { ::close(number); }
  EpollSet(const EpollSet&) = delete;
  EpollSet& operator=(const EpollSet&) = delete;
  int number;
};

class Polls : public ThousandWaits {
 protected:
  Polls() {
    for (std::uint32_t rank = 0; rank < thousand; ++rank) {
      FD_ZERO(&sets[rank]);
      for (std::size_t at = 0; at < descriptors_each; ++at) {
        const int descriptor = pipe_of(rank, at).in();
        lists[rank][at] = {descriptor, POLLIN, 0};
        FD_SET(descriptor, &sets[rank]);
      }
    }
  }
  // Neighbours share pipes: each pipe is waited for by 62 work-items or more.
  [[nodiscard]] const Pair& pipe_of(std::uint32_t rank, std::size_t at) const {
    return pipes[(rank + at * 7) % pipes.size()];
  }
  // A byte for each pipe, which nobody reads.
  void write_to_all() const {
    for (const Pair& pipe : pipes) EXPECT_EQ(::write(pipe.out(), "x", 1), 1);
  }
  // `call` makes the wait of the work-item with a rank. It must answer 1 or more.
  template <class Call>
  void expect_all_woken(const Call& call) {
    Runtime runtime = start_for_thousand();
    std::atomic<std::uint32_t> answered{0};
    std::thread host([&] {
      wait_until_in_flight(runtime, thousand);
      EXPECT_EQ(runtime.stats().in_flight, thousand) << "no call is answered before";
      write_to_all();
    });
    launch(runtime, 8, thousand / 8,
           [&] { answered += call(static_cast<std::uint32_t>(k2k::global_rank())) >= 1; });
    host.join();
    EXPECT_EQ(answered.load(), thousand);
    expect_threads_below(runtime, 16);
  }

  std::vector<Pair> pipes = std::vector<Pair>(64);
  std::vector<std::array<pollfd, descriptors_each>> lists{thousand};
  std::vector<fd_set> sets{thousand};
};
K2K_EVERY_DEVICE(Polls);

TEST_P(Polls, of_four_descriptors_need_no_threads) {
  expect_all_woken([&](std::uint32_t rank) -> long {
    pollfd* const list = lists[rank].data();
    if (rank % 2 == 0) return k2k::poll(k2k::work_item, list, descriptors_each, -1);
    timespec limit{60, 0};
    return k2k::ppoll(k2k::work_item, list, descriptors_each, &limit, nullptr, 0);
  });
  for (const auto& list : lists) {
    EXPECT_TRUE(std::ranges::any_of(list, [](const pollfd& each) { return each.revents != 0; }));
  }
}

TEST_P(Polls, by_sets_need_no_threads) {
  std::vector<timespec> limits(thousand, {60, 0});
  expect_all_woken([&](std::uint32_t rank) -> long {
    if (rank % 2 == 0) {
      return k2k::select(k2k::work_item, FD_SETSIZE, &sets[rank], nullptr, nullptr, nullptr);
    }
    return k2k::pselect6(k2k::work_item, FD_SETSIZE, &sets[rank], nullptr, nullptr, &limits[rank],
                         nullptr);
  });
  for (std::uint32_t rank = 1; rank < thousand; rank += 2) {
    EXPECT_LT(limits[rank].tv_sec, 60) << "Linux writes the rest of the time";
    bool any = false;
    for (std::size_t at = 0; at < descriptors_each; ++at) {
      any = any || FD_ISSET(pipe_of(rank, at).in(), &sets[rank]);
    }
    EXPECT_TRUE(any);
  }
}

TEST_P(Polls, by_epoll_sets_need_no_threads) {
  std::vector<std::unique_ptr<EpollSet>> events;
  for (const Pair& pipe : pipes) events.push_back(std::make_unique<EpollSet>(pipe.in()));
  expect_all_woken([&](std::uint32_t rank) -> long {
    // Half of the work-items wait for one set.
    const int set = events[rank % 2 == 0 ? 0 : rank % events.size()]->number;
    epoll_event got{};
    const timespec limit{60, 0};
    switch (rank % 3) {
      case 0:
        return k2k::epoll_wait(k2k::work_item, set, &got, 1, rank % 5 == 0 ? -1 : 60'000);
      case 1:
        return k2k::epoll_pwait(k2k::work_item, set, &got, 1, 60'000, nullptr, 0);
      default:
        return k2k::epoll_pwait2(k2k::work_item, set, &got, 1, &limit, nullptr, 0);
    }
  });
}

// Every signal passes, or none does: neither changes the service threads.
TEST_P(Polls, with_masks_need_no_threads) {
  const EpollSet events(pipes[0].in());
  const std::array<std::uint64_t, 2> masks = {0, ~std::uint64_t{0}};
  expect_all_woken([&](std::uint32_t rank) -> long {
    const std::uint64_t* const mask = &masks[rank / 4 % 2];
    const std::array<std::uint64_t, 2> pair = {reinterpret_cast<std::uint64_t>(mask), 8};
    epoll_event got{};
    switch (rank % 4) {
      case 0:
        return k2k::ppoll(k2k::work_item, lists[rank].data(), descriptors_each, nullptr, mask, 8);
      case 1:
        return k2k::pselect6(k2k::work_item, FD_SETSIZE, &sets[rank], nullptr, nullptr, nullptr,
                             pair.data());
      case 2:
        return k2k::epoll_pwait(k2k::work_item, events.number, &got, 1, -1, mask, 8);
      default:
        return k2k::epoll_pwait2(k2k::work_item, events.number, &got, 1, nullptr, mask, 8);
    }
  });
}

// A signal that the host's threads block stays pending, although the mask of a device's call would
// let it pass: a service thread runs no handler of the program for a work-item.
TEST_P(Polls, with_a_mask_take_no_signal_of_the_host) {
  static std::atomic<int> handled{0};
  struct sigaction counts{};
  struct sigaction before{};
  counts.sa_handler = [](int) { ++handled; };
  handled = 0;
  ASSERT_EQ(::sigaction(SIGUSR2, &counts, &before), 0);
  sigset_t one;
  sigset_t usual;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &one, &usual);
  {
    Runtime runtime = start_for_thousand();
    std::atomic<long> answer{0};
    std::thread host([&] {
      wait_until_in_flight(runtime, 1);
      ::kill(::getpid(), SIGUSR2);
      std::this_thread::sleep_for(20ms);
      EXPECT_EQ(runtime.stats().in_flight, 1u) << "the call waits on";
      write_to_all();
    });
    launch(runtime, 1, 1, [&] {
      const std::uint64_t none = 0;
      answer = k2k::ppoll(k2k::work_item, lists[0].data(), descriptors_each, nullptr, &none, 8);
    });
    host.join();
    EXPECT_GE(answer.load(), 1);
  }
  EXPECT_EQ(handled.load(), 0);
  const timespec at_once{};
  EXPECT_EQ(sigtimedwait(&one, nullptr, &at_once), SIGUSR2)
      << "the host program's own threads get it";
  pthread_sigmask(SIG_SETMASK, &usual, nullptr);
  ::sigaction(SIGUSR2, &before, nullptr);
}

// Linux accepts some of these sets into no further one: too many lead to a pipe, or one contains
// too many that contain sets.
TEST_P(Polls, by_sets_of_sets_need_no_threads) {
  constexpr std::size_t chains = 6;  // A process may have no more than 1,024 descriptors.
  constexpr std::size_t outer_each = 80;
  std::vector<std::unique_ptr<EpollSet>> inner;
  std::vector<std::unique_ptr<EpollSet>> outer;
  for (std::size_t chain = 0; chain < chains; ++chain) {
    int last = pipes[chain].in();
    const int depth = chain == 0 ? 4 : 2;
    for (int level = 0; level < depth; ++level) {
      inner.push_back(std::make_unique<EpollSet>(last));
      last = inner.back()->number;
    }
    const std::size_t sets_here = chain == 0 ? 8 : outer_each;
    for (std::size_t set = 0; set < sets_here; ++set) {
      outer.push_back(std::make_unique<EpollSet>(last));
    }
  }
  expect_all_woken([&](std::uint32_t rank) -> long {
    epoll_event got{};
    return k2k::epoll_wait(k2k::work_item, outer[rank % outer.size()]->number, &got, 1, -1);
  });
}

TEST_P(Polls, end_with_their_time) {
  Runtime runtime = start_for_thousand();
  std::vector<timeval> limits(thousand);
  std::atomic<std::uint32_t> passed{0};
  std::atomic<std::uint32_t> early{0};
  launch(runtime, 8, thousand / 8, [&] {
    const auto rank = static_cast<std::uint32_t>(k2k::global_rank());
    const std::uint32_t milliseconds = 20 + rank % 50;
    limits[rank] = {0, static_cast<suseconds_t>(milliseconds * 1'000)};
    const Instant begin = now();
    const long answer = rank % 2 == 0 ? k2k::select(k2k::work_item, FD_SETSIZE, &sets[rank],
                                                    nullptr, nullptr, &limits[rank])
                                      : k2k::poll(k2k::work_item, lists[rank].data(),
                                                  descriptors_each, static_cast<int>(milliseconds));
    passed += answer == 0;
    early += now() - begin < std::chrono::milliseconds(milliseconds);
  });
  EXPECT_EQ(passed.load(), thousand);
  EXPECT_EQ(early.load(), 0u);
  EXPECT_EQ(limits[0].tv_usec, 0);
  EXPECT_FALSE(FD_ISSET(pipe_of(0, 0).in(), &sets[0])) << "Linux clears the sets";
  expect_threads_below(runtime, 16);
}

TEST_P(Polls, that_nobody_ends_do_not_delay_the_end_of_the_runtime) {
  const EpollSet events(pipes[0].in());
  std::vector<std::unique_ptr<EpollSet>> sets_of_sets;
  int inner = events.number;
  for (int level = 0; level < 4; ++level) {
    inner = sets_of_sets.emplace_back(std::make_unique<EpollSet>(inner))->number;
  }
  const std::uint64_t full_mask = ~std::uint64_t{0};
  Instant begun{};
  {
    Runtime runtime = start_for_thousand();
    std::thread host([&] {
      wait_until_in_flight(runtime, thousand);
      begun = now();
      runtime.cancel();
    });
    const auto report = runtime.launch({8, thousand / 8}, [&] {
      const auto rank = static_cast<std::uint32_t>(k2k::global_rank());
      timeval limit{3'600, 0};
      epoll_event got{};
      switch (rank % 6) {
        case 0:
          k2k::poll(k2k::work_item, lists[rank].data(), descriptors_each, -1);
          break;
        case 3:
          k2k::ppoll(k2k::work_item, lists[rank].data(), descriptors_each, nullptr, &full_mask, 8);
          break;
        case 4:
          k2k::epoll_pwait(k2k::work_item, inner, &got, 1, -1, &full_mask, 8);
          break;
        case 1:
          k2k::select(k2k::work_item, FD_SETSIZE, &sets[rank], nullptr, nullptr, &limit);
          break;
        case 2:
          k2k::epoll_wait(k2k::work_item, events.number, &got, 1, 3'600'000);
          break;
        default:
          k2k::poll(k2k::work_item, nullptr, 0, -1);  // For nothing.
          break;
      }
    });
    host.join();
    EXPECT_FALSE(report.ok());
    expect_threads_below(runtime, 16);
  }
  EXPECT_LT(now() - begun, 5s) << "a busy machine is slow; one after another they take longer";
}

// The threads that remain serve other calls while a thousand waits stand.
TEST_P(Polls, leave_threads_to_other_calls) {
  Runtime runtime = start_for_thousand();
  std::atomic<std::uint32_t> answered{0};
  Pair last;
  launch(runtime, 8, thousand / 8, [&] {
    const auto rank = static_cast<std::uint32_t>(k2k::global_rank());
    if (rank + 1 == thousand) {
      // A write ends the waits only after a sleep, which is a wait, too.
      const timespec pause{0, 20'000'000};
      k2k::nanosleep(k2k::work_item, &pause);
      k2k::write(k2k::work_item, last.out(), "x", 1);
      return;
    }
    lists[rank][descriptors_each - 1].fd = last.in();
    answered += k2k::poll(k2k::work_item, lists[rank].data(), descriptors_each, 60'000) == 1;
  });
  EXPECT_EQ(answered.load(), thousand - 1) << "one descriptor ends the waits of all";
  expect_threads_below(runtime, 16);
}

}  // namespace
}  // namespace k2k::conformance::polls_test
