// Goal: a thousand work-items that wait for a connection or a word need no threads of their own,
// and each gets the answer of the system call.

#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "tests/conformance/waits_fixture.hpp"

namespace k2k::conformance::waits_test {
namespace {

using namespace std::chrono_literals;

// A listener whose backlog has no room.
struct FullListener {
  explicit FullListener(int of_domain)
      : domain(of_domain), socket(::socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    name.ss_family = static_cast<sa_family_t>(domain);
    if (domain == AF_UNIX) {
      EXPECT_EQ(::bind(socket, address(), sizeof(sa_family_t)), 0);
    }
    EXPECT_EQ(::listen(socket, 0), 0);
    EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &bytes), 0);
    before = ::socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(before, address(), bytes), 0);
  }
  ~FullListener() {
    ::close(before);
    if (socket >= 0) ::close(socket);
  }
  FullListener(const FullListener&) = delete;
  FullListener& operator=(const FullListener&) = delete;

  [[nodiscard]] const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&name); }
  [[nodiscard]] int address_bytes() const { return static_cast<int>(bytes); }
  [[nodiscard]] int stream() const { return ::socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0); }

  int domain;
  int socket;
  int before = -1;  // The connection that takes the room.
  sockaddr_storage name{};
  socklen_t bytes = sizeof(name);
};

class Waits : public ThousandWaits {
 protected:
  // A thousand connects to a listener that has room once all of them wait.
  void connect_thousand(int domain) {
    Runtime runtime = start_for_thousand();
    const FullListener listener(domain);
    std::vector<int> sockets(thousand);
    for (int& socket : sockets) socket = listener.stream();
    ASSERT_GE(sockets.back(), 0) << "this process has too many descriptors open";
    std::atomic<std::uint32_t> connected{0};
    std::thread server([&] {
      wait_until_in_flight(runtime, thousand);
      EXPECT_EQ(::listen(listener.socket, static_cast<int>(2 * thousand)), 0);
      // Of AF_UNIX, a waiting connect is woken by an accept.
      ::close(::accept(listener.socket, nullptr, nullptr));
    });
    launch(runtime, 8, thousand / 8, [&] {
      const int socket = sockets[k2k::global_rank()];
      connected +=
          k2k::connect(k2k::work_item, socket, listener.address(), listener.address_bytes()) == 0;
    });
    server.join();
    EXPECT_EQ(connected.load(), thousand);
    for (const int socket : sockets) {
      EXPECT_EQ(::fcntl(socket, F_GETFL) & O_NONBLOCK, 0) << "nobody has touched the file";
      ::close(socket);
    }
    expect_threads_below(runtime, 8);
  }
};
K2K_EVERY_DEVICE(Waits);

// Linux sends a connection that found no room again after a second: one schedule is enough.
constexpr const char* takes_a_second = "a second for each device; other schedules change nothing";

TEST_P(Waits, connects_need_no_threads) {
  if (GetParam().schedule != backend::Schedule::round_robin) GTEST_SKIP() << takes_a_second;
  connect_thousand(AF_INET);
}

TEST_P(Waits, connects_to_a_listener_of_the_machine_need_no_threads) { connect_thousand(AF_UNIX); }

TEST_P(Waits, a_connect_ends_at_the_timeout_of_its_socket) {
  Runtime runtime = start();
  const timeval limit{0, 20'000};
  for (const int domain : {AF_INET, AF_UNIX}) {
    const FullListener listener(domain);
    const int socket = listener.stream();
    ASSERT_EQ(::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)), 0);
    long answer = 0;
    launch(runtime, 1, 1, [&] {
      answer = k2k::connect(k2k::work_item, socket, listener.address(), listener.address_bytes());
    });
    EXPECT_EQ(answer, domain == AF_UNIX ? -EAGAIN : -EINPROGRESS) << "as without K2K";
    ::close(socket);
  }
}

TEST_P(Waits, a_connect_tells_why_it_failed) {
  Runtime runtime = start();
  FullListener listener(AF_INET);
  ::close(std::exchange(listener.socket, -1));  // Nobody listens there any more.
  const int socket = listener.stream();
  long answers[2] = {};
  launch(runtime, 1, 1, [&] {
    for (long& answer : answers) {
      answer = k2k::connect(k2k::work_item, socket, listener.address(), listener.address_bytes());
    }
  });
  EXPECT_EQ(answers[0], -ECONNREFUSED);
  EXPECT_EQ(answers[1], -ECONNREFUSED) << "the socket can be used again";
  ::close(socket);
}

TEST_P(Waits, two_connects_of_one_socket_both_get_the_connection) {
  if (GetParam().schedule != backend::Schedule::round_robin) GTEST_SKIP() << takes_a_second;
  Runtime runtime = start();
  const FullListener listener(AF_INET);
  const int socket = listener.stream();
  std::atomic<int> connected{0};
  std::thread server([&] {
    wait_until_in_flight(runtime, 2);
    std::this_thread::sleep_for(50ms);  // Both have begun.
    EXPECT_EQ(::listen(listener.socket, 8), 0);
  });
  launch(runtime, 1, 2, [&] {
    connected +=
        k2k::connect(k2k::work_item, socket, listener.address(), listener.address_bytes()) == 0;
  });
  server.join();
  EXPECT_EQ(connected.load(), 2) << "as two threads that wait in connect(2)";
  ::close(socket);
}

TEST_P(Waits, for_one_word_need_no_threads) {
  Runtime runtime = start_for_thousand();
  std::uint32_t word = 0;
  std::atomic<std::uint32_t> woken{0};
  std::thread waker([&] {
    wait_until_in_flight(runtime, thousand);
    const Instant patience = now() + 10s;
    while (woken < thousand && now() < patience) {
      ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, thousand / 4, nullptr, nullptr, 0);
      std::this_thread::sleep_for(1ms);
    }
  });
  launch(runtime, 8, thousand / 8, [&] {
    woken += k2k::syscall(k2k::work_item, k2k::strong, SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0,
                          nullptr, nullptr, 0) == 0;
  });
  waker.join();
  EXPECT_EQ(woken.load(), thousand);
  expect_threads_below(runtime, 16);  // Eight of them wait for the word.
}

TEST_P(Waits, for_a_thousand_words_need_no_threads) {
  Runtime runtime = start_for_thousand();
  std::vector<std::uint32_t> words(thousand);
  std::atomic<std::uint32_t> woken{0};
  std::thread waker([&] {
    wait_until_in_flight(runtime, thousand);
    for (std::uint32_t& word : words) {
      std::atomic_ref(word).store(1);
      ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
  });
  launch(runtime, 8, thousand / 8, [&] {
    std::uint32_t& word = words[k2k::global_rank()];
    // A wake-up may be meant for another word, as futex(2) warns.
    while (std::atomic_ref(word).load() == 0) {
      k2k::syscall(k2k::work_item, k2k::strong, SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr,
                   nullptr, 0);
    }
    ++woken;
  });
  waker.join();
  EXPECT_EQ(woken.load(), thousand);
  expect_threads_below(runtime, 16);
}

TEST_P(Waits, that_are_detached_outlast_their_launch) {
  Runtime runtime = start_for_thousand();
  std::vector<std::uint32_t> words(thousand);
  const FullListener listener(AF_UNIX);
  std::vector<int> sockets(thousand / 2);
  for (int& socket : sockets) socket = listener.stream();
  launch(runtime, 8, thousand / 8, [&] {
    const auto rank = k2k::global_rank();
    if (rank % 2 == 0) {
      k2k::connect(k2k::work_item, k2k::detached, sockets[rank / 2], listener.address(),
                   listener.address_bytes());
    } else {
      k2k::syscall(k2k::work_item, k2k::detached, SYS_futex, &words[rank], FUTEX_WAIT_PRIVATE, 0,
                   nullptr, nullptr, 0);
    }
  });
  wait_until_in_flight(runtime, thousand);
  EXPECT_EQ(runtime.stats().in_flight, thousand) << "the launch has ended, no call has";
  EXPECT_EQ(::listen(listener.socket, static_cast<int>(2 * thousand)), 0);
  ::close(::accept(listener.socket, nullptr, nullptr));
  std::atomic<bool> over{false};
  std::thread waker([&] {
    while (!over) {
      for (std::uint32_t& word : words) {
        ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
      }
      std::this_thread::sleep_for(1ms);
    }
  });
  const auto failed = runtime.drain();
  over = true;
  waker.join();
  EXPECT_TRUE(failed.ok() && failed.value().empty());
  for (const int socket : sockets) ::close(socket);
}

TEST_P(Waits, that_nobody_ends_do_not_delay_the_end_of_the_runtime) {
  std::vector<std::uint32_t> words(thousand);
  const FullListener listener(AF_INET);
  std::vector<int> sockets(thousand / 2);
  for (int& socket : sockets) socket = listener.stream();
  Instant begun{};
  {
    Runtime runtime = start_for_thousand();
    std::thread host([&] {
      wait_until_in_flight(runtime, thousand);
      begun = now();
      runtime.cancel();
    });
    const auto report = runtime.launch({8, thousand / 8}, [&] {
      const auto rank = k2k::global_rank();
      if (rank % 2 == 0) {
        k2k::connect(k2k::work_item, sockets[rank / 2], listener.address(),
                     listener.address_bytes());
      } else {
        k2k::syscall(k2k::work_item, k2k::strong, SYS_futex, &words[rank], FUTEX_WAIT_PRIVATE, 0,
                     nullptr, nullptr, 0);
      }
    });
    host.join();
    EXPECT_FALSE(report.ok());
  }
  EXPECT_LT(now() - begun, 5s) << "a busy machine is slow; one after another they take longer";
  for (const int socket : sockets) ::close(socket);
}

// The time is printed, and not judged: `accepts_end_ms` in the test's report.
TEST_P(Waits, for_a_thousand_connections_end_with_the_launch_and_the_runtime) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  Instant begun{};
  {
    Runtime runtime = start_for_thousand();
    std::thread host([&] {
      wait_until_in_flight(runtime, thousand);
      EXPECT_EQ(runtime.stats().in_flight, thousand);
      expect_threads_below(runtime, 8);
      begun = now();
      runtime.cancel();
    });
    const auto report = runtime.launch({8, thousand / 8}, [&] {
      k2k::syscall(k2k::work_item, k2k::strong, SYS_accept4, listener, 0, 0, 0);
    });
    host.join();
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, ECANCELED);
  }
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(now() - begun);
  RecordProperty("accepts_end_ms", static_cast<int>(took.count()));
  std::printf("1,000 waits for a connection ended in %d ms\n", static_cast<int>(took.count()));
  ::close(listener);
}

}  // namespace
}  // namespace k2k::conformance::waits_test
