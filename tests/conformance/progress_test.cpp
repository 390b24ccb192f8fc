// Goal: a work-item that waits for the host never delays other work-items.

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <ctime>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::progress_test {
namespace {

using namespace std::chrono_literals;

class Progress : public DeviceUnderTest {};
K2K_EVERY_DEVICE(Progress);

TEST_P(Progress, every_work_item_gets_its_own_answer) {
  Runtime runtime = start();
  std::vector<long> answers(1024);
  const std::uint32_t groups = scaled(16, 4);
  launch(runtime, groups, 64, [&] {
    answers[global_rank()] =
        k2k::lseek(k2k::work_item, -1, 0, 0) + 1000 * k2k::getpid(k2k::work_item);
  });
  for (std::uint32_t item = 0; item < groups * 64; ++item) {
    ASSERT_EQ(answers[item], -EBADF + 1000l * ::getpid()) << item;
  }
}

TEST_P(Progress, calls_may_stand_between_barriers) {
  Runtime runtime = start();
  std::atomic<int> wrong{0};
  const std::uint32_t items = scaled(96, 48);
  launch(runtime, 4, items, [&] {
    K2K_LOCAL(long[128], answers);
    for (long round = 1; round <= 3; ++round) {
      // Only some work-items call, so that the others wait in the barrier.
      if (item_rank() % 3 == 0) answers[item_rank()] = round * k2k::getpid(k2k::work_item);
      k2k::barrier();
      for (std::uint32_t peer = 0; peer < group_size(); peer += 3) {
        wrong += answers[peer] == round * ::getpid() ? 0 : 1;
      }
      k2k::barrier();
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(Progress, a_host_that_answers_only_when_the_whole_group_asked_is_no_deadlock) {
  Runtime runtime = start();
  const std::uint32_t items = scaled(128, 40);
  const Pair requests;
  const Pair replies;
  std::thread host([&] {
    const std::string asked = read_all(requests.in(), items);
    EXPECT_EQ(asked.size(), items);
    EXPECT_EQ(::write(replies.out(), asked.data(), asked.size()),
              static_cast<ssize_t>(asked.size()));
  });
  std::atomic<std::uint32_t> answered{0};
  launch(runtime, 1, items, [&] {
    char letter = 'q';
    if (k2k::write(k2k::work_item, requests.out(), &letter, 1) != 1) return;
    letter = 0;
    if (k2k::read(k2k::work_item, replies.in(), &letter, 1) == 1 && letter == 'q') ++answered;
  });
  host.join();
  EXPECT_EQ(answered.load(), items);
}

TEST_P(Progress, a_work_item_may_spin_on_a_neighbour_that_makes_a_call) {
  Runtime runtime = start();
  std::atomic<int> passed{0};
  launch(runtime, 2, 2, [&] {
    K2K_LOCAL(std::uint32_t, flag);
    if (item_rank() == 0) {
      while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 0) k2k::yield();
      ++passed;
    } else {
      const long pid = k2k::getpid(k2k::work_item);
      __atomic_store_n(&flag, pid == ::getpid() ? 1u : 0u, __ATOMIC_RELEASE);
    }
  });
  EXPECT_EQ(passed.load(), 2);
}

TEST_P(Progress, more_groups_than_fit_on_the_device_all_run) {
  Runtime runtime = start();
  const std::uint32_t groups = scaled(300, 40);
  std::atomic<std::uint32_t> done{0};
  launch(runtime, groups, 8, [&] {
    if (k2k::getpid(k2k::work_group) == ::getpid()) ++done;
  });
  EXPECT_EQ(done.load(), groups * 8);
}

TEST_P(Progress, more_detached_calls_than_slots_wait_their_turn) {
  Runtime runtime = start([](RuntimeConfig& config) {
    config.device.compute_units = 1;
    config.device.resident_waves = 1;
    config.device.ring_entries = 2;  // A ring that is full most of the time, too.
  });
  const Pair pipe;
  constexpr std::uint32_t calls = 10;
  const std::uint32_t bytes = 4 * 32 * calls;  // 1280 calls through 32 slots.
  std::string got;
  std::thread host([&] { got = read_all(pipe.in(), bytes); });
  launch(runtime, 4, 32, [&] {
    for (std::uint32_t count = 0; count < calls; ++count) {
      k2k::write(k2k::work_item, k2k::detached, pipe.out(), "x", 1);
    }
  });
  EXPECT_TRUE(runtime.drain().value().empty());
  host.join();
  EXPECT_EQ(got, std::string(bytes, 'x'));
}

TEST_P(Progress, a_hundred_work_items_that_wait_for_messages_all_get_theirs) {
  Runtime runtime = start();
  const std::uint32_t items = 100;
  const Pair sockets(Pair::Kind::datagram);
  std::atomic<std::uint32_t> received{0};
  launch(runtime, 1, items, [&] {
    char letter = 'm';
    if (item_rank() == 0) {
      for (std::uint32_t count = 1; count < items; ++count) {
        while (k2k::sendto(k2k::work_item, sockets.out(), &letter, 1, MSG_DONTWAIT, nullptr, 0) !=
               1) {
          k2k::yield();
        }
      }
    } else {
      received += k2k::recvfrom(k2k::work_item, sockets.in(), &letter, 1, 0, nullptr, nullptr) == 1;
    }
  });
  EXPECT_EQ(received.load(), items - 1);
}

// Each message is sent only after the one before was received, and the first message goes to the
// last socket: a server with one thread per wait would need all threads at once.
TEST_P(Progress, waits_on_many_sockets_need_no_thread_each) {
  Runtime runtime =
      start([](RuntimeConfig& config) { config.server.threads_max = threads_least(); });
  constexpr std::uint32_t items = 40;
  std::vector<std::unique_ptr<Pair>> sockets;
  for (std::uint32_t item = 0; item < items; ++item) {
    sockets.push_back(std::make_unique<Pair>(Pair::Kind::datagram));
  }
  std::vector<int> in;
  for (const auto& pair : sockets) in.push_back(pair->in());
  std::atomic<std::uint32_t> received{0};
  std::thread peer([&] {
    for (std::uint32_t item = items; item-- > 0;) {
      EXPECT_EQ(::send(sockets[item]->out(), "m", 1, 0), 1);
      while (received.load() < items - item) std::this_thread::yield();
    }
  });
  launch(runtime, 1, items, [&] {
    char letter = 0;
    const int socket = in[item_rank()];
    received += k2k::recvfrom(k2k::work_item, socket, &letter, 1, 0, nullptr, nullptr) == 1;
  });
  peer.join();
  EXPECT_EQ(received.load(), items);
  // Behind a stage, the guard may have begun, too.
  EXPECT_LE(runtime.stats().threads, threads_least() + (GetParam().staged ? 2u : 1u));
}

TEST_P(Progress, more_sleepers_than_threads_take_turns) {
  Runtime runtime =
      start([](RuntimeConfig& config) { config.server.threads_max = threads_least(); });
  std::atomic<std::uint32_t> slept{0};
  constexpr auto sleep = 2ms;
  const LaunchReport report = launch(runtime, 1, 8, [&] {
    const timespec time{0, Nanoseconds(sleep).count()};
    slept += k2k::nanosleep(k2k::work_item, &time) == 0;
  });
  EXPECT_EQ(slept.load(), 8u);
  EXPECT_GE(report.elapsed, sleep);
}

TEST_P(Progress, sleepers_need_no_threads) {
  constexpr std::uint32_t items = 512;
  Runtime runtime = start([](RuntimeConfig& config) {
    config.server.threads_max = threads_least();
    config.device.compute_units = 1;
    config.device.resident_waves = 64;
    config.device.resident_groups = 8;
  });
  const Pair question;
  const Pair answer;
  // All work-items but the last sleep for an hour. If each sleep kept a thread, no thread would be
  // left for the last work-item's sleep by CLOCK_TAI, which needs one.
  std::thread host([&] {
    wait_until_in_flight(runtime, items);
    EXPECT_EQ(::write(question.out(), "x", 1), 1);
    pollfd answered{answer.in(), POLLIN, 0};
    EXPECT_EQ(::poll(&answered, 1, 60'000), 1) << "threads slept";
    runtime.cancel();
  });
  const auto report = runtime.launch({8, items / 8}, [&] {
    if (global_rank() == items - 1) {
      char letter = 0;
      k2k::read(k2k::work_item, question.in(), &letter, 1);
      const timespec moment{0, 1'000};
      k2k::clock_nanosleep(k2k::work_item, CLOCK_TAI, 0, &moment);
      k2k::write(k2k::work_item, answer.out(), &letter, 1);
    }
    const timespec hour{3'600, 0};
    k2k::nanosleep(k2k::work_item, &hour);
  });
  host.join();
  EXPECT_EQ(report ? 0 : report.error().code, ECANCELED);
}

TEST_P(Progress, polls_need_no_threads) {
  Runtime runtime =
      start([](RuntimeConfig& config) { config.server.threads_max = threads_least(); });
  const Pair peers(Pair::Kind::stream);
  std::atomic<std::uint32_t> seen{0};
  std::atomic<std::uint32_t> passed{0};
  std::vector<pollfd> lists(256, {peers.in(), POLLIN, 0});
  launch(runtime, 4, 64, [&] {
    pollfd* const list = &lists[global_rank()];
    const bool writes = global_rank() == 0;
    const Reply early = k2k::syscall(k2k::work_item, k2k::strong, SYS_poll, list, 1, 20);
    passed += early == 0;
    if (writes) k2k::write(k2k::work_item, peers.out(), "x", 1);
    seen += k2k::syscall(k2k::work_item, k2k::strong, SYS_poll, list, 1, -1) == 1;
  });
  EXPECT_EQ(seen.load(), 256u);
  EXPECT_GE(passed.load(), 1u) << "the byte comes after a timeout";
}

TEST_P(Progress, accepts_need_no_threads) {
  constexpr std::uint32_t waiting = 1'000;
  Runtime runtime = start([](RuntimeConfig& config) {
    config.server.threads_max = 16;
    config.device.compute_units = 1;
    config.device.resident_waves = 64;
    config.device.resident_groups = 8;
  });
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(name);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&name), bytes), 0);
  ASSERT_EQ(::listen(listener, static_cast<int>(waiting)), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&name), &bytes), 0);
  std::atomic<std::uint32_t> accepted{0};
  std::thread client([&] {
    wait_until_in_flight(runtime, waiting);
    for (std::uint32_t count = 0; count < waiting; ++count) {
      const int peer = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      EXPECT_EQ(::connect(peer, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
      ::close(peer);
    }
  });
  launch(runtime, 8, waiting / 8, [&] {
    const long taken = k2k::syscall(k2k::work_item, k2k::strong, SYS_accept4, listener, 0, 0, 0);
    accepted += taken >= 0;
    if (taken >= 0) k2k::close(k2k::work_item, static_cast<int>(taken));
  });
  client.join();
  ::close(listener);
  EXPECT_EQ(accepted.load(), waiting);
  // Behind a stage, the watcher adds workers while a thousand first attempts are queued.
  EXPECT_LT(runtime.stats().threads, GetParam().staged ? 16u : 8u);
}

TEST_P(Progress, a_receive_ends_at_the_timeout_of_its_socket) {
  Runtime runtime = start();
  const Pair sockets(Pair::Kind::datagram);
  const timeval limit{0, 20'000};
  ASSERT_EQ(::setsockopt(sockets.in(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
  std::atomic<std::uint32_t> ended{0};
  launch(runtime, 1, 4, [&] {
    char letter = 0;
    ended +=
        k2k::recvfrom(k2k::work_item, sockets.in(), &letter, 1, 0, nullptr, nullptr) == -EAGAIN;
  });
  EXPECT_EQ(ended.load(), 4u);
}

TEST_P(Progress, a_long_sleep_is_slept_and_the_others_proceed) {
  Runtime runtime = start();
  std::atomic<int> others{0};
  const LaunchReport report = launch(runtime, 2, 16, [&] {
    if (global_rank() == 0) {
      const timespec time{0, 200'000'000};
      if (k2k::nanosleep(k2k::work_item, &time) != 0) others -= 1000;
      return;
    }
    for (int count = 0; count < 5; ++count) others += k2k::getpid(k2k::work_item) == ::getpid();
  });
  EXPECT_EQ(others.load(), 31 * 5);
  EXPECT_GE(report.elapsed, std::chrono::milliseconds(200));
}

// The open of a FIFO blocks its thread until a peer comes, and no server can know this beforehand:
// the polling thread is stuck, and another thread has to take over.
class Fifo {
 public:
  Fifo() {
    if (::mkdtemp(folder_.data()) == nullptr) std::abort();
    path = folder_ + "/fifo";
    if (::mkfifo(path.c_str(), 0600) != 0) std::abort();
  }
  ~Fifo() {
    ::unlink(path.c_str());
    ::rmdir(folder_.c_str());
  }
  std::string path;

 private:
  std::string folder_ = "/tmp/k2k-fifo-XXXXXX";
};

class ProgressByMode : public DeviceUnderTest {
 protected:
  void others_proceed_while_one_opens(server::BottomHalfMode mode) {
    Runtime runtime = start([mode](RuntimeConfig& config) { config.server.bottom_half = mode; });
    const Fifo fifo;
    const TemporaryFile file("content");
    std::atomic<std::uint32_t> others{0};
    constexpr std::uint32_t expected = 63 * 4;
    std::thread peer([&] {
      while (others.load() < expected) std::this_thread::yield();
      ::close(::open(fifo.path.c_str(), O_WRONLY | O_CLOEXEC));
    });
    std::atomic<long> opened{-1};
    launch(runtime, 1, 64, [&] {
      if (item_rank() == 13) {
        const long fd = k2k::open(k2k::work_item, fifo.path.c_str(), O_RDONLY | O_CLOEXEC);
        opened = fd;
        k2k::close(k2k::work_item, static_cast<int>(fd));
        return;
      }
      char letter = 0;
      for (int count = 0; count < 4; ++count) {
        others += k2k::pread(k2k::work_item, file.fd, &letter, 1, 2) == 1 && letter == 'n';
      }
    });
    peer.join();
    EXPECT_GE(opened.load(), 0);
    EXPECT_EQ(others.load(), expected);
  }

  // Both opens in one bundle: the writer's open must not wait for the reader's.
  void lanes_of_one_wave_open_both_ends(server::BottomHalfMode mode) {
    Runtime runtime = start([mode](RuntimeConfig& config) { config.server.bottom_half = mode; });
    const Fifo fifo;
    std::atomic<int> opened{0};
    launch(runtime, 1, 2, [&] {
      const int flags = (item_rank() == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC;
      const int fd = k2k::open(k2k::work_item, k2k::wave_wide, fifo.path.c_str(), flags).fd();
      opened += fd >= 0;
      k2k::close(k2k::work_item, fd);
    });
    EXPECT_EQ(opened.load(), 2);
  }
};
K2K_EVERY_DEVICE(ProgressByMode);

TEST_P(ProgressByMode, others_proceed_while_one_opens_a_fifo) {
  others_proceed_while_one_opens(server::BottomHalfMode::monolithic);
}
TEST_P(ProgressByMode, others_proceed_while_one_opens_a_fifo_behind_split_halves) {
  others_proceed_while_one_opens(server::BottomHalfMode::split);
}
TEST_P(ProgressByMode, others_proceed_while_one_opens_a_fifo_behind_a_stage) {
  others_proceed_while_one_opens(server::BottomHalfMode::staged);
}
TEST_P(ProgressByMode, two_lanes_of_a_wave_can_open_both_ends_of_a_fifo) {
  lanes_of_one_wave_open_both_ends(server::BottomHalfMode::monolithic);
}
TEST_P(ProgressByMode, two_lanes_of_a_wave_can_open_both_ends_of_a_fifo_behind_split_halves) {
  lanes_of_one_wave_open_both_ends(server::BottomHalfMode::split);
}
TEST_P(ProgressByMode, two_lanes_of_a_wave_can_open_both_ends_of_a_fifo_behind_a_stage) {
  lanes_of_one_wave_open_both_ends(server::BottomHalfMode::staged);
}
TEST_P(ProgressByMode, two_lanes_of_a_wave_can_open_both_ends_of_a_fifo_on_units) {
  if (GetParam().backend != "cpu") GTEST_SKIP() << "its units are no threads of the host";
  lanes_of_one_wave_open_both_ends(server::BottomHalfMode::on_unit);
}

}  // namespace
}  // namespace k2k::conformance::progress_test
