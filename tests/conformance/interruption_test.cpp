// Goal: a cancelled launch does not wait for the sleeps of its calls, even for calls without a
// descriptor. Calls of others sleep on, and the program's signals remain the program's.
// Method: each sleep would end by itself only after a time that no test accepts.

#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <thread>

#include "base/clock.hpp"
#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::interruption_test {
namespace {

using namespace std::chrono_literals;

constexpr timespec longest{20, 0};

class Interruption : public DeviceUnderTest {
 protected:
  // The duration of a launch that is cancelled while its `sleep` is in the kernel.
  template <class Sleep>
  Nanoseconds cancelled(Runtime& runtime, LaunchShape shape, const Sleep& sleep) {
    const Pair started;
    const std::size_t items = std::size_t{shape.groups} * shape.group_items;
    Instant begun{};
    std::thread host([&] {
      EXPECT_EQ(read_all(started.in(), items).size(), items);
      std::this_thread::sleep_for(100ms);
      begun = now();
      runtime.cancel();
    });
    const auto kernel = [&] {
      const char letter = 's';
      k2k::write(k2k::work_item, started.out(), &letter, 1);
      sleep();
    };
    const Result<LaunchReport> report = runtime.launch(shape, kernel, "sleeper");
    const Instant ended = now();
    host.join();
    EXPECT_FALSE(report.ok());
    EXPECT_EQ(report ? 0 : report.error().code, ECANCELED);
    std::atomic<int> right{0};
    launch(runtime, 8, 32, [&] { right += k2k::getpid(k2k::work_item) == ::getpid(); });
    EXPECT_EQ(right.load(), 256);
    return ended - begun;
  }
  static std::vector<int> signals_in_use() {
    std::vector<int> used;
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
      struct sigaction action{};
      ::sigaction(signal, nullptr, &action);
      if (action.sa_handler != SIG_DFL) used.push_back(signal);
    }
    return used;
  }
};
K2K_EVERY_DEVICE(Interruption);

TEST_P(Interruption, ends_nanosleep) {
  Runtime runtime = start();
  const auto sleep = [] { k2k::nanosleep(k2k::work_item, &longest); };
  EXPECT_LT(cancelled(runtime, {1, 1}, sleep), 2s);
  EXPECT_LT(cancelled(runtime, {2, 16}, sleep), 2s) << "the sleeps outnumber the service threads";
}

TEST_P(Interruption, ends_sleeps_by_a_clock) {
  Runtime runtime = start();
  EXPECT_LT(cancelled(runtime, {1, 2},
                      [] {
                        k2k::syscall(k2k::work_item, k2k::strong, SYS_clock_nanosleep,
                                     k2k::item_rank() == 0 ? CLOCK_MONOTONIC : CLOCK_TAI, 0,
                                     &longest, nullptr);
                      }),
            2s)
      << "by the server's own clock, and on a thread";
}

TEST_P(Interruption, ends_accepts) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  Runtime runtime = start();
  EXPECT_LT(
      cancelled(runtime, {2, 64},
                [&] { k2k::syscall(k2k::work_item, k2k::strong, SYS_accept4, listener, 0, 0, 0); }),
      2s)
      << "they outnumber the service threads";
  ::close(listener);
}

TEST_P(Interruption, ends_connects) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::listen(listener, 0), 0);
  sockaddr_in name{};
  socklen_t bytes = sizeof(name);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&name), &bytes), 0);
  std::vector<int> sockets(65);
  for (int& socket : sockets) socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::connect(sockets[64], reinterpret_cast<const sockaddr*>(&name), bytes), 0);
  Runtime runtime = start();
  EXPECT_LT(cancelled(runtime, {1, 64},
                      [&] {
                        k2k::connect(k2k::work_item, sockets[k2k::item_rank()], &name,
                                     static_cast<int>(bytes));
                      }),
            2s)
      << "they outnumber the service threads";
  for (const int socket : sockets) ::close(socket);
  ::close(listener);
}

TEST_P(Interruption, ends_many_waits_for_a_futex) {
  Runtime runtime = start();
  std::vector<std::uint32_t> words(128);
  EXPECT_LT(cancelled(runtime, {2, 64},
                      [&] {
                        k2k::syscall(k2k::work_item, k2k::strong, SYS_futex,
                                     &words[k2k::global_rank()], FUTEX_WAIT_PRIVATE, 0, &longest,
                                     nullptr, 0);
                      }),
            2s);
}

TEST_P(Interruption, ends_a_wait_for_a_futex) {
  Runtime runtime = start();
  std::uint32_t word = 7;
  EXPECT_LT(cancelled(runtime, {1, 4},
                      [&] {
                        k2k::syscall(k2k::work_item, k2k::strong, SYS_futex, &word,
                                     FUTEX_WAIT_PRIVATE, 7, &longest, nullptr, 0);
                      }),
            2s);
}

TEST_P(Interruption, ends_an_open_of_a_fifo) {
  for (const server::BottomHalfMode mode :
       {server::BottomHalfMode::monolithic, server::BottomHalfMode::split}) {
    Runtime runtime = start([&](RuntimeConfig& config) { config.server.bottom_half = mode; });
    const std::string path = testing::TempDir() + "k2k_fifo_" + std::to_string(::getpid());
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::atomic<bool> over{false};
    std::thread relief([&] {
      const Instant begin = now();
      while (!over && now() - begin < 10s) std::this_thread::sleep_for(10ms);
      ::close(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    });
    EXPECT_LT(cancelled(runtime, {1, 2},
                        [&] {
                          if (k2k::item_rank() == 0) {
                            k2k::open(k2k::work_item, path.c_str(), O_RDONLY);
                          } else {
                            k2k::openat(k2k::work_item, AT_FDCWD, path.c_str(), O_RDONLY);
                          }
                        }),
              2s);
    over = true;
    relief.join();
    ::unlink(path.c_str());
  }
}

TEST_P(Interruption, ends_a_receive_that_wants_all) {
  Runtime runtime = start();
  const Pair pair(Pair::Kind::stream);
  char letters[8];
  std::atomic<bool> over{false};
  std::thread relief([&] {
    const Instant begin = now();
    while (!over && now() - begin < 10s) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(::write(pair.out(), "relieved", 8), 8);
  });
  EXPECT_LT(cancelled(runtime, {1, 1},
                      [&] {
                        k2k::recvfrom(k2k::work_item, pair.in(), letters, 8, MSG_WAITALL, nullptr,
                                      nullptr);
                      }),
            2s);
  over = true;
  relief.join();
}

// What makes each of these waits end: taken away, or given, after 10 s at the latest.
struct Waited {
  Waited() {
    queue = ::msgget(IPC_PRIVATE, 0600);
    semaphores = ::semget(IPC_PRIVATE, 1, 0600);
    const std::string name = "/k2k_interruption_" + std::to_string(::getpid());
    mq_attr limits{};
    limits.mq_maxmsg = 1;
    limits.mq_msgsize = 8;
    mail = ::mq_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &limits);
    ::mq_unlink(name.c_str());
    ::flock(holder, LOCK_EX);
    child = ::fork();
    if (child == 0) {
      ::alarm(20);
      for (;;) ::pause();
    }
    relief = std::thread([this] {
      const Instant begin = now();
      while (!over && now() - begin < 10s) std::this_thread::sleep_for(10ms);
      ::msgctl(queue, IPC_RMID, nullptr);
      ::semctl(semaphores, 0, IPC_RMID);
      ::mq_send(mail, "relief", 6, 0);
      ::flock(holder, LOCK_UN);
      ::kill(child, SIGKILL);
    });
  }
  ~Waited() {
    over = true;
    relief.join();
    ::waitpid(child, nullptr, 0);
    ::mq_close(mail);
    ::close(holder);
    ::close(locked);
  }
  Waited(const Waited&) = delete;
  Waited& operator=(const Waited&) = delete;

  TemporaryFile file;
  int holder = ::open(file.path.c_str(), O_RDWR | O_CLOEXEC);
  int locked = ::open(file.path.c_str(), O_RDWR | O_CLOEXEC);  // By `holder`.
  int queue = -1;
  int semaphores = -1;
  int mail = -1;
  pid_t child = -1;
  std::atomic<bool> over{false};
  std::thread relief;
};

TEST_P(Interruption, ends_waits_that_a_thread_makes) {
  const Waited on;
  for (const int kind : {0, 1, 2, 3, 4}) {
    SCOPED_TRACE(kind);
    Runtime runtime = start();
    EXPECT_LT(
        cancelled(runtime, {1, 2},
                  [&] {
                    char letter[24];
                    siginfo_t info;
                    const sembuf less{0, -1, 0};
                    switch (kind) {
                      case 0:
                        k2k::msgrcv(k2k::work_item, on.queue, letter, 8, 0, 0);
                        break;
                      case 1:
                        k2k::semop(k2k::work_item, on.semaphores, &less, 1);
                        break;
                      case 2:
                        k2k::mq_timedreceive(k2k::work_item, on.mail, letter, 8, nullptr, nullptr);
                        break;
                      case 3:
                        k2k::flock(k2k::work_item, on.locked, LOCK_EX);
                        break;
                      default:
                        k2k::waitid(k2k::work_item, P_PID, on.child, &info, WEXITED | WNOWAIT);
                    }
                  }),
        2s);
  }
}

TEST_P(Interruption, leaves_detached_calls_of_earlier_launches_asleep) {
  Runtime runtime = start();
  constexpr timespec second{1, 0};
  const Instant begin = now();
  launch(runtime, 1, 1, [&] { k2k::nanosleep(k2k::work_item, k2k::detached, &second); });
  EXPECT_LT(cancelled(runtime, {1, 2}, [] { k2k::nanosleep(k2k::work_item, &longest); }), 2s);
  const auto failed = runtime.drain();
  EXPECT_TRUE(failed.ok() && failed.value().empty()) << "a signal interrupted the detached call";
  EXPECT_GE(now() - begin, 1s);
}

TEST_P(Interruption, of_the_end_does_not_wait_for_detached_calls) {
  std::optional<Runtime> runtime(
      start([](RuntimeConfig& config) { config.server.shutdown_ms = 50; }));
  launch(*runtime, 1, 4, [&] { k2k::nanosleep(k2k::work_item, k2k::detached, &longest); });
  std::this_thread::sleep_for(50ms);
  const Instant begin = now();
  runtime.reset();
  EXPECT_LT(now() - begin, 2s);
  std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(signals_in_use().empty())
      << "the signal is given back: no thread is left in the kernel";
}

std::atomic<int> heard{0};
void hear(int) { ++heard; }

TEST_P(Interruption, takes_an_unused_signal_and_gives_it_back) {
  EXPECT_TRUE(signals_in_use().empty());
  struct sigaction own{};
  own.sa_handler = hear;
  ASSERT_EQ(::sigaction(SIGRTMAX - 1, &own, nullptr), 0);
  {
    Runtime runtime = start();
    const Runtime second = start();
    EXPECT_EQ(signals_in_use(), (std::vector<int>{SIGRTMAX - 2, SIGRTMAX - 1}));
    EXPECT_LT(cancelled(runtime, {1, 1}, [] { k2k::nanosleep(k2k::work_item, &longest); }), 2s);
  }
  EXPECT_EQ(signals_in_use(), std::vector<int>{SIGRTMAX - 1});
  EXPECT_EQ(heard, 0);
  own.sa_handler = SIG_DFL;
  ::sigaction(SIGRTMAX - 1, &own, nullptr);
}

// In that case the sleep is not ended, because the signal's handler belongs to the program.
TEST_P(Interruption, sends_nothing_once_the_program_has_taken_the_signal) {
  Runtime runtime = start();
  const std::vector<int> used = signals_in_use();
  ASSERT_EQ(used.size(), 1u);
  struct sigaction own{};
  own.sa_handler = hear;
  ASSERT_EQ(::sigaction(used[0], &own, nullptr), 0);
  heard = 0;
  timespec half{};  // From now on; a wait for some wakers only keeps a thread.
  ::clock_gettime(CLOCK_MONOTONIC, &half);
  half.tv_nsec += 500'000'000;
  half.tv_sec += half.tv_nsec / 1'000'000'000;
  half.tv_nsec %= 1'000'000'000;
  std::uint32_t word = 7;
  EXPECT_GT(cancelled(runtime, {1, 1},
                      [&] {
                        k2k::syscall(k2k::work_item, k2k::strong, SYS_futex, &word,
                                     FUTEX_WAIT_BITSET_PRIVATE, 7, &half, nullptr, 1);
                      }),
            200ms);
  EXPECT_EQ(heard, 0);
  runtime = start();
  struct sigaction after{};
  ::sigaction(used[0], nullptr, &after);
  EXPECT_EQ(after.sa_handler, hear);
  own.sa_handler = SIG_DFL;
  ::sigaction(used[0], &own, nullptr);
}

}  // namespace
}  // namespace k2k::conformance::interruption_test
