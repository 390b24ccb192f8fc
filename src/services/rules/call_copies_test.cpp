// Goal: under a policy that names memory, calls whose structures have a form of their own work
// within the ranges, and lead nowhere else: not by a structure that changes between judgement and
// call, not by a count, a sum or the last element.
// Method: real sockets, pipes, futexes, queues and keys; the test changes the structures as a
// kernel could.

#include "services/rules/call_copies.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string>

#include "services/raw.hpp"
#include "services/rules/copies_fixture.hpp"

namespace k2k::services {
namespace {

constexpr std::uint16_t requeue_number = 456;
constexpr std::uint64_t far = std::uint64_t{1} << 40;

// Memory of the kernel, as this file uses it.
struct OwnForms {
  std::array<futex_waitv, 130> waiters;
  std::array<iovec, 4> pieces;
  std::array<iovec, 4> from;
  std::array<std::uint32_t, 4> words;
  std::array<char, 64> data;
  std::array<char, 64> more;
  sigevent event;
  keyctl_pkey_params sizes;
  timespec moment;
  std::int32_t value;
  std::int32_t length;
};

class CallCopiesTest : public CopiesTest {
 protected:
  void SetUp() override {
    CopiesTest::SetUp();
    make_copies({.of_kernels = true}, sizeof(OwnForms));
    ASSERT_EQ(::fcntl(pipe[0], F_SETFL, O_NONBLOCK), 0);
  }

  template <class... Arguments>
  std::int64_t judged_by(std::int64_t value, long number, Arguments... arguments) {
    Request request = make(static_cast<std::uint16_t>(number), arguments...);
    const std::int64_t refused = judge(request);
    return refused != 0 ? refused : answer_by(request, value);
  }
  // What a structure names between judgement and call changes to memory of the program.
  template <class Change>
  std::int64_t attacked(const Request& request, const Change& change) {
    return copies->make_call(request, [&](const Request& made) {
      change();
      return pass_on(made);
    });
  }
  std::int64_t option(int descriptor, int level, int name, void* content, void* length) {
    return answer(SYS_getsockopt, descriptor, level, name, content, length);
  }
  void wait_for(std::size_t index, void* word, std::uint32_t value = 0) {
    in.waiters[index] = {};
    in.waiters[index].uaddr = as_word(word);
    in.waiters[index].val = value;
    in.waiters[index].flags = FUTEX_32 | FUTEX_PRIVATE_FLAG;
  }

  OwnForms& in = *new (backend.given.data()) OwnForms{};
  char* const end = backend.given.data() + backend.given.size();
};

// -- options of sockets ---------------------------------------------------------------------------

TEST_F(CallCopiesTest, options_are_set_and_read_as_linux_does) {
  const int tcp = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(tcp, 0);
  in.value = 1;
  EXPECT_EQ(answer(SYS_setsockopt, tcp, SOL_SOCKET, SO_REUSEADDR, &in.value, 4), 0);
  EXPECT_EQ(answer(SYS_setsockopt, tcp, IPPROTO_TCP, TCP_NODELAY, &in.value, 4), 0);
  EXPECT_EQ(answer(SYS_setsockopt, tcp, IPPROTO_IP, IP_TOS, &in.value, 4), 0);
  in.value = 77;
  in.length = 4;
  EXPECT_EQ(option(tcp, IPPROTO_TCP, TCP_NODELAY, &in.value, &in.length), 0);
  EXPECT_EQ(in.value, 1);
  in.length = 64;
  in.data.fill('d');
  EXPECT_EQ(option(tcp, SOL_SOCKET, SO_TYPE, in.data.data(), &in.length), 0);
  EXPECT_EQ(in.length, 4);
  EXPECT_EQ(in.data[4], 'd') << "Linux wrote 4 bytes";
  in.length = 1;
  EXPECT_EQ(option(tcp, SOL_SOCKET, SO_TYPE, in.data.data(), &in.length), 0);
  EXPECT_EQ(in.length, 1);
  EXPECT_EQ(answer(SYS_setsockopt, tcp, SOL_SOCKET, SO_REUSEADDR, &in.value, 3), -EINVAL);
  EXPECT_EQ(answer(SYS_setsockopt, tcp, SOL_SOCKET, SO_REUSEADDR, nullptr, 4), -EFAULT);
  EXPECT_EQ(answer(SYS_setsockopt, pipe[0], SOL_SOCKET, SO_REUSEADDR, &in.value, 4), -ENOTSOCK);
  in.length = 4;
  EXPECT_EQ(option(tcp, SOL_SOCKET, SO_TYPE, nullptr, &in.length), -EFAULT);
  EXPECT_EQ(option(tcp, SOL_SOCKET, SO_TYPE, &in.value, nullptr), -EFAULT);
  EXPECT_EQ(log(), "");
  ::close(tcp);
}

TEST_F(CallCopiesTest, options_lead_to_no_other_memory) {
  in.length = 4;
  EXPECT_EQ(option(stream[0], SOL_SOCKET, SO_TYPE, wild, &in.length), -EFAULT);
  EXPECT_EQ(option(stream[0], SOL_SOCKET, SO_TYPE, end - 3, &in.length), -EFAULT);
  EXPECT_EQ(
      option(stream[0], SOL_SOCKET, SO_TYPE, reinterpret_cast<void*>(UINT64_MAX - 1), &in.length),
      -EFAULT);
  EXPECT_EQ(option(stream[0], SOL_SOCKET, SO_TYPE, backend.constants.data(), &in.length), -EFAULT);
  EXPECT_EQ(option(stream[0], SOL_SOCKET, SO_TYPE, &in.value, wild), -EFAULT);
  EXPECT_EQ(option(stream[0], SOL_SOCKET, SO_TYPE, &in.value, end - 3), -EFAULT);
  for (const std::int32_t length : {INT32_MAX, 1 << 30}) {
    in.length = length;
    EXPECT_EQ(option(stream[0], SOL_SOCKET, SO_TYPE, &in.value, &in.length), -EFAULT);
    EXPECT_EQ(in.length, length);
  }
  for (const std::int32_t length : {-1, INT32_MIN}) {
    in.length = length;
    EXPECT_EQ(option(stream[0], SOL_SOCKET, SO_TYPE, &in.value, &in.length), -EINVAL);
  }
  for (const long length : {-1L, long{INT32_MIN}, 1L << 31}) {
    EXPECT_EQ(answer(SYS_setsockopt, stream[0], SOL_SOCKET, SO_SNDBUF, &in.value, length), -EINVAL);
  }
  EXPECT_EQ(answer(SYS_setsockopt, stream[0], SOL_SOCKET, SO_SNDBUF, wild, 4), -EFAULT);
  EXPECT_EQ(answer(SYS_setsockopt, stream[0], SOL_SOCKET, SO_SNDBUF, end - 3, 4), -EFAULT);
  EXPECT_EQ(answer(SYS_setsockopt, stream[0], SOL_SOCKET, SO_SNDBUF, &in.value, INT32_MAX),
            -EFAULT);
}

TEST_F(CallCopiesTest, linux_gets_the_length_that_was_judged) {
  in.length = 4;
  const Request request =
      judged(SYS_getsockopt, stream[0], SOL_SOCKET, SO_PEERCRED, end - 4, &in.length);
  EXPECT_EQ(attacked(request, [&] { in.length = 4096; }), 0);
  EXPECT_EQ(in.length, 4) << "as Linux answers";
}

// Their values hold addresses, measure themselves, or let Linux keep pages.
TEST_F(CallCopiesTest, options_that_lead_further_are_refused) {
  constexpr int replace_tables = 64;  // IPT_SO_SET_REPLACE, IP6T_SO_SET_REPLACE
  constexpr int zerocopy_receive = 35;
  constexpr int filter_of_group = 48;  // MCAST_MSFILTER
  constexpr int level_of_packets = 263;
  constexpr int level_of_xdp = 283;
  const std::array<std::array<int, 2>, 11> led_further = {{{SOL_SOCKET, SO_ATTACH_FILTER},
                                                           {SOL_SOCKET, 51},
                                                           {SOL_SOCKET, SO_ZEROCOPY},
                                                           {SOL_SOCKET, 9999},
                                                           {IPPROTO_IP, replace_tables},
                                                           {IPPROTO_IP, filter_of_group},
                                                           {IPPROTO_IPV6, replace_tables},
                                                           {IPPROTO_TCP, zerocopy_receive},
                                                           {level_of_packets, 22},
                                                           {level_of_xdp, 4},
                                                           {-1, 1}}};
  for (const auto& [level, name] : led_further) {
    in.length = 4;
    EXPECT_EQ(option(stream[0], level, name, &in.value, &in.length), -EACCES)
        << level << ' ' << name;
    EXPECT_EQ(answer(SYS_setsockopt, stream[0], level, name, &in.value, 4), -EACCES);
  }
  EXPECT_NE(log().find("getsockopt: EACCES: the option of the socket may hold addresses"),
            std::string::npos)
      << log();
}

// -- futexes --------------------------------------------------------------------------------------

TEST_F(CallCopiesTest, words_are_waited_for_together) {
  if (raw(SYS_futex_waitv, nullptr, 0, 0, nullptr, 0) == -ENOSYS) GTEST_SKIP() << "no futex_waitv";
  wait_for(0, &in.words[0]);
  wait_for(1, &in.words[1], 1);
  EXPECT_EQ(answer(SYS_futex_waitv, in.waiters.data(), 2, 0, nullptr, CLOCK_MONOTONIC), -EAGAIN)
      << "a word has another value";
  wait_for(1, &in.words[1]);
  in.moment = {.tv_sec = 0, .tv_nsec = 1};
  EXPECT_EQ(answer(SYS_futex_waitv, in.waiters.data(), 2, 0, &in.moment, CLOCK_MONOTONIC),
            -ETIMEDOUT);
  EXPECT_EQ(answer(SYS_futex_waitv, in.waiters.data(), 0, 0, nullptr, CLOCK_MONOTONIC), -EINVAL);
  EXPECT_EQ(answer(SYS_futex_waitv, in.waiters.data(), 2, 1, nullptr, CLOCK_MONOTONIC), -EINVAL);
  EXPECT_EQ(log(), "");
}

TEST_F(CallCopiesTest, each_word_is_judged) {
  for (void* const bad : {static_cast<void*>(wild), static_cast<void*>(end - 3),
                          reinterpret_cast<void*>(UINT64_MAX - 1), static_cast<void*>(nullptr)}) {
    for (std::size_t index = 0; index < 3; ++index) wait_for(index, &in.words[index]);
    wait_for(2, bad);
    EXPECT_EQ(answer(SYS_futex_waitv, in.waiters.data(), 3, 0, nullptr, CLOCK_MONOTONIC), -EFAULT);
    EXPECT_EQ(answer(requeue_number, &in.waiters[1], 0, 1, 1), -EFAULT);
  }
  // The number of a node behind the word, to which Linux writes.
  wait_for(0, end - 4);
  in.waiters[0].flags |= 4;
  EXPECT_EQ(answer(SYS_futex_waitv, in.waiters.data(), 1, 0, nullptr, CLOCK_MONOTONIC), -EFAULT);
  for (const std::uint64_t count : {std::uint64_t{129}, (std::uint64_t{1} << 32) + 1,
                                    std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    const auto value =
        answer(SYS_futex_waitv, in.waiters.data(), count, 0, nullptr, CLOCK_MONOTONIC);
    EXPECT_TRUE(value == -EINVAL || value == -EFAULT) << count << ": " << value;
  }
  EXPECT_EQ(answer(SYS_futex_waitv, wild, 1, 0, nullptr, CLOCK_MONOTONIC), -EFAULT);
  EXPECT_EQ(answer(SYS_futex_waitv, in.waiters.data(), 1, 0, wild, CLOCK_MONOTONIC), -EFAULT);
}

TEST_F(CallCopiesTest, linux_gets_the_words_that_were_judged) {
  if (raw(SYS_futex_waitv, nullptr, 0, 0, nullptr, 0) == -ENOSYS) GTEST_SKIP() << "no futex_waitv";
  wait_for(0, &in.words[0], 1);
  const Request request =
      judged(SYS_futex_waitv, in.waiters.data(), 1, 0, nullptr, CLOCK_MONOTONIC);
  // Linux would wait for the changed word, and would not answer.
  EXPECT_EQ(attacked(request,
                     [&] {
                       std::uint32_t as_it_is = 0;
                       std::memcpy(&as_it_is, wild, sizeof(as_it_is));
                       wait_for(0, wild, as_it_is);
                     }),
            -EAGAIN);
}

// -- pieces of pipes ------------------------------------------------------------------------------

TEST_F(CallCopiesTest, pieces_are_spliced_into_and_out_of_pipes) {
  in.data.fill('d');
  in.pieces = {{{in.data.data(), 4}, {nullptr, 0}, {backend.constants.data(), 4}}};
  EXPECT_EQ(answer(SYS_vmsplice, pipe[1], in.pieces.data(), 3, 0), 8);
  in.pieces = {{{in.more.data(), 3}, {in.words.data(), 16}}};
  EXPECT_EQ(answer(SYS_vmsplice, pipe[0], in.pieces.data(), 2, SPLICE_F_NONBLOCK), 8);
  EXPECT_EQ(std::string(in.more.data(), 3), "ddd");
  EXPECT_EQ(in.words[3], 0u);
  EXPECT_EQ(answer(SYS_vmsplice, pipe[0], in.pieces.data(), 2, SPLICE_F_NONBLOCK), -EAGAIN);
  EXPECT_EQ(answer(SYS_vmsplice, stream[0], in.pieces.data(), 2, 0), -EBADF);
  EXPECT_EQ(answer(SYS_vmsplice, -1, in.pieces.data(), 2, 0), -EBADF);
  EXPECT_EQ(answer(SYS_vmsplice, pipe[1], in.pieces.data(), 0, 0), 0);
  EXPECT_EQ(log(), "");
}

// A full pipe takes a part, as ever.
TEST_F(CallCopiesTest, more_than_a_pipe_holds_is_spliced_in_parts) {
  in.pieces.fill({backend.given.data(), backend.given.size()});
  const int room = ::fcntl(pipe[1], F_SETPIPE_SZ, 4096);
  ASSERT_EQ(room, 4096);
  EXPECT_EQ(answer(SYS_vmsplice, pipe[1], in.pieces.data(), 4, 0), room);
  EXPECT_EQ(answer(SYS_vmsplice, pipe[1], in.pieces.data(), 4, SPLICE_F_NONBLOCK), -EAGAIN);
}

// Of memory that the caller no longer has, too.
TEST_F(CallCopiesTest, a_pipe_keeps_no_page_of_the_caller) {
  std::memcpy(in.data.data(), "before", 7);
  in.pieces[0] = {in.data.data(), 7};
  EXPECT_EQ(answer(SYS_vmsplice, pipe[1], in.pieces.data(), 1, 0), 7);
  std::memcpy(in.data.data(), "behind", 7);
  ASSERT_EQ(::read(pipe[0], buffer, sizeof(buffer)), 7);
  EXPECT_STREQ(buffer, "before");
}

TEST_F(CallCopiesTest, each_spliced_piece_is_judged) {
  ASSERT_EQ(::write(pipe[1], "0123", 4), 4);
  const iovec bad[] = {{wild, 1},
                       {end - 1, 2},
                       {in.data.data(), SIZE_MAX},
                       {in.data.data(), far},
                       {reinterpret_cast<void*>(UINTPTR_MAX), 2},
                       {nullptr, 1}};
  for (const iovec& piece : bad) {
    for (const int descriptor : {pipe[0], pipe[1]}) {
      in.pieces = {{{in.data.data(), 1}, {in.data.data(), 1}, {in.data.data(), 1}, piece}};
      EXPECT_EQ(answer(SYS_vmsplice, descriptor, in.pieces.data(), 4, SPLICE_F_NONBLOCK), -EFAULT);
    }
  }
  in.pieces[0] = {backend.constants.data(), 1};
  EXPECT_EQ(answer(SYS_vmsplice, pipe[0], in.pieces.data(), 1, SPLICE_F_NONBLOCK), -EFAULT);
  for (const std::uint64_t count : {std::uint64_t{1025}, (std::uint64_t{1} << 32) + 1}) {
    const auto value = answer(SYS_vmsplice, pipe[1], in.pieces.data(), count, 0);
    EXPECT_TRUE(value == -EINVAL || value == -EFAULT) << count << ": " << value;
  }
  EXPECT_EQ(::read(pipe[0], buffer, sizeof(buffer)), 4) << "nothing was taken, nothing added";
}

TEST_F(CallCopiesTest, linux_gets_the_pieces_that_were_judged) {
  ASSERT_EQ(::write(pipe[1], "0123", 4), 4);
  in.pieces[0] = {in.data.data(), 4};
  const Request out = judged(SYS_vmsplice, pipe[0], in.pieces.data(), 1, 0);
  EXPECT_EQ(attacked(out, [&] { in.pieces[0] = {wild, 4}; }), 4);
  EXPECT_EQ(std::string(in.data.data(), 4), "0123");
  in.pieces[0] = {in.data.data(), 4};
  const Request into = judged(SYS_vmsplice, pipe[1], in.pieces.data(), 1, 0);
  EXPECT_EQ(attacked(into, [&] { in.pieces[0] = {wild, 4}; }), 4);
  ASSERT_EQ(::read(pipe[0], buffer, sizeof(buffer)), 4);
  EXPECT_EQ(std::string(buffer, 4), "0123");
}

// The other end of the pipe takes the number of the judged one.
TEST_F(CallCopiesTest, a_descriptor_that_changes_leads_nowhere_else) {
  const int end_of_pipe = ::dup(pipe[1]);
  ASSERT_EQ(::write(pipe[1], "0123", 4), 4);
  in.data.fill('d');
  in.pieces[0] = {backend.constants.data(), 4};
  const Request into = judged(SYS_vmsplice, end_of_pipe, in.pieces.data(), 1, 0);
  EXPECT_EQ(attacked(into, [&] { ::dup2(pipe[0], end_of_pipe); }), 4) << "bytes are lost";
  in.pieces[0] = {in.data.data(), 4};
  const Request out = judged(SYS_vmsplice, end_of_pipe, in.pieces.data(), 1, 0);
  EXPECT_EQ(attacked(out, [&] { ::dup2(pipe[1], end_of_pipe); }), 4);
  ASSERT_EQ(::read(pipe[0], buffer, sizeof(buffer)), 4);
  EXPECT_EQ(std::string(buffer, 4), std::string(4, '\0')) << "of the copy";
  ::close(end_of_pipe);
}

// -- memory of processes --------------------------------------------------------------------------

TEST_F(CallCopiesTest, memory_of_this_process_is_read_within_the_ranges) {
  std::memcpy(in.data.data(), "01234567", 8);
  in.from = {{{in.data.data(), 4}, {in.data.data() + 4, 4}}};
  in.pieces[0] = {in.more.data(), 8};
  EXPECT_EQ(answer(SYS_process_vm_readv, ::getpid(), in.pieces.data(), 1, in.from.data(), 2, 0), 8);
  EXPECT_EQ(std::string(in.more.data(), 8), "01234567");
  EXPECT_EQ(log(), "");
}

TEST_F(CallCopiesTest, memory_of_processes_is_judged_on_both_sides) {
  const auto moved = [&](int process, std::uint64_t count, std::uint64_t from_count) {
    return answer(SYS_process_vm_readv, process, in.pieces.data(), count, in.from.data(),
                  from_count, 0);
  };
  const int own = ::getpid();
  in.pieces[0] = {in.more.data(), 8};
  for (const iovec& bad : {iovec{wild, 4}, iovec{end - 1, 4}, iovec{in.data.data(), SIZE_MAX},
                           iovec{reinterpret_cast<void*>(UINTPTR_MAX), 2}}) {
    in.from = {{{in.data.data(), 4}, bad}};
    EXPECT_EQ(moved(own, 1, 2), -EFAULT);
  }
  in.from[0] = {in.data.data(), 4};
  in.pieces[0] = {wild, 4};
  EXPECT_EQ(moved(own, 1, 1), -EFAULT);
  in.pieces[0] = {in.more.data(), 4};
  EXPECT_EQ(moved(own, 1, 1025), -EFAULT) << "elements beyond the ranges";
  EXPECT_EQ(moved(own, 1, (std::uint64_t{1} << 60) + 1), -EFAULT);
  for (const int other : {::getppid(), 0, -1, 1}) EXPECT_EQ(moved(other, 1, 1), -EACCES) << other;
  EXPECT_NE(log().find("name no memory of another process"), std::string::npos) << log();
  const Request request =
      judged(SYS_process_vm_readv, own, in.pieces.data(), 1, in.from.data(), 1, 0);
  std::memcpy(in.data.data(), "0123", 4);
  EXPECT_EQ(attacked(request,
                     [&] {
                       in.from[0] = {wild, 4};
                       in.pieces[0] = {wild, 4};
                     }),
            4);
  EXPECT_EQ(std::string(in.more.data(), 4), "0123");
  EXPECT_EQ(answer(SYS_process_vm_writev, own, in.pieces.data(), 1, in.from.data(), 1, 0), -EPERM)
      << "under every policy";
}

// -- queues ---------------------------------------------------------------------------------------

TEST_F(CallCopiesTest, events_of_queues_are_copied_and_their_cookie_is_judged) {
  in.event.sigev_notify = SIGEV_NONE;
  in.event.sigev_value.sival_ptr = wild;
  EXPECT_EQ(answer(SYS_mq_notify, -1, &in.event), -EBADF) << "a value of the program's handler";
  EXPECT_EQ(answer(SYS_mq_notify, -1, nullptr), -EBADF);
  in.event.sigev_notify = SIGEV_THREAD;
  EXPECT_EQ(answer(SYS_mq_notify, -1, &in.event), -EFAULT);
  in.event.sigev_value.sival_ptr = end - 31;
  EXPECT_EQ(answer(SYS_mq_notify, -1, &in.event), -EFAULT);
  EXPECT_EQ(answer(SYS_mq_notify, -1, wild), -EFAULT);
  in.event.sigev_value.sival_ptr = end - 32;
  Request request = judged(SYS_mq_notify, -1, &in.event);
  const auto seen = copies->make_call(request, [&](const Request& made) -> std::int64_t {
    in.event.sigev_value.sival_ptr = wild;
    sigevent event{};
    std::memcpy(&event, reinterpret_cast<const void*>(made.arguments[1]), sizeof(event));
    return event.sigev_value.sival_ptr == end - 32 ? 0 : -1;
  });
  EXPECT_EQ(seen, 0) << "the changed one";
}

// -- keys -----------------------------------------------------------------------------------------

TEST_F(CallCopiesTest, operations_on_keys_work_with_plain_buffers) {
  const auto missing = answer(SYS_keyctl, KEYCTL_CAPABILITIES, in.data.data(), in.data.size());
  if (missing == -ENOSYS || missing == -EPERM) GTEST_SKIP() << "no keys here: " << missing;
  EXPECT_GT(missing, 0);
  EXPECT_EQ(log(), "");
}

TEST_F(CallCopiesTest, operations_on_keys_lead_to_no_other_memory) {
  for (const int operation :
       {KEYCTL_DESCRIBE, KEYCTL_READ, KEYCTL_GET_SECURITY, KEYCTL_UPDATE, KEYCTL_INSTANTIATE}) {
    EXPECT_EQ(judged_by(5, SYS_keyctl, operation, 7, in.data.data(), 64), 5) << operation;
    EXPECT_EQ(judged_by(5, SYS_keyctl, operation, 7, wild, 1), -EFAULT) << operation;
    EXPECT_EQ(judged_by(5, SYS_keyctl, operation, 7, end - 1, 2), -EFAULT) << operation;
    EXPECT_EQ(judged_by(5, SYS_keyctl, operation, 7, in.data.data(), SIZE_MAX), -EFAULT);
  }
  EXPECT_EQ(judged_by(5, SYS_keyctl, KEYCTL_SEARCH, 7, in.data.data(), wild), -EFAULT);
  EXPECT_EQ(judged_by(5, SYS_keyctl, KEYCTL_REVOKE, wild), 5) << "a number";
  EXPECT_EQ(judged_by(5, SYS_keyctl, KEYCTL_DH_COMPUTE, &in.data, in.more.data(), 64, 0), 5);
  EXPECT_EQ(judged_by(5, SYS_keyctl, KEYCTL_DH_COMPUTE, &in.data, in.more.data(), 64, &in.value),
            -EACCES)
      << "with addresses of its own";
  EXPECT_EQ(judged_by(5, SYS_keyctl, 33, in.data.data()), -EACCES) << "of a later Linux";
  EXPECT_EQ(judged_by(5, SYS_keyctl, UINT32_MAX, in.data.data()), -EACCES);
}

TEST_F(CallCopiesTest, pieces_and_sizes_of_keys_are_judged) {
  in.pieces = {{{in.data.data(), 4}, {in.more.data(), 4}}};
  EXPECT_EQ(judged_by(5, SYS_keyctl, KEYCTL_INSTANTIATE_IOV, 7, in.pieces.data(), 2), 5);
  in.pieces[1] = {wild, 1};
  EXPECT_EQ(judged_by(5, SYS_keyctl, KEYCTL_INSTANTIATE_IOV, 7, in.pieces.data(), 2), -EFAULT);
  EXPECT_EQ(judged_by(5, SYS_keyctl, KEYCTL_INSTANTIATE_IOV, 7, in.pieces.data(), far), -EINVAL);
  in.sizes.in_len = 8;
  in.sizes.out_len = 16;
  const auto with = [&](int operation, const void* input, const void* output) {
    return judged_by(5, SYS_keyctl, operation, &in.sizes, in.more.data(), input, output);
  };
  for (const int operation : {KEYCTL_PKEY_ENCRYPT, KEYCTL_PKEY_DECRYPT, KEYCTL_PKEY_SIGN}) {
    EXPECT_EQ(with(operation, in.data.data(), in.more.data()), 5);
    EXPECT_EQ(with(operation, backend.constants.data(), in.more.data()), 5);
    EXPECT_EQ(with(operation, in.data.data(), backend.constants.data()), -EFAULT);
    EXPECT_EQ(with(operation, end - 7, in.more.data()), -EFAULT);
    EXPECT_EQ(with(operation, in.data.data(), end - 15), -EFAULT);
  }
  EXPECT_EQ(with(KEYCTL_PKEY_VERIFY, in.data.data(), backend.constants.data()), 5) << "it is read";
  EXPECT_EQ(with(KEYCTL_PKEY_VERIFY, in.data.data(), end - 15), -EFAULT);
  in.sizes.out_len = UINT32_MAX;
  EXPECT_EQ(with(KEYCTL_PKEY_SIGN, in.data.data(), in.more.data()), -EFAULT);
  in.sizes.out_len = 16;
  const Request request =
      judged(SYS_keyctl, KEYCTL_PKEY_SIGN, &in.sizes, in.more.data(), in.data.data(), end - 16);
  const auto size = copies->make_call(request, [&](const Request& made) -> std::int64_t {
    in.sizes.out_len = UINT32_MAX;
    return reinterpret_cast<const keyctl_pkey_params*>(made.arguments[1])->out_len;
  });
  EXPECT_EQ(size, 16) << "the changed one";
}

}  // namespace
}  // namespace k2k::services
