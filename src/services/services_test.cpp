// Goal: what a handler answers is what the system call would have answered, whichever way it went:
// without waiting, or first refused to wait and then waited for.
// Method: real pipes, sockets and files; a second try is made by the same thread.

#include "services/services.hpp"

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/own_descriptors.hpp"
#include "calls/rows.hpp"
#include "router/door/files.hpp"
#include "services/services_fixture.hpp"

namespace k2k::services {
namespace {

TEST_F(ServicesTest, a_read_of_an_empty_pipe_would_wait_and_leaves_no_trace) {
  EXPECT_TRUE(would_wait(make(read_, pipe[0], buffer, 8)));
  ASSERT_EQ(::write(pipe[1], "abc", 3), 3);
  EXPECT_EQ(at_once(make(read_, pipe[0], buffer, 8)), 3) << "a short count of a peer's data";
  EXPECT_EQ(std::string(buffer, 3), "abc");
}

TEST_F(ServicesTest, a_waiting_read_ends_when_a_peer_writes) {
  std::thread peer([this] { ASSERT_EQ(::write(pipe[1], "later", 5), 5); });
  EXPECT_EQ(served(make(read_, pipe[0], buffer, sizeof(buffer))), 5);
  peer.join();
}

TEST_F(ServicesTest, a_read_after_the_last_writer_left_is_the_end) {
  ::close(pipe[1]);
  pipe[1] = -1;
  EXPECT_EQ(served(make(read_, pipe[0], buffer, 8)), 0);
}

TEST_F(ServicesTest, a_descriptor_that_does_not_wait_answers_eagain) {
  ASSERT_EQ(::fcntl(pipe[0], F_SETFL, O_NONBLOCK), 0);
  ASSERT_EQ(::fcntl(stream[0], F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(at_once(make(read_, pipe[0], buffer, 8)), -EAGAIN);
  EXPECT_EQ(at_once(make(read_, stream[0], buffer, 8)), -EAGAIN);
  EXPECT_EQ(at_once(make(recvfrom_, stream[0], buffer, 8, 0, 0, 0)), -EAGAIN);
  EXPECT_EQ(at_once(make(recvfrom_, stream[0], buffer, 8, MSG_WAITALL, 0, 0)), -EAGAIN);
  EXPECT_EQ(at_once(make(recvfrom_, stream[1], buffer, 8, MSG_DONTWAIT, 0, 0)), -EAGAIN);
}

TEST_F(ServicesTest, a_timer_that_does_not_wait_answers_eagain_too) {
  // Linux knows no RWF_NOWAIT for timers: the handler must not take that for "wait".
  const int timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  ASSERT_GE(timer, 0);
  EXPECT_EQ(at_once(make(read_, timer, buffer, 8)), -EAGAIN);
  ::close(timer);
}

TEST_F(ServicesTest, a_timer_that_waits_is_waited_for) {
  const int timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  const itimerspec soon{{0, 0}, {0, 1'000'000}};
  ASSERT_EQ(::timerfd_settime(timer, 0, &soon, nullptr), 0);
  EXPECT_EQ(served(make(read_, timer, buffer, 8)), 8);
  ::close(timer);
}

TEST_F(ServicesTest, a_file_is_read_whole_and_short_only_at_its_end) {
  char name[] = "/tmp/k2k-services-XXXXXX";
  const int file = ::mkstemp(name);
  ASSERT_GE(file, 0);
  ::unlink(name);
  const std::string text(100'000, 'x');
  EXPECT_EQ(served(make(write_, file, text.data(), text.size())), 100'000);
  EXPECT_EQ(served(make(__NR_lseek, file, 0, SEEK_SET)), 0);
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);  // Perhaps parts come from the disk.
  std::vector<char> back(200'000);
  EXPECT_EQ(served(make(read_, file, back.data(), 60'000)), 60'000);
  EXPECT_EQ(served(make(read_, file, back.data() + 60'000, 100'000)), 40'000);
  EXPECT_EQ(served(make(read_, file, back.data(), 10)), 0);
  EXPECT_EQ(std::string(back.data(), 100'000), text);
  EXPECT_EQ(served(make(__NR_pread64, file, buffer, 4, 99'998)), 2);
  EXPECT_EQ(served(make(__NR_pwrite64, file, "end", 3, 100'000)), 3);
  EXPECT_EQ(served(make(__NR_fsync, file)), 0);
  EXPECT_EQ(::lseek(file, 0, SEEK_END), 100'003);
  ::close(file);
}

TEST_F(ServicesTest, a_write_larger_than_a_pipe_waits_and_writes_all) {
  const std::string text(300'000, 'y');
  std::string back;
  std::thread peer([&] {
    std::vector<char> chunk(50'000);
    while (back.size() < text.size()) {
      const ssize_t count = ::read(pipe[0], chunk.data(), chunk.size());
      if (count <= 0) break;
      back.append(chunk.data(), static_cast<std::size_t>(count));
    }
  });
  EXPECT_EQ(served(make(write_, pipe[1], text.data(), text.size())), 300'000);
  peer.join();
  EXPECT_EQ(back, text);
}

TEST_F(ServicesTest, a_write_to_a_full_pipe_that_does_not_wait_is_short_then_eagain) {
  ASSERT_EQ(::fcntl(pipe[1], F_SETFL, O_NONBLOCK), 0);
  const std::string text(300'000, 'y');
  const std::int64_t first = at_once(make(write_, pipe[1], text.data(), text.size()));
  EXPECT_GT(first, 0);
  EXPECT_LT(first, 300'000);
  EXPECT_EQ(at_once(make(write_, pipe[1], text.data(), text.size())), -EAGAIN);
}

TEST_F(ServicesTest, a_stream_takes_a_large_message_in_parts_and_answers_all_of_it) {
  const std::string text(3'000'000, 'z');
  std::size_t received = 0;
  std::thread peer([&] {
    std::vector<char> chunk(100'000);
    while (received < text.size()) {
      const ssize_t count = ::recv(stream[1], chunk.data(), chunk.size(), 0);
      if (count <= 0) break;
      received += static_cast<std::size_t>(count);
    }
  });
  EXPECT_EQ(served(make(sendto_, stream[0], text.data(), text.size(), 0, 0, 0)), 3'000'000);
  peer.join();
  EXPECT_EQ(received, text.size());
}

TEST_F(ServicesTest, a_message_that_must_come_whole_is_waited_for_whole) {
  ASSERT_EQ(::send(stream[1], "ab", 2, 0), 2);
  std::thread peer([this] { ASSERT_EQ(::send(stream[1], "cd", 2, 0), 2); });
  EXPECT_EQ(served(make(recvfrom_, stream[0], buffer, 4, MSG_WAITALL, 0, 0)), 4);
  peer.join();
  EXPECT_EQ(std::string(buffer, 4), "abcd");
}

TEST_F(ServicesTest, a_datagram_carries_its_sender) {
  const int receiver = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int sender = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(::bind(receiver, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::getsockname(receiver, reinterpret_cast<sockaddr*>(&address), &length), 0);
  EXPECT_EQ(served(make(sendto_, sender, "hello", 5, 0, &address, sizeof(address))), 5);
  sockaddr_in from{};
  std::uint32_t from_length = sizeof(from);
  EXPECT_EQ(served(make(recvfrom_, receiver, buffer, 64, 0, &from, &from_length)), 5);
  EXPECT_EQ(from_length, sizeof(from));
  EXPECT_EQ(from.sin_family, AF_INET);
  ::close(receiver);
  ::close(sender);
}

TEST_F(ServicesTest, an_interrupted_wait_is_cancelled_before_anything_happened) {
  const std::uint64_t one = 1;
  ASSERT_EQ(::write(interruption.descriptor, &one, 8), 8);
  EXPECT_EQ(served(make(read_, pipe[0], buffer, 8)), -ECANCELED);
  EXPECT_EQ(served(make(recvfrom_, stream[0], buffer, 8, 0, 0, 0)), -ECANCELED);
  // What is there already is still given.
  ASSERT_EQ(::write(pipe[1], "abc", 3), 3);
  EXPECT_EQ(served(make(read_, pipe[0], buffer, 8)), 3);
}

TEST_F(ServicesTest, an_interruption_reaches_a_call_that_waits_already) {
  std::thread runtime([this] {
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(interruption.descriptor, &one, 8), 8);
  });
  Progress progress;
  EXPECT_EQ(execute_waiting(make(read_, pipe[0], buffer, 8), progress, interruption, files),
            -ECANCELED);
  runtime.join();
}

TEST_F(ServicesTest, an_interrupted_partial_send_answers_what_was_sent) {
  const std::string text(3'000'000, 'z');
  const std::uint64_t one = 1;
  ASSERT_EQ(::write(interruption.descriptor, &one, 8), 8);
  const std::int64_t sent = served(make(sendto_, stream[0], text.data(), text.size(), 0, 0, 0));
  EXPECT_GT(sent, 0);
  EXPECT_LT(sent, 3'000'000);
}

TEST_F(ServicesTest, a_broken_pipe_answers_epipe_and_no_process_dies) {
  ::close(pipe[0]);
  pipe[0] = -1;
  EXPECT_EQ(served(make(write_, pipe[1], "x", 1)), -EPIPE);
}

TEST_F(ServicesTest, a_broken_connection_answers_epipe_without_a_signal) {
  ::close(stream[1]);
  stream[1] = -1;
  EXPECT_EQ(served(make(sendto_, stream[0], "x", 1, 0, 0, 0)), -EPIPE);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST_F(ServicesTest, a_bad_descriptor_answers_ebadf_from_every_handler) {
  for (const std::uint16_t number : {read_, write_, sendto_, recvfrom_}) {
    EXPECT_EQ(served(make(number, 12345, buffer, 4, 0, 0, 0)), -EBADF) << number;
    EXPECT_EQ(served(make(number, -1, buffer, 4, 0, 0, 0)), -EBADF) << number;
  }
  EXPECT_EQ(served(make(read_, pipe[1], buffer, 4)), -EBADF) << "the wrong end";
}

TEST_F(ServicesTest, a_bad_pointer_answers_efault_and_reads_nothing) {
  void* const nowhere = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(served(make(write_, pipe[1], nowhere, 4)), -EFAULT);
  EXPECT_EQ(served(make(sendto_, stream[0], nowhere, 4, 0, 0, 0)), -EFAULT);
  ASSERT_EQ(::write(pipe[1], "abcd", 4), 4);
  EXPECT_EQ(served(make(read_, pipe[0], nowhere, 4)), -EFAULT);
  EXPECT_EQ(served(make(__NR_open, nowhere, O_RDONLY, 0)), -EFAULT);
  ::munmap(nowhere, 4096);
}

// Its number is open to the program alone.
class OwnDescriptors : public ServicesTest {
 protected:
  void SetUp() override {
    ServicesTest::SetUp();
    own = ::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    set_own(own, true);
  }
  void TearDown() override {
    set_own(own, false);
    EXPECT_EQ(::close(own), 0) << "it was closed";
    ServicesTest::TearDown();
  }
  int own = -1;
  char bytes[8] = {};
};

TEST_F(OwnDescriptors, are_not_open_to_calls_that_have_a_row) {
  EXPECT_EQ(served(make(__NR_read, own, bytes, 8)), -EBADF);
  EXPECT_EQ(served(make(__NR_write, own, bytes, 8)), -EBADF);
  EXPECT_EQ(served(make(__NR_pwrite64, own, bytes, 8, 0)), -EBADF);
  EXPECT_EQ(served(make(__NR_close, own)), -EBADF);
  EXPECT_EQ(served(make(__NR_sendto, own, bytes, 8, 0, nullptr, 0)), -EBADF);
  EXPECT_EQ(served(make(__NR_openat, own, "x", O_RDONLY, 0)), -EBADF);
  std::uint64_t count = 0;
  EXPECT_EQ(::read(own, &count, sizeof(count)), 8);
  EXPECT_EQ(count, 1u) << "nobody wrote to it or read it";
}

TEST_F(OwnDescriptors, are_not_open_to_calls_that_have_none) {
  EXPECT_EQ(served(make(__NR_dup, own)), -EBADF);
  EXPECT_EQ(served(make(__NR_dup2, pipe[0], own)), -EBADF);
  EXPECT_EQ(served(make(__NR_dup3, own, pipe[0], 0)), -EBADF);
  EXPECT_EQ(served(make(__NR_fcntl, own, F_SETFL, 0)), -EBADF);
  EXPECT_EQ(served(make(__NR_shutdown, own, SHUT_RDWR)), -EBADF);
  EXPECT_EQ(served(make(__NR_epoll_ctl, pipe[0], 1, own, bytes)), -EBADF);
  EXPECT_EQ(served(make(__NR_getppid, own)), ::getppid()) << "it has no descriptor";
}

TEST_F(OwnDescriptors, are_left_open_by_a_range_that_is_closed) {
  const int low = ::fcntl(pipe[0], F_DUPFD_CLOEXEC, own - 1);
  ASSERT_EQ(::dup3(pipe[0], own + 400, O_CLOEXEC), own + 400);
  ASSERT_EQ(::dup3(pipe[0], own + 402, O_CLOEXEC), own + 402);
  set_own(own + 400, true);
  set_own(own + 402, true);
  ASSERT_EQ(::dup3(pipe[0], own + 401, O_CLOEXEC), own + 401);
  ASSERT_EQ(::dup3(pipe[0], own + 403, O_CLOEXEC), own + 403);
  EXPECT_EQ(served(make(__NR_close_range, own + 300, ~0ull, 0)), 0);
  EXPECT_GE(::fcntl(own + 400, F_GETFD), 0);
  EXPECT_EQ(::fcntl(own + 401, F_GETFD), -1);
  EXPECT_GE(::fcntl(own + 402, F_GETFD), 0);
  EXPECT_EQ(::fcntl(own + 403, F_GETFD), -1);
  EXPECT_EQ(served(make(__NR_close_range, 9, 8, 0)), -EINVAL);
  EXPECT_EQ(served(make(__NR_close_range, own, own, CLOSE_RANGE_UNSHARE)), -EPERM);
  EXPECT_EQ(served(make(__NR_close_range, own, own, 0)), 0);
  for (const int number : {own + 400, own + 402}) {
    set_own(number, false);
    ::close(number);
  }
  ::close(low);
}

TEST_F(ServicesTest, an_interruption_that_was_closed_interrupts_nothing) {
  const int closed = interruption.descriptor;
  ::close(closed);
  std::thread peer([this] {
    ::usleep(20'000);
    EXPECT_EQ(::write(pipe[1], "x", 1), 1);
  });
  char letter = 0;
  EXPECT_EQ(served(make(__NR_read, pipe[0], &letter, 1)), 1);
  peer.join();
}

TEST_F(ServicesTest, an_empty_transfer_does_not_wait) {
  EXPECT_EQ(served(make(read_, pipe[0], buffer, 0)), 0);
  EXPECT_EQ(served(make(write_, pipe[1], buffer, 0)), 0);
}

TEST_F(ServicesTest, a_query_is_answered_in_place_with_a_wrapper_or_without) {
  utsname name{};
  for (const auto& [request, expected] : std::initializer_list<std::pair<Request, long>>{
           {make(__NR_getppid), ::getppid()},
           {make(__NR_getuid), ::getuid()},
           {make(__NR_getsid, 0), ::getsid(0)},
           {make(__NR_uname, &name), 0},
           {make(__NR_getgroups, 0, nullptr), ::getgroups(0, nullptr)},
           {make(__NR_getsockname, -1, 0, 0), -EBADF},
           {make(__NR_msgctl, -1, 0, nullptr), -EINVAL}}) {
    EXPECT_FALSE(would_wait(request)) << request.number;
    EXPECT_EQ(served(request), expected) << request.number;
  }
  EXPECT_STREQ(name.sysname, "Linux");
}

TEST_F(ServicesTest, a_call_that_the_table_does_not_know_is_never_tried_where_it_could_block) {
  EXPECT_TRUE(would_wait(make(1000)));
  EXPECT_EQ(served(make(1000)), -ENOSYS);
}

TEST_F(ServicesTest, a_call_that_may_wait_for_a_peer_is_never_tried_where_it_could_block) {
  EXPECT_TRUE(would_wait(make(__NR_recvmmsg, 12345, 0, 0, 0, 0)));
  EXPECT_EQ(served(make(__NR_recvmmsg, 12345, 0, 0, 0, 0)), -EBADF);
}

TEST_F(ServicesTest, a_poll_of_one_descriptor_tells_it_and_the_end) {
  pollfd watched{pipe[0], POLLIN, 77};
  Progress progress;
  const Instant begin = now();
  Answer answer = execute_without_waiting(make(__NR_poll, &watched, 1, 5'000), progress, files);
  ASSERT_TRUE(answer.would_wait);
  EXPECT_TRUE(answer.readiness.several);
  EXPECT_GE(answer.readiness.moment, begin + std::chrono::seconds(5));
  const Instant end = answer.readiness.moment;
  answer = execute_without_waiting(make(__NR_poll, &watched, 1, 5'000), progress, files);
  EXPECT_EQ(answer.readiness.moment, end) << "a further try has no more time";
  progress = {};
  answer = execute_without_waiting(make(__NR_poll, &watched, 1, -1), progress, files);
  EXPECT_TRUE(answer.would_wait);
  EXPECT_FALSE(answer.readiness.has_moment());
  EXPECT_EQ(at_once(make(__NR_poll, &watched, 1, 0)), 0);
  EXPECT_EQ(watched.revents, 0);
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  EXPECT_EQ(at_once(make(__NR_poll, &watched, 1, 5'000)), 1);
  EXPECT_EQ(watched.revents, POLLIN);
}

TEST_F(ServicesTest, a_call_that_waits_is_no_message_because_of_its_family) {
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sa_family_t family = AF_UNIX;  // Linux chooses a name.
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&family), sizeof(family)), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  ASSERT_GE(calls::find(__NR_accept4), 0);
  EXPECT_TRUE(would_wait(make(__NR_accept4, listener, 0, 0, 0)));
  ASSERT_EQ(::fcntl(listener, F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(served(make(__NR_accept4, listener, 0, 0, 0)), -EAGAIN);
  ::close(listener);
}

TEST_F(ServicesTest, each_open_of_what_may_be_a_fifo_may_sleep) {
  EXPECT_TRUE(may_sleep_at_once(make(__NR_open, "f", O_WRONLY)));
  EXPECT_FALSE(may_sleep_at_once(make(__NR_open, "f", O_WRONLY | O_NONBLOCK)));
  EXPECT_TRUE(may_sleep_at_once(make(__NR_openat, AT_FDCWD, "f", O_WRONLY)));
  EXPECT_TRUE(may_sleep_at_once(make(__NR_creat, "f", 0600)));
  EXPECT_TRUE(may_sleep_at_once(make(__NR_openat2, AT_FDCWD, "f", "", 0)));
  EXPECT_FALSE(may_sleep_at_once(make(__NR_mkdir, "f", 0700)));
}

TEST_F(ServicesTest, a_call_that_waits_is_no_transfer_because_of_its_family) {
  const std::string name = "/proc/self/fd/" + std::to_string(::memfd_create("lock", MFD_CLOEXEC));
  const int holder = ::open(name.c_str(), O_RDWR | O_CLOEXEC);
  const int other = ::open(name.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(holder, LOCK_EX), 0);
  ASSERT_GE(calls::find(__NR_flock), 0);
  const Request request = make(__NR_flock, other, LOCK_EX | LOCK_NB);
  Progress progress;
  const Answer answer = execute_without_waiting(request, progress, files);
  EXPECT_TRUE(answer.would_wait) << "a lock may wait for ever";
  EXPECT_FALSE(answer.readiness.exists());
  EXPECT_EQ(execute_waiting(request, progress, interruption, files), -EWOULDBLOCK);
  ASSERT_EQ(::flock(holder, LOCK_UN), 0);
  EXPECT_EQ(served(request), 0);
  ::close(holder);
  ::close(other);
}

TEST_F(ServicesTest, a_poll_of_nothing_or_of_two_takes_no_thread) {
  Progress progress;
  Answer answer = execute_without_waiting(make(__NR_poll, 0, 0, 5'000), progress, files);
  EXPECT_TRUE(answer.would_wait);
  EXPECT_TRUE(answer.readiness.several);
  EXPECT_TRUE(answer.readiness.has_moment());
  answer = execute_without_waiting(make(__NR_poll, 0, 0, -1), progress, files);
  EXPECT_TRUE(answer.would_wait);
  EXPECT_TRUE(answer.readiness.exists()) << "it waits until its launch ends";
  pollfd watched[2] = {{pipe[0], POLLIN, 0}, {stream[0], POLLIN, 0}};
  answer = execute_without_waiting(make(__NR_poll, watched, 2, 5'000), progress, files);
  EXPECT_TRUE(answer.would_wait);
  EXPECT_TRUE(answer.readiness.several);
  EXPECT_EQ(at_once(make(__NR_poll, 8, 1, 5'000)), -EFAULT);
}

TEST_F(ServicesTest, an_epoll_wait_waits_for_its_set) {
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{EPOLLIN, {}};
  ASSERT_EQ(::epoll_ctl(set, EPOLL_CTL_ADD, pipe[0], &event), 0);
  Progress progress;
  epoll_event got{};
  const Request request = make(__NR_epoll_pwait, set, &got, 1, 5'000, 0, 8);
  const Answer answer = execute_without_waiting(request, progress, files);
  ASSERT_TRUE(answer.would_wait);
  EXPECT_EQ(answer.readiness.descriptor, set);
  EXPECT_TRUE(answer.readiness.has_moment());
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  EXPECT_EQ(at_once(request), 1);
  EXPECT_EQ(at_once(make(__NR_epoll_wait, set, &got, 1, -1)), 1);
  EXPECT_EQ(at_once(make(__NR_epoll_wait, pipe[0], &got, 1, -1)), -EINVAL);
  EXPECT_EQ(at_once(make(__NR_epoll_wait, -1, &got, 1, -1)), -EBADF);
  ::close(set);
}

TEST_F(ServicesTest, an_accept_waits_for_a_connection) {
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un nowhere{AF_UNIX, {}};
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&nowhere), sizeof(sa_family_t)), 0);
  EXPECT_EQ(at_once(make(__NR_accept, listener, 0, 0)), -EINVAL) << "it does not listen";
  ASSERT_EQ(::listen(listener, 4), 0);
  sockaddr_un name{};
  socklen_t bytes = sizeof(name);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&name), &bytes), 0);
  Progress progress;
  const Request request = make(__NR_accept4, listener, 0, 0, SOCK_CLOEXEC);
  const Answer answer = execute_without_waiting(request, progress, files);
  ASSERT_TRUE(answer.would_wait);
  EXPECT_EQ(answer.readiness.descriptor, listener);
  EXPECT_EQ(answer.readiness.events, POLLIN);
  EXPECT_EQ(at_once(make(__NR_accept4, listener, 0, 0, 1)), -EINVAL) << "no such flag";
  const int peer = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::connect(peer, reinterpret_cast<const sockaddr*>(&name), bytes), 0);
  const auto taken = static_cast<int>(at_once(request));
  EXPECT_GE(taken, 0);
  EXPECT_EQ(::fcntl(taken, F_GETFD), FD_CLOEXEC);
  ASSERT_EQ(::fcntl(listener, F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(at_once(request), -EAGAIN);
  EXPECT_EQ(at_once(make(__NR_accept, pipe[0], 0, 0)), -ENOTSOCK);
  EXPECT_EQ(at_once(make(__NR_accept, -1, 0, 0)), -EBADF);
  for (const int fd : {listener, peer, taken}) ::close(fd);
}

TEST_F(ServicesTest, nothing_answers_zero) {
  EXPECT_EQ(at_once(make(calls::nop_number)), 0);
  EXPECT_EQ(at_once(make(__NR_getpid)), ::getpid());
}

TEST_F(ServicesTest, all_semaphores_of_a_set_go_where_there_is_room_for_all) {
  const int set = ::semget(IPC_PRIVATE, 3, 0600);
  if (set < 0) GTEST_SKIP() << "no semaphores here";
  std::uint16_t values[4] = {7, 8, 9, 77};
  EXPECT_EQ(served(make(__NR_semctl, set, 0, SETALL, values, 2)), -ERANGE);
  EXPECT_EQ(served(make(__NR_semctl, set, 0, SETALL, values, 3)), 0);
  std::uint16_t got[4] = {1, 1, 1, 1};
  EXPECT_EQ(served(make(__NR_semctl, set, 0, GETALL, got, 2)), -ERANGE);
  EXPECT_EQ(got[0], 1);
  EXPECT_EQ(served(make(__NR_semctl, set, 0, GETALL, got, 4)), 0);
  EXPECT_EQ(got[2], 9);
  EXPECT_EQ(got[3], 1);
  EXPECT_EQ(served(make(__NR_semctl, set, 0, GETALL, got, 0)), 0) << "no copy: as Linux does";
  ::semctl(set, 0, IPC_RMID);
  EXPECT_EQ(served(make(__NR_semctl, set, 0, GETALL, got, 4)), -EINVAL);
}

TEST_F(ServicesTest, commands_that_do_not_wait_need_no_thread) {
  std::uint32_t word = 5;
  struct flock lock{};
  lock.l_type = F_RDLCK;
  EXPECT_EQ(at_once(make(__NR_fcntl, pipe[0], F_GETFD, 0)), FD_CLOEXEC);
  EXPECT_EQ(at_once(make(__NR_futex, &word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0)), 0);
  EXPECT_TRUE(would_wait(make(__NR_fcntl, pipe[0], F_SETLKW, &lock)));
  EXPECT_TRUE(would_wait(make(__NR_futex, &word, FUTEX_WAIT_PRIVATE, 5, 0, 0, 0)));
}

}  // namespace
}  // namespace k2k::services
