// Goal: no message hands on a descriptor of K2K's own, and wrong messages are answered as Linux
// answers them, without a signal. Method: the calls of services_test.cpp, on a pair of sockets.

#include "services/network.hpp"

#include <asm/unistd.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/own_descriptors.hpp"
#include "services/services_fixture.hpp"

namespace k2k::services {
namespace {

// A message of one byte with a descriptor in its control data.
struct HandedOn {
  explicit HandedOn(int descriptor) {
    cmsghdr header{};
    header.cmsg_len = CMSG_LEN(sizeof(int));
    header.cmsg_level = SOL_SOCKET;
    header.cmsg_type = SCM_RIGHTS;
    std::memcpy(control, &header, sizeof(header));
    std::memcpy(control + CMSG_LEN(0), &descriptor, sizeof(descriptor));
  }
  [[nodiscard]] msghdr message() {
    msghdr made{};
    made.msg_iov = &piece;
    made.msg_iovlen = 1;
    made.msg_control = control;
    made.msg_controllen = sizeof(control);
    return made;
  }

  char byte = 'x';
  iovec piece{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
};

TEST_F(ServicesTest, k2k_s_own_descriptors_are_not_handed_on) {
  const int own = ::dup(pipe[0]);
  set_own(own, true);
  HandedOn with_own(own);
  HandedOn with_pipe(pipe[0]);
  msghdr one = with_own.message();
  EXPECT_EQ(served(make(__NR_sendmsg, stream[0], &one, 0)), -EBADF);
  mmsghdr two[2] = {{with_pipe.message(), 77}, {with_own.message(), 77}};
  EXPECT_EQ(served(make(__NR_sendmmsg, stream[0], two, 2, 0)), -EBADF);
  EXPECT_EQ(two[0].msg_len, 77u) << "not even the first is sent";
  set_own(own, false);
  EXPECT_EQ(served(make(__NR_sendmsg, stream[0], &one, 0)), 1);
  EXPECT_EQ(served(make(__NR_sendmmsg, stream[0], two, 2, 0)), 2);
  EXPECT_EQ(two[1].msg_len, 1u);
  ::close(own);
}

TEST_F(ServicesTest, control_data_is_read_as_linux_reads_it) {
  const int own = ::dup(pipe[0]);
  set_own(own, true);
  HandedOn with_own(own);
  msghdr one = with_own.message();
  // A header that says more than there is: Linux refuses the message.
  const std::size_t too_long = sizeof(with_own.control) + 1;
  std::memcpy(with_own.control, &too_long, sizeof(too_long));
  EXPECT_EQ(served(make(__NR_sendmsg, stream[0], &one, 0)), -EINVAL);
  // The descriptor is in a second header, behind one that Linux passes over.
  char control[CMSG_SPACE(4) + CMSG_SPACE(sizeof(int))] = {};
  const cmsghdr other{CMSG_LEN(4), SOL_IP, 77};
  const HandedOn second(own);
  std::memcpy(control, &other, sizeof(other));
  std::memcpy(control + CMSG_SPACE(4), second.control, sizeof(second.control));
  one.msg_control = control;
  one.msg_controllen = sizeof(control);
  EXPECT_EQ(served(make(__NR_sendmsg, stream[0], &one, 0)), -EBADF);
  set_own(own, false);
  ::close(own);
}

TEST_F(ServicesTest, wrong_messages_are_refused) {
  msghdr one = HandedOn(pipe[0]).message();
  one.msg_controllen = control_bytes_max + 1;
  EXPECT_EQ(served(make(__NR_sendmsg, stream[0], &one, 0)), -ENOBUFS);
  one.msg_controllen = 24;
  one.msg_control = reinterpret_cast<void*>(8);
  EXPECT_EQ(served(make(__NR_sendmsg, stream[0], &one, 0)), -EFAULT);
  EXPECT_EQ(served(make(__NR_sendmsg, stream[0], 8, 0)), -EFAULT);
  EXPECT_EQ(served(make(__NR_sendmmsg, stream[0], 8, 2, 0)), -EFAULT);
  EXPECT_EQ(served(make(__NR_sendmmsg, stream[0], 8, 0, 0)), 0);
  EXPECT_EQ(served(make(__NR_sendmmsg, -1, 8, 0, 0)), -EBADF);
  mmsghdr alone{};
  EXPECT_EQ(served(make(__NR_sendmmsg, -1, &alone, 1, 0)), -EBADF);
}

TEST_F(ServicesTest, a_message_to_nobody_is_an_error_and_no_signal) {
  ::close(stream[1]);
  stream[1] = -1;
  iovec piece{buffer, 1};
  msghdr one{};
  one.msg_iov = &piece;
  one.msg_iovlen = 1;
  mmsghdr many{one, 0};
  EXPECT_EQ(served(make(__NR_sendmsg, stream[0], &one, 0)), -EPIPE);
  EXPECT_EQ(served(make(__NR_sendmmsg, stream[0], &many, 1, 0)), -EPIPE);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

}  // namespace
}  // namespace k2k::services
