// Goal: calls with vectors, messages and sets of descriptors are answered at once where they need
// not wait, say which descriptor they wait for, and then move as much as Linux' own call.
// Method: real pipes, sockets and files; the test acts as the peer.

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "services/polls.hpp"
#include "services/services_fixture.hpp"

namespace k2k::services {
namespace {

class VectorsTest : public ServicesTest {
 protected:
  Readiness wait_of(const Request& request, Progress& progress) {
    const Answer answer = execute_without_waiting(request, progress, files);
    EXPECT_TRUE(answer.would_wait);
    return answer.readiness;
  }
  Readiness wait_of(const Request& request) {
    Progress progress;
    return wait_of(request, progress);
  }

  char first[4] = {};
  char second[8] = {};
  iovec pieces[2] = {{first, 4}, {second, 8}};
};

TEST_F(VectorsTest, a_vector_waits_for_its_descriptor_and_answers_what_is_there) {
  for (const long number : {__NR_readv, __NR_preadv2}) {
    const Request request = make(static_cast<std::uint16_t>(number), pipe[0], pieces, 2, -1, -1, 0);
    const Readiness readiness = wait_of(request);
    EXPECT_EQ(readiness.descriptor, pipe[0]);
    EXPECT_EQ(readiness.events, POLLIN);
    ASSERT_EQ(::write(pipe[1], "abcdef", 6), 6);
    EXPECT_EQ(at_once(request), 6) << "a short count of a peer's data";
    EXPECT_EQ(std::string(first, 4) + std::string(second, 2), "abcdef");
  }
  EXPECT_EQ(at_once(make(__NR_writev, pipe[1], pieces, 2)), 12);
}

TEST_F(VectorsTest, a_vector_that_a_stream_takes_in_parts_is_written_once) {
  ASSERT_GT(::fcntl(pipe[1], F_SETPIPE_SZ, 4096), 0);
  std::string sent(10'000, '\0');
  for (std::size_t at = 0; at < sent.size(); ++at) sent[at] = static_cast<char>(at % 251);
  const std::vector<iovec> parts = {
      {sent.data(), 1'000}, {sent.data() + 1'000, 0}, {sent.data() + 1'000, 9'000}};
  const Request request = make(__NR_writev, pipe[1], parts.data(), parts.size());
  Progress progress;
  std::string received;
  char page[4096];
  Answer answer = execute_without_waiting(request, progress, files);
  while (answer.would_wait) {
    EXPECT_EQ(answer.readiness.descriptor, pipe[1]);
    const ssize_t count = ::read(pipe[0], page, sizeof(page));
    ASSERT_GT(count, 0);
    received.append(page, static_cast<std::size_t>(count));
    answer = execute_without_waiting(request, progress, files);
  }
  EXPECT_EQ(answer.value, 10'000);
  while (received.size() < sent.size()) {
    const ssize_t count = ::read(pipe[0], page, sizeof(page));
    ASSERT_GT(count, 0);
    received.append(page, static_cast<std::size_t>(count));
  }
  EXPECT_TRUE(received == sent);
}

TEST_F(VectorsTest, a_thread_that_may_wait_goes_on_behind_what_was_moved) {
  ASSERT_GT(::fcntl(pipe[1], F_SETPIPE_SZ, 4096), 0);
  std::string sent(6'000, 'x');
  sent[4096] = 'y';
  const iovec whole{sent.data(), sent.size()};
  const Request request = make(__NR_writev, pipe[1], &whole, 1);
  Progress progress;
  wait_of(request, progress);
  EXPECT_EQ(progress.bytes, 4096u);
  std::string received(sent.size(), '\0');
  std::thread peer([&] {
    std::size_t at = 0;
    while (at < received.size()) {
      const ssize_t count = ::read(pipe[0], received.data() + at, received.size() - at);
      ASSERT_GT(count, 0);
      at += static_cast<std::size_t>(count);
    }
  });
  EXPECT_EQ(execute_waiting(request, progress, interruption, files), 6'000);
  peer.join();
  EXPECT_TRUE(received == sent);
}

TEST_F(VectorsTest, of_a_file_need_no_second_try_where_its_pages_are_cached) {
  const int file = ::memfd_create("k2k_vectors", MFD_CLOEXEC);
  ASSERT_EQ(::write(file, "0123456789ab", 12), 12);
  EXPECT_EQ(served(make(__NR_preadv2, file, pieces, 2, 2, 0, 0)), 10) << "the file ends there";
  EXPECT_EQ(std::string(first, 4) + std::string(second, 6), "23456789ab");
  ASSERT_EQ(::lseek(file, 4, SEEK_SET), 4);
  EXPECT_EQ(served(make(__NR_readv, file, pieces, 2)), 8);
  EXPECT_EQ(::lseek(file, 0, SEEK_CUR), 12) << "the position moved once";
  EXPECT_EQ(at_once(make(__NR_writev, file, pieces, 2)), 12);
  EXPECT_EQ(at_once(make(__NR_pwritev2, file, pieces, 2, 0, 0, RWF_DSYNC)), 12);
  ::close(file);
}

TEST_F(VectorsTest, wrong_vectors_are_refused_as_linux_refuses_them) {
  const iovec negative{first, ~std::size_t{0}};
  EXPECT_EQ(at_once(make(__NR_readv, pipe[0], pieces, 0)), 0);
  EXPECT_EQ(at_once(make(__NR_readv, pipe[0], pieces, 1'025)), -EINVAL);
  EXPECT_EQ(at_once(make(__NR_readv, pipe[0], &negative, 1)), -EINVAL);
  EXPECT_EQ(at_once(make(__NR_readv, pipe[0], 8, 1)), -EFAULT);
  EXPECT_EQ(at_once(make(__NR_readv, -1, pieces, 2)), -EBADF);
  EXPECT_EQ(at_once(make(__NR_preadv2, pipe[0], pieces, 2, -2, 0, 0)), -EINVAL);
  EXPECT_EQ(at_once(make(__NR_preadv2, pipe[0], pieces, 2, 0, 0, 0)), -ESPIPE);
  EXPECT_EQ(at_once(make(__NR_readv, pipe[1], pieces, 2)), -EBADF) << "it cannot be read";
}

TEST_F(VectorsTest, who_asked_not_to_wait_is_answered) {
  const iovec piece{first, 4};
  // Old versions of Linux refuse the flag for sockets.
  const ssize_t direct = ::preadv2(stream[0], &piece, 1, -1, RWF_NOWAIT);
  const long refusal = errno;
  ASSERT_EQ(direct, -1);
  EXPECT_EQ(at_once(make(__NR_preadv2, stream[0], &piece, 1, -1, -1, RWF_NOWAIT)), -refusal);
  ASSERT_EQ(::fcntl(stream[0], F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(at_once(make(__NR_readv, stream[0], &piece, 1)), -EAGAIN);
  const int internet = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(at_once(make(__NR_recvfrom, internet, first, 4, MSG_ERRQUEUE, 0, 0)), -EAGAIN)
      << "errors are there or not";
  EXPECT_TRUE(would_wait(make(__NR_recvfrom, stream[1], first, 4, MSG_ERRQUEUE, 0, 0)))
      << "a socket of the machine ignores the flag";
  ::close(internet);
}

TEST_F(VectorsTest, a_message_waits_for_its_socket) {
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = 2;
  const Request request = make(__NR_recvmsg, stream[0], &message, 0);
  EXPECT_EQ(wait_of(request).descriptor, stream[0]);
  EXPECT_EQ(at_once(make(__NR_recvmsg, stream[0], &message, MSG_DONTWAIT)), -EAGAIN);
  ASSERT_EQ(::send(stream[1], "abcde", 5, 0), 5);
  EXPECT_EQ(at_once(request), 5);
  EXPECT_EQ(at_once(make(__NR_sendmsg, stream[0], &message, 0)), 12);
  EXPECT_TRUE(would_wait(make(__NR_recvmsg, stream[0], &message, MSG_WAITALL)));
  EXPECT_EQ(at_once(make(__NR_recvmsg, -1, &message, 0)), -EBADF);
}

TEST_F(VectorsTest, a_message_in_parts_hands_its_descriptor_on_once) {
  const int bytes = 4096;
  ASSERT_EQ(::setsockopt(stream[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)), 0);
  std::string sent(200'000, 'x');
  iovec parts[2] = {{sent.data(), 10}, {sent.data() + 10, sent.size() - 10}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  const cmsghdr header{CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
  std::memcpy(control, &header, sizeof(header));
  std::memcpy(control + CMSG_LEN(0), &pipe[0], sizeof(int));
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const Request request = make(__NR_sendmsg, stream[0], &message, 0);
  Progress progress;
  int handed_on = 0;
  std::size_t received = 0;
  std::vector<char> page(65'536);
  const auto receive = [&] {
    iovec piece{page.data(), page.size()};
    alignas(cmsghdr) char got[CMSG_SPACE(sizeof(int))] = {};
    msghdr into{};
    into.msg_iov = &piece;
    into.msg_iovlen = 1;
    into.msg_control = got;
    into.msg_controllen = sizeof(got);
    const ssize_t count = ::recvmsg(stream[1], &into, MSG_CMSG_CLOEXEC);
    ASSERT_GT(count, 0);
    received += static_cast<std::size_t>(count);
    if (into.msg_controllen == 0) return;
    ++handed_on;
    int descriptor = -1;
    std::memcpy(&descriptor, got + CMSG_LEN(0), sizeof(descriptor));
    ::close(descriptor);
  };
  Answer answer = execute_without_waiting(request, progress, files);
  EXPECT_TRUE(answer.would_wait);
  while (answer.would_wait) {
    receive();
    answer = execute_without_waiting(request, progress, files);
  }
  EXPECT_EQ(answer.value, 200'000);
  while (received < sent.size()) receive();
  EXPECT_EQ(received, sent.size());
  EXPECT_EQ(handed_on, 1);
}

// -- sets and lists of descriptors ----------------------------------------------------------------

struct Sets {
  explicit Sets(int descriptor) {
    FD_ZERO(&readable);
    FD_ZERO(&writable);
    FD_SET(descriptor, &readable);
  }
  fd_set readable;
  fd_set writable;
};

TEST_F(VectorsTest, a_select_waits_for_its_descriptors_and_leaves_its_sets_until_then) {
  Sets asked(pipe[0]);
  const Request request = make(__NR_select, pipe[0] + 1, &asked.readable, &asked.writable, 0, 0);
  EXPECT_TRUE(wait_of(request).several);
  const auto list = PollList::of(request);
  ASSERT_TRUE(list.has_value());
  ASSERT_EQ(list->watched().size(), 1u);
  EXPECT_EQ(list->watched()[0].descriptor, pipe[0]);
  EXPECT_EQ(list->watched()[0].events, POLLIN | POLLRDNORM | POLLRDBAND);
  EXPECT_TRUE(FD_ISSET(pipe[0], &asked.readable));
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  EXPECT_EQ(at_once(request), 1);
  EXPECT_TRUE(FD_ISSET(pipe[0], &asked.readable));
}

TEST_F(VectorsTest, a_select_that_need_not_wait_is_answered) {
  Sets asked(pipe[0]);
  FD_SET(pipe[1], &asked.writable);
  const int count = std::max(pipe[0], pipe[1]) + 1;
  EXPECT_EQ(at_once(make(__NR_select, count, &asked.readable, &asked.writable, 0, 0)), 1);
  EXPECT_FALSE(FD_ISSET(pipe[0], &asked.readable));
  EXPECT_TRUE(FD_ISSET(pipe[1], &asked.writable));
  Sets empty(pipe[0]);
  timeval none{};
  EXPECT_EQ(at_once(make(__NR_select, pipe[0] + 1, &empty.readable, 0, 0, &none)), 0);
  EXPECT_FALSE(FD_ISSET(pipe[0], &empty.readable)) << "its time has passed";
  const timespec at_once_{};
  Sets other(stream[0]);
  EXPECT_EQ(at_once(make(__NR_pselect6, stream[0] + 1, &other.readable, 0, 0, &at_once_, 0)), 0);
}

TEST_F(VectorsTest, a_select_looks_at_no_bit_behind_the_table_of_descriptors) {
  // Linux doubles the table where a number is behind it.
  const int last = ::fcntl(pipe[0], F_DUPFD, 700);
  ASSERT_EQ(last, 700);
  for (const std::size_t bits : {std::size_t{5'000}, PollList::descriptors_max}) {
    constexpr std::size_t words = PollList::descriptors_max / 64;
    std::array<std::uint64_t, words> asked{};
    asked[static_cast<std::size_t>(last) / 64] |= std::uint64_t{1} << (last % 64);
    for (const std::size_t behind : {4'100u, 4'999u}) {
      asked[behind / 64] |= std::uint64_t{1} << (behind % 64);
    }
    auto by_linux = asked;
    timeval none{};
    const int said = ::select(static_cast<int>(bits), reinterpret_cast<fd_set*>(by_linux.data()),
                              nullptr, nullptr, &none);
    if (said < 0) GTEST_SKIP() << "this process had more than 4,096 descriptors";
    const Request request = make(__NR_select, bits, asked.data(), 0, 0, 0);
    EXPECT_TRUE(wait_of(request).several);
    auto list = PollList::of(request);
    ASSERT_TRUE(list.has_value());
    ASSERT_EQ(list->watched().size(), 1u);
    EXPECT_EQ(list->watched()[0].descriptor, last);
    EXPECT_EQ(list->look({}), std::nullopt);
    const auto before = asked;
    EXPECT_EQ(list->look_at_last({}), 0);
    EXPECT_EQ(asked, by_linux) << "bits behind the table stay";
    asked = before;
    timeval at_once_{};
    EXPECT_EQ(at_once(make(__NR_select, bits, asked.data(), 0, 0, &at_once_)), 0);
    EXPECT_EQ(asked, by_linux);
  }
  ::close(last);
}

TEST_F(VectorsTest, wrong_sets_are_refused_as_linux_refuses_them) {
  const int closed = ::dup(pipe[0]);
  ::close(closed);
  Sets asked(closed);
  EXPECT_EQ(at_once(make(__NR_select, closed + 1, &asked.readable, 0, 0, 0)), -EBADF);
  EXPECT_TRUE(FD_ISSET(closed, &asked.readable)) << "an error leaves the sets";
  EXPECT_EQ(at_once(make(__NR_select, -1, &asked.readable, 0, 0, 0)), -EINVAL);
  EXPECT_EQ(at_once(make(__NR_select, 64, 8, 0, 0, 0)), -EFAULT);
  const timeval wrong{-1, 0};
  EXPECT_EQ(at_once(make(__NR_select, 1, 0, 0, 0, &wrong)), -EINVAL);
  EXPECT_EQ(at_once(make(__NR_select, 1, 0, 0, 0, 8)), -EFAULT);
}

TEST_F(VectorsTest, waits_for_several_descriptors_need_no_thread) {
  Sets asked(pipe[0]);
  FD_SET(stream[0], &asked.readable);
  const int count = std::max(pipe[0], stream[0]) + 1;
  EXPECT_TRUE(wait_of(make(__NR_select, count, &asked.readable, 0, 0, 0)).several);
  timeval soon{1, 0};
  EXPECT_TRUE(wait_of(make(__NR_select, count, &asked.readable, 0, 0, &soon)).has_moment());
  pollfd list[2] = {{pipe[0], POLLIN, 0}, {stream[0], POLLIN, 0}};
  EXPECT_TRUE(wait_of(make(__NR_poll, list, 2, -1)).several);
  timespec later{1, 0};
  EXPECT_TRUE(wait_of(make(__NR_ppoll, list, 2, &later, 0, 8)).has_moment());
}

TEST_F(VectorsTest, waits_with_a_mask_need_no_thread) {
  std::uint64_t mask = 0;
  pollfd one{pipe[0], POLLIN, 0};
  EXPECT_TRUE(wait_of(make(__NR_ppoll, &one, 1, 0, &mask, 8)).several);
  const std::uint64_t pair[2] = {reinterpret_cast<std::uint64_t>(&mask), 8};
  Sets asked(pipe[0]);
  EXPECT_TRUE(wait_of(make(__NR_pselect6, pipe[0] + 1, &asked.readable, 0, 0, 0, pair)).several);
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event got{};
  EXPECT_EQ(wait_of(make(__NR_epoll_pwait, set, &got, 1, -1, &mask, 8)).descriptor, set);
  EXPECT_EQ(wait_of(make(__NR_epoll_pwait2, set, &got, 1, 0, &mask, 8)).descriptor, set);
  ::close(set);
}

TEST_F(VectorsTest, wrong_masks_are_refused_before_the_descriptors_are_looked_at) {
  std::uint64_t mask = 0;
  pollfd one{pipe[1], POLLOUT, 0};
  EXPECT_EQ(at_once(make(__NR_ppoll, &one, 1, 0, &mask, 4)), -EINVAL);
  EXPECT_EQ(at_once(make(__NR_ppoll, &one, 1, 0, 8, 8)), -EFAULT);
  EXPECT_EQ(at_once(make(__NR_ppoll, &one, 1, 0, 0, 4)), 1) << "without a mask its size is nothing";
  EXPECT_EQ(at_once(make(__NR_epoll_pwait, -1, 0, 0, 0, &mask, 16)), -EINVAL);
  const timespec wrong{0, -1};
  EXPECT_EQ(at_once(make(__NR_epoll_pwait2, -1, 0, 1, &wrong, 8, 8)), -EINVAL);
  EXPECT_EQ(at_once(make(__NR_epoll_pwait2, -1, 0, 1, 0, 8, 8)), -EFAULT);
  EXPECT_EQ(at_once(make(__NR_pselect6, -1, 0, 0, 0, &wrong, 8)), -EFAULT);
  const std::uint64_t pair[2] = {8, 8};
  EXPECT_EQ(at_once(make(__NR_pselect6, 0, 0, 0, 0, &wrong, pair)), -EINVAL);
  EXPECT_EQ(at_once(make(__NR_pselect6, -1, 0, 0, 0, 0, pair)), -EFAULT);
}

// A thread that is given the call late makes it for the rest of its time.
TEST_F(VectorsTest, the_time_of_a_call_passes_while_it_waits_for_a_thread) {
  std::uint64_t mask = 0;  // Lets every signal pass: this thread must keep its own.
  pollfd one{pipe[0], POLLIN, 0};
  Sets asked(pipe[0]);
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event got{};
  timespec times[3] = {{60, 0}, {60, 0}, {60, 0}};
  timeval time{60, 0};
  const std::uint64_t pair[2] = {reinterpret_cast<std::uint64_t>(&mask), 8};
  const int bits = pipe[0] + 1;
  const std::array<Request, 7> calls = {
      make(__NR_poll, &one, 1, 60'000),
      make(__NR_ppoll, &one, 1, &times[0], &mask, 8),
      make(__NR_select, bits, &asked.readable, 0, 0, &time),
      make(__NR_pselect6, bits, &asked.readable, 0, 0, &times[1], pair),
      make(__NR_epoll_wait, set, &got, 1, 60'000),
      make(__NR_epoll_pwait, set, &got, 1, 60'000, &mask, 8),
      make(__NR_epoll_pwait2, set, &got, 1, &times[2], &mask, 8),
  };
  std::array<Progress, 7> progress;
  const Instant begun = now();
  for (std::size_t at = 0; at < calls.size(); ++at) {
    SCOPED_TRACE(calls[at].number);
    wait_of(calls[at], progress[at]);
    EXPECT_GE(progress[at].end, begun + std::chrono::seconds(60));
    progress[at].end = now() + std::chrono::milliseconds(2);  // A thread is free this late.
    FD_SET(pipe[0], &asked.readable);
    EXPECT_EQ(execute_waiting(calls[at], progress[at], interruption, files), 0);
    EXPECT_GE(now(), progress[at].end);
  }
  EXPECT_EQ(times[0].tv_sec, 0) << "Linux writes that no time is left";
  EXPECT_EQ(times[1].tv_sec, 0);
  EXPECT_EQ(time.tv_sec, 0);
  EXPECT_EQ(times[2].tv_sec, 60) << "not for this call";
  EXPECT_LT(now() - begun, std::chrono::seconds(50)) << "the time of one call";
  ::close(set);
}

TEST_F(VectorsTest, a_call_that_a_thread_makes_tells_the_rest_of_its_time_and_its_errors) {
  pollfd one{pipe[0], POLLIN, 0};
  timespec later{60, 0};
  const Request request = make(__NR_ppoll, &one, 1, &later, 0, 8);
  Progress progress;
  wait_of(request, progress);
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  EXPECT_EQ(execute_waiting(request, progress, interruption, files), 1);
  EXPECT_LT(later.tv_sec, 60);
  EXPECT_GT(later.tv_sec, 0);
  const int closed = ::dup(pipe[0]);
  ::close(closed);
  epoll_event got{};
  const Request gone = make(__NR_epoll_wait, closed, &got, 1, -1);
  EXPECT_EQ(execute_waiting(gone, progress, interruption, files), -EBADF);
}

TEST_F(VectorsTest, waits_for_very_many_descriptors_keep_a_thread) {
  const pollfd one{pipe[0], POLLIN, 0};
  // Linux answers EINVAL for a list that is longer than the limit of open files.
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  constexpr rlim_t needed = PollList::descriptors_max + 1;
  const rlimit raised{std::max(usual.rlim_cur, needed), std::max(usual.rlim_max, needed)};
  if (::setrlimit(RLIMIT_NOFILE, &raised) != 0) {
    GTEST_SKIP() << "this user may open too few files; raise the hard limit (ulimit -Hn)";
  }
  std::vector<pollfd> many(PollList::descriptors_max + 1, one);
  EXPECT_FALSE(wait_of(make(__NR_poll, many.data(), many.size(), -1)).exists());
  Progress progress;
  const Instant begun = now();
  EXPECT_FALSE(wait_of(make(__NR_poll, many.data(), many.size(), 1'000), progress).exists());
  EXPECT_GE(progress.end, begun + std::chrono::seconds(1)) << "the thread learns the end";
  EXPECT_FALSE(PollList::of(make(__NR_poll, many.data(), many.size(), -1)).has_value());
  std::vector<std::uint64_t> set(PollList::descriptors_max / 64 + 1);
  const std::size_t bits = 64 * set.size();
  EXPECT_FALSE(wait_of(make(__NR_select, bits, set.data(), 0, 0, 0)).exists());
  EXPECT_FALSE(PollList::of(make(__NR_select, bits, set.data(), 0, 0, 0)).has_value());
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
}

TEST_F(VectorsTest, a_list_watches_each_descriptor_once_and_none_of_k2ks_own) {
  const Descriptor own(::dup(pipe[0]));
  pollfd list[5] = {{stream[0], POLLOUT, 0},
                    {-1, POLLIN, 0},
                    {pipe[0], POLLIN, 0},
                    {own.number(), POLLIN, 0},
                    {stream[0], POLLIN, 0}};
  const auto watched = PollList::of(make(__NR_poll, list, 5, -1))->watched();
  ASSERT_EQ(watched.size(), 2u);
  const bool pipe_first = pipe[0] < stream[0];
  EXPECT_EQ(watched[pipe_first ? 0 : 1].descriptor, pipe[0]);
  EXPECT_EQ(watched[pipe_first ? 1 : 0].events, POLLIN | POLLOUT);
}

TEST_F(VectorsTest, lists_of_which_a_descriptor_is_ready_are_answered) {
  pollfd list[2] = {{pipe[0], POLLIN, 0}, {pipe[1], POLLOUT, 0}};
  timespec later{1, 0};
  EXPECT_EQ(at_once(make(__NR_poll, list, 2, -1)), 1);
  EXPECT_EQ(at_once(make(__NR_ppoll, list, 2, &later, 0, 8)), 1);
  EXPECT_EQ(list[1].revents, POLLOUT);
  EXPECT_TRUE(wait_of(make(__NR_ppoll, list, 1, 0, 0, 8)).several);
  const timespec wrong{0, -1};
  EXPECT_EQ(at_once(make(__NR_ppoll, list, 2, &wrong, 0, 8)), -EINVAL);
  EXPECT_EQ(at_once(make(__NR_ppoll, list, 2, 8, 0, 8)), -EFAULT);
}

TEST_F(VectorsTest, a_wait_with_a_fine_timeout_waits_for_its_set) {
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  ASSERT_EQ(::epoll_ctl(set, EPOLL_CTL_ADD, pipe[0], &event), 0);
  epoll_event got{};
  const timespec later{5, 0};
  const Request request = make(441, set, &got, 1, &later, 0, 8);  // epoll_pwait2
  const Readiness readiness = wait_of(request);
  EXPECT_EQ(readiness.descriptor, set);
  EXPECT_TRUE(readiness.has_moment());
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  EXPECT_EQ(at_once(request), 1);
  ::close(set);
}

}  // namespace
}  // namespace k2k::services
