// Goal: under a policy that names memory, what vectors and messages name is judged, and Linux gets
// what was judged: no structure that changes meanwhile, no count and no size leads elsewhere.
// Method: real pipes and sockets; the test changes the structures as a kernel could.

#include "services/rules/part_copies.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "services/raw.hpp"
#include "services/rules/copies_fixture.hpp"

namespace k2k::services {
namespace {

constexpr std::uint16_t getxattrat_number = 464;
constexpr int level_of_rds = 276;
constexpr std::size_t pieces_most = calls::pieces_max;

// Memory of the kernel, as this file uses it.
struct Layout {
  std::array<iovec, 8> pieces;
  std::array<mmsghdr, 4> messages;
  std::array<char, 256> control;
  sockaddr_storage name;
  std::array<char, 64> data;
  std::array<char, 64> more;
};

class PartCopiesTest : public CopiesTest {
 protected:
  void SetUp() override {
    CopiesTest::SetUp();
    make_copies({.of_kernels = true, .ranges = {{as_word(named.data()), named.size()}}},
                sizeof(Layout));
  }

  // A message of one piece in the kernel's memory.
  msghdr& message(std::size_t bytes = 8) {
    in.pieces[0] = {in.data.data(), bytes};
    msghdr& one = in.messages[0].msg_hdr;
    one = {};
    one.msg_iov = in.pieces.data();
    one.msg_iovlen = 1;
    return one;
  }
  void add_control(int level, int type, const void* content, std::size_t bytes) {
    cmsghdr header{};
    header.cmsg_len = CMSG_LEN(bytes);
    header.cmsg_level = level;
    header.cmsg_type = type;
    std::memcpy(in.control.data() + control_bytes, &header, sizeof(header));
    std::memcpy(in.control.data() + control_bytes + sizeof(header), content, bytes);
    control_bytes += CMSG_SPACE(bytes);
    in.messages[0].msg_hdr.msg_control = in.control.data();
    in.messages[0].msg_hdr.msg_controllen = control_bytes;
  }

  Layout& in = *new (backend.given.data()) Layout{};
  const WholePages named{control_bytes_max / 4096 + 1};  // By the program.
  std::size_t control_bytes = 0;
};

TEST_F(PartCopiesTest, vectors_move_data_within_the_ranges) {
  in.data.fill('d');
  in.pieces = {{{in.data.data(), 4}, {wild, 0}, {nullptr, 0}, {backend.constants.data(), 4}}};
  EXPECT_EQ(answer(SYS_writev, pipe[1], in.pieces.data(), 4), 8) << "no bytes, no memory";
  in.pieces = {{{in.more.data(), 3}, {in.data.data(), 8}}};
  EXPECT_EQ(answer(SYS_readv, pipe[0], in.pieces.data(), 2), 8);
  EXPECT_EQ(std::string(in.more.data(), 3), "ddd");
  EXPECT_EQ(log(), "");
}

TEST_F(PartCopiesTest, each_piece_is_judged_with_all_its_bytes) {
  ASSERT_EQ(::write(pipe[1], "0123", 4), 4);
  char* const end = backend.given.data() + backend.given.size();
  const iovec bad[] = {{wild, 1},
                       {end - 1, 2},
                       {end, 1},
                       {in.data.data(), std::size_t{1} << 40},
                       {in.data.data(), SIZE_MAX},
                       {in.data.data(), SIZE_MAX - reinterpret_cast<std::uintptr_t>(&in) + 2},
                       {reinterpret_cast<void*>(UINTPTR_MAX), 2},
                       {nullptr, 1},
                       {backend.constants.data(), 4}};
  for (const iovec& piece : bad) {
    for (const long number : {SYS_readv, SYS_preadv, SYS_preadv2}) {
      in.pieces = {{{in.data.data(), 1}, {piece}}};
      EXPECT_EQ(answer(number, pipe[0], in.pieces.data(), 2, 0, 0, 0), -EFAULT)
          << piece.iov_base << ' ' << piece.iov_len;
    }
  }
  in.pieces[1] = {wild, 1};
  for (const long number : {SYS_writev, SYS_pwritev, SYS_pwritev2}) {
    EXPECT_EQ(answer(number, pipe[1], in.pieces.data(), 2, 0, 0, 0), -EFAULT);
  }
  EXPECT_NE(log().find(fmt::format("readv: EFAULT: a piece names 1 bytes at {:#x}, beyond "
                                   "memory.ranges",
                                   as_word(wild))),
            std::string::npos)
      << log();
  EXPECT_EQ(::read(pipe[0], buffer, sizeof(buffer)), 4) << "nothing was taken, nothing added";
}

// Linux looks at the low half of a vector's count; K2K at all of it.
TEST_F(PartCopiesTest, counts_that_linux_does_not_take_are_answered_as_linux_does) {
  in.pieces[0] = {wild, 1};
  for (const std::uint64_t count : {std::uint64_t{pieces_most + 1}, (std::uint64_t{1} << 32) + 1,
                                    std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    EXPECT_EQ(answer(SYS_readv, pipe[0], in.pieces.data(), count), -EINVAL) << count;
    msghdr& one = message();
    one.msg_iovlen = count;
    EXPECT_EQ(answer(SYS_sendmsg, stream[0], &one, 0), -EMSGSIZE) << count;
    EXPECT_EQ(answer(SYS_recvmsg, stream[0], &one, 0), -EMSGSIZE) << count;
  }
  EXPECT_EQ(answer(SYS_readv, pipe[0], in.pieces.data(), 0), 0);
  EXPECT_EQ(answer(SYS_readv, pipe[0], nullptr, 1), -EFAULT);
  EXPECT_EQ(answer(SYS_sendmsg, stream[0], nullptr, 0), -EFAULT);
  // Linux takes no messages of this count; K2K judges the memory of as many as can be.
  message();
  EXPECT_EQ(answer(SYS_sendmmsg, stream[0], in.messages.data(), std::uint64_t{1} << 32, 0),
            -EFAULT);
}

TEST_F(PartCopiesTest, linux_gets_the_vector_that_was_judged) {
  in.pieces[0] = {in.data.data(), 4};
  const Request request = judged(SYS_readv, pipe[0], in.pieces.data(), 1);
  ASSERT_EQ(::write(pipe[1], "0123", 4), 4);
  const std::int64_t value = copies->make_call(request, [&](const Request& made) {
    in.pieces[0] = {wild, 4};
    return pass_on(made);
  });
  EXPECT_EQ(value, 4);
  EXPECT_EQ(std::string(in.data.data(), 4), "0123");
}

TEST_F(PartCopiesTest, a_vector_that_changes_while_the_call_waits_is_judged_anew) {
  in.pieces[0] = {in.data.data(), 4};
  const Request request = judged(SYS_readv, pipe[0], in.pieces.data(), 1);
  Progress progress;
  EXPECT_TRUE(execute_without_waiting(request, progress, files).would_wait);
  in.pieces[0] = {wild, 4};
  ASSERT_EQ(::write(pipe[1], "0123", 4), 4);
  EXPECT_EQ(execute_without_waiting(request, progress, files).value, -EFAULT);
  EXPECT_EQ(execute_waiting(request, progress, interruption, files), -EFAULT);
}

// TearDown() looks for a byte of the peer's in memory of the program.
TEST_F(PartCopiesTest, a_vector_that_changes_all_the_time_leads_nowhere_else) {
  std::atomic<bool> ended{false};
  in.pieces[0] = {in.data.data(), 4};
  auto* const place = reinterpret_cast<std::uint64_t*>(&in.pieces[0].iov_base);
  std::thread attacker([&] {
    while (!ended.load()) {
      __atomic_store_n(place, as_word(wild), __ATOMIC_RELAXED);
      __atomic_store_n(place, as_word(in.data.data()), __ATOMIC_RELAXED);
    }
  });
  int good = 0;
  for (int round = 0; round < 20'000 && good < 2'000; ++round) {
    ASSERT_EQ(::write(pipe[1], "0123", 4), 4);
    const std::int64_t value = answer(SYS_readv, pipe[0], in.pieces.data(), 1);
    EXPECT_TRUE(value == 4 || value == -EFAULT) << value;
    good += value == 4 ? 1 : 0;
    if (value != 4) {
      ASSERT_EQ(::read(pipe[0], buffer, 4), 4);
    }
  }
  ended = true;
  attacker.join();
}

TEST_F(PartCopiesTest, messages_are_sent_and_received_with_all_that_linux_answers) {
  int kept = pipe[0];
  message();
  add_control(SOL_SOCKET, SCM_RIGHTS, &kept, sizeof(kept));
  std::memcpy(in.data.data(), "message", 8);
  EXPECT_EQ(answer(SYS_sendmsg, stream[0], &in.messages[0].msg_hdr, 0), 8);
  msghdr& one = message(64);
  in.data.fill(0);
  one.msg_control = in.control.data();
  one.msg_controllen = in.control.size();
  one.msg_name = &in.name;
  one.msg_namelen = sizeof(in.name);
  one.msg_flags = 77;
  EXPECT_EQ(answer(SYS_recvmsg, stream[1], &one, MSG_CMSG_CLOEXEC), 8);
  EXPECT_STREQ(in.data.data(), "message");
  EXPECT_EQ(one.msg_flags, MSG_CMSG_CLOEXEC);
  EXPECT_EQ(one.msg_namelen, 0u);
  ASSERT_EQ(one.msg_controllen, CMSG_SPACE(sizeof(int)));
  EXPECT_EQ(one.msg_iov, in.pieces.data()) << "its pointers are the caller's";
  int received = -1;
  std::memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&one)), sizeof(received));
  EXPECT_EQ(::close(received), 0);
}

TEST_F(PartCopiesTest, each_part_of_a_message_is_judged) {
  const auto spoiled = [&](const auto& spoil) {
    for (const long number : {SYS_sendmsg, SYS_recvmsg, SYS_sendmmsg, SYS_recvmmsg}) {
      in.messages = {};
      spoil(message());
      const bool many = number == SYS_sendmmsg || number == SYS_recvmmsg;
      EXPECT_EQ(many ? answer(number, stream[0], in.messages.data(), 1, MSG_DONTWAIT, 0)
                     : answer(number, stream[0], in.messages.data(), MSG_DONTWAIT),
                -EFAULT)
          << number;
    }
  };
  spoiled([&](msghdr&) { in.pieces[0] = {wild, 1}; });
  spoiled([&](msghdr& one) { one.msg_iov = reinterpret_cast<iovec*>(wild); });
  spoiled([&](msghdr& one) {
    one.msg_name = wild;
    one.msg_namelen = 1;
  });
  spoiled([&](msghdr& one) {  // 128 bytes, as Linux takes it.
    one.msg_name = backend.given.data() + backend.given.size() - 127;
    one.msg_namelen = UINT32_MAX;
  });
  spoiled([&](msghdr& one) {
    one.msg_control = wild;
    one.msg_controllen = 16;
  });
  spoiled([&](msghdr& one) {
    one.msg_control = in.control.data();
    one.msg_controllen = SIZE_MAX;
  });
  const std::string text = log();
  for (const char* const part : {"a piece", "a vector", "the name of a peer", "control data"}) {
    EXPECT_NE(text.find(fmt::format(": EFAULT: {} names ", part)), std::string::npos) << text;
  }
}

TEST_F(PartCopiesTest, control_data_that_may_hold_addresses_is_refused) {
  const int number = pipe[0];
  const std::array<std::uint64_t, 7> remote_read{};
  message();
  add_control(SOL_SOCKET, SCM_RIGHTS, &number, sizeof(number));
  add_control(level_of_rds, 1, remote_read.data(), sizeof(remote_read));
  EXPECT_EQ(answer(SYS_sendmsg, stream[0], &in.messages[0].msg_hdr, MSG_DONTWAIT), -EACCES);
  EXPECT_EQ(answer(SYS_sendmmsg, stream[0], in.messages.data(), 1, MSG_DONTWAIT), -EACCES);
  EXPECT_NE(log().find("control data of level 276 may hold addresses"), std::string::npos);
  // Linux refuses a message with a wrong header, and all that follows it.
  control_bytes = 0;
  const cmsghdr wrong{.cmsg_len = 3, .cmsg_level = level_of_rds, .cmsg_type = 1};
  std::memcpy(in.control.data(), &wrong, sizeof(wrong));
  EXPECT_EQ(answer(SYS_sendmsg, stream[0], &in.messages[0].msg_hdr, MSG_DONTWAIT), -EINVAL);
}

TEST_F(PartCopiesTest, control_data_is_copied_up_to_a_limit) {
  msghdr& one = message();
  one.msg_control = named.data();
  one.msg_controllen = control_bytes_max + 1;
  EXPECT_EQ(answer(SYS_sendmsg, stream[0], &one, MSG_DONTWAIT), -ENOBUFS);
}

TEST_F(PartCopiesTest, linux_gets_the_message_that_was_judged) {
  msghdr& one = message();
  one.msg_name = &in.name;
  one.msg_namelen = sizeof(in.name);
  const Request request = judged(SYS_recvmsg, stream[1], &one, 0);
  ASSERT_EQ(::write(stream[0], "12345678", 8), 8);
  const std::int64_t value = copies->make_call(request, [&](const Request& made) {
    one.msg_name = wild;
    one.msg_namelen = 99;
    one.msg_control = wild;
    one.msg_controllen = 4096;
    in.pieces[0].iov_base = wild;
    one.msg_iov = reinterpret_cast<iovec*>(wild);
    return pass_on(made);
  });
  EXPECT_EQ(value, 8);
  EXPECT_EQ(std::string(in.data.data(), 8), "12345678");
  EXPECT_EQ(one.msg_name, wild) << "pointers of the caller are left alone";
  EXPECT_EQ(one.msg_controllen, 0u) << "as Linux answers";
}

TEST_F(PartCopiesTest, several_messages_are_judged_together_and_counted) {
  for (std::size_t index = 0; index < 3; ++index) {
    in.pieces[index] = {in.data.data() + 4 * index, 4};
    in.messages[index] = {};
    in.messages[index].msg_hdr.msg_iov = &in.pieces[index];
    in.messages[index].msg_hdr.msg_iovlen = 1;
  }
  std::memcpy(in.data.data(), "aaaabbbbcccc", 12);
  int datagrams[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, datagrams), 0);
  EXPECT_EQ(answer(SYS_sendmmsg, datagrams[0], in.messages.data(), 3, 0), 3);
  EXPECT_EQ(in.messages[2].msg_len, 4u);
  in.messages[0].msg_len = in.messages[1].msg_len = in.messages[2].msg_len = 0;
  in.data.fill(0);
  EXPECT_EQ(answer(SYS_recvmmsg, datagrams[1], in.messages.data(), 3, MSG_DONTWAIT, 0), 3);
  EXPECT_EQ(std::string(in.data.data(), 12), "aaaabbbbcccc");
  EXPECT_EQ(in.messages[2].msg_len, 4u);
  in.messages[2].msg_len = 0;
  in.pieces[2].iov_base = wild;
  EXPECT_EQ(answer(SYS_sendmmsg, datagrams[0], in.messages.data(), 3, 0), -EFAULT);
  EXPECT_EQ(::recv(datagrams[1], buffer, sizeof(buffer), MSG_DONTWAIT), -1) << "none was sent";
  ::close(datagrams[0]);
  ::close(datagrams[1]);
}

TEST_F(PartCopiesTest, answers_for_a_structure_that_is_gone_are_an_error) {
  auto& one = *new (named.data()) msghdr{};
  one.msg_iov = in.pieces.data();
  in.pieces[0] = {in.data.data(), 8};
  one.msg_iovlen = 1;
  const Request request = judged(SYS_recvmsg, stream[1], &one, 0);
  const std::int64_t value = copies->make_call(request, [&](const Request&) {
    return ::mprotect(named.data(), named.size(), PROT_READ) == 0 ? 8 : -1;
  });
  EXPECT_EQ(value, -EFAULT);
}

TEST_F(PartCopiesTest, contents_of_attributes_are_judged_and_have_their_known_size) {
  calls::Content content{as_word(in.data.data()), 8, 0};
  auto& there = *reinterpret_cast<calls::Content*>(in.control.data());
  there = content;
  const char* const text = in.more.data();
  const auto request = [&](std::size_t bytes) {
    return judged(getxattrat_number, AT_FDCWD, text, 0, text, &there, bytes);
  };
  EXPECT_EQ(answer_by(request(16), 3), 3);
  EXPECT_EQ(answer_by(request(15), 3), -EINVAL);
  EXPECT_EQ(answer_by(request(17), 3), -E2BIG);
  there.address = as_word(wild);
  EXPECT_EQ(answer_by(request(16), 3), -EFAULT);
  there.bytes = 0;
  EXPECT_EQ(answer_by(request(16), 3), 3) << "Linux tells the size alone";
}

TEST_F(PartCopiesTest, the_mask_of_pselect6_is_judged) {
  in.pieces[0] = {in.data.data(), 8};
  EXPECT_EQ(answer(SYS_pselect6, 0, nullptr, nullptr, nullptr, in.more.data(), in.pieces.data()),
            0);
  in.pieces[0] = {wild, 8};
  EXPECT_EQ(answer(SYS_pselect6, 0, nullptr, nullptr, nullptr, in.more.data(), in.pieces.data()),
            -EFAULT);
  in.pieces[0] = {nullptr, 8};
  EXPECT_EQ(answer(SYS_pselect6, 0, nullptr, nullptr, nullptr, in.more.data(), in.pieces.data()),
            0);
}

TEST_F(PartCopiesTest, a_judge_without_copies_refuses) {
  CallJudge judge(backend, false, files, rules.get(), Openness::any);
  in.pieces[0] = {in.data.data(), 4};
  Request request = make(SYS_readv, pipe[0], in.pieces.data(), 1);
  EXPECT_EQ(judge(request), -EACCES);
}

}  // namespace
}  // namespace k2k::services
