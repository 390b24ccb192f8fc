// Goal: pointers within arguments lead anywhere on a strict device, as with a GPU: pieces of
// vectors, parts of messages, what a command decides. And wrong ones are one call's mistake.

#include <asm/unistd.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstring>
#include <ctime>
#include <utility>

#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::nested_calls_test {
namespace {

class NestedCalls : public DeviceUnderTest {
 protected:
  Runtime start_strict(std::uint32_t blocks = 0) {
    return start([blocks](RuntimeConfig& config) {
      config.device.strict = true;
      if (blocks != 0) config.device.arena_blocks = blocks;
    });
  }
};
K2K_EVERY_DEVICE(NestedCalls);

msghdr message_of(iovec* pieces, std::size_t count) {
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = count;
  return message;
}

TEST_P(NestedCalls, a_vector_has_pieces_in_every_kind_of_memory) {
  Runtime runtime = start_strict();
  const TemporaryFile file("0123456789abcdef");
  auto* const device = static_cast<char*>(runtime.allocate(64).value());
  auto* const shared = static_cast<char*>(runtime.allocate_shared(64).value());
  std::atomic<int> right{0};
  launch(runtime, 2, 8, [&] {
    K2K_LOCAL(char[8 * 4], local);
    char stack[4] = {};
    char* const mine = &local[item_rank() * 4];
    char* const of_device = device + global_rank() * 4;
    char* const of_host = shared + global_rank() * 4;
    iovec pieces[] = {{stack, 4}, {mine, 4}, {nullptr, 0}, {of_host, 4}, {of_device, 4}};
    bool good = k2k::preadv(k2k::work_item, file.fd, pieces, 5, 0) == 16;
    good &= std::memcmp(stack, "0123", 4) == 0 && std::memcmp(mine, "4567", 4) == 0;
    good &= std::memcmp(of_host, "89ab", 4) == 0;
    good &= std::memcmp(of_device, "cdef", 4) == 0;
    good &= pieces[0].iov_base == stack && pieces[0].iov_len == 4 && pieces[4].iov_len == 4;
    good &= k2k::pwritev(k2k::work_item, file.fd, pieces, 4, 16 * (1 + global_rank())) == 12;
    right += good;
  });
  EXPECT_EQ(right.load(), 16);
  EXPECT_EQ(file.content().substr(16 * 16, 12), "0123456789ab");
  runtime.free(device);
  runtime.free_shared(shared);
}

TEST_P(NestedCalls, a_vector_that_lies_in_memory_of_the_host_may_lead_to_the_device) {
  Runtime runtime = start_strict();
  const TemporaryFile file("0123456789");
  auto* const pieces = static_cast<iovec*>(runtime.allocate_shared(2 * sizeof(iovec)).value());
  std::array<long, 2> answers{};
  bool same = false;
  launch(runtime, 1, 1, [&] {
    char stack[8] = {};
    pieces[0] = {stack, 3};
    pieces[1] = {stack + 3, 5};
    answers[0] = k2k::preadv2(k2k::work_item, file.fd, pieces, 2, 1, 0, 0);
    same = std::memcmp(stack, "12345678", 8) == 0 && pieces[0].iov_base == stack;
    answers[1] = k2k::pwritev2(k2k::work_item, file.fd, pieces, 2, 0, 0, 0);
  });
  EXPECT_EQ(answers, (std::array<long, 2>{8, 8}));
  EXPECT_TRUE(same);
  EXPECT_EQ(file.content(), "1234567889");
  runtime.free_shared(pieces);
}

TEST_P(NestedCalls, a_read_ends_where_the_data_ends) {
  Runtime runtime = start_strict();
  const Pair pipe;
  ASSERT_EQ(::write(pipe.out(), "abcde", 5), 5);
  long answer = 0;
  std::array<char, 9> seen{};
  launch(runtime, 1, 1, [&] {
    char first[3] = {'-', '-', '-'};
    char second[6] = {'-', '-', '-', '-', '-', '-'};
    const iovec pieces[] = {{first, 3}, {second, 6}};
    answer = k2k::readv(k2k::work_item, pipe.in(), pieces, 2);
    std::memcpy(seen.data(), first, 3);
    std::memcpy(seen.data() + 3, second, 6);
  });
  EXPECT_EQ(answer, 5);
  EXPECT_EQ(std::string(seen.data(), 9), "abcde----") << "beyond the data nothing is touched";
}

TEST_P(NestedCalls, a_vector_may_be_read_over_itself) {
  Runtime runtime = start_strict();
  const TemporaryFile file(std::string(64, 'o'));
  long answer = 0;
  std::array<char, 4> behind{};
  launch(runtime, 1, 1, [&] {
    char last[4] = {};
    iovec pieces[2] = {};
    pieces[0] = {static_cast<void*>(pieces), sizeof(pieces)};
    pieces[1] = {last, 4};
    answer = k2k::preadv(k2k::work_item, file.fd, pieces, 2, 0);
    std::memcpy(behind.data(), last, 4);
  });
  EXPECT_EQ(answer, 36);
  EXPECT_EQ(std::string(behind.data(), 4), "oooo");
}

TEST_P(NestedCalls, wrong_vectors_are_refused_as_everywhere) {
  Runtime runtime = start_strict();
  const TemporaryFile file("0123456789");
  std::array<long, 9> answers{};
  launch(runtime, 1, 1, [&] {
    char stack[4] = {};
    iovec piece{stack, 4};
    const auto read = [&](const iovec* pieces, std::size_t count) {
      return k2k::preadv(k2k::work_item, file.fd, pieces, count, 0).value();
    };
    answers[0] = read(&piece, 0);
    answers[1] = read(&piece, IOV_MAX + 1);
    answers[2] = read(&piece, ~std::size_t{0});
    answers[3] = read(nullptr, 1);
    piece.iov_len = ~std::size_t{0};
    answers[4] = read(&piece, 1);
    piece.iov_len = std::size_t{1} << 63;
    answers[5] = read(&piece, 1);
    piece = {nullptr, 4};
    answers[6] = read(&piece, 1);
    const iovec wrong_behind[] = {{stack, 4}, {stack, ~std::size_t{0}}};
    answers[7] = read(wrong_behind, 2);
    answers[8] = stack[0];
  });
  EXPECT_EQ(answers, (std::array<long, 9>{0, -EINVAL, -EINVAL, -EFAULT, -EINVAL, -EINVAL, -EFAULT,
                                          -EINVAL, 0}));
}

TEST_P(NestedCalls, what_does_not_fit_a_block_is_a_part_of_a_file_and_no_message) {
  Runtime runtime = start_strict(2);
  const std::string content(20'000, 'c');
  const TemporaryFile file(content);
  const TemporaryFile target;
  const Pair stream(Pair::Kind::stream);
  auto* const memory = static_cast<char*>(runtime.allocate(20'000).value());
  std::array<long, 6> answers{};
  long wrong = 0;
  launch(runtime, 1, 1, [&] {
    iovec pieces[] = {{memory, 5'000}, {memory + 5'000, 15'000}};
    answers[0] = k2k::preadv(k2k::work_item, file.fd, pieces, 2, 0);
    for (long at = 0; at < answers[0]; ++at) wrong += memory[at] != 'c';
    answers[1] = k2k::pwritev(k2k::work_item, target.fd, pieces, 2, 0);
    msghdr message = message_of(pieces, 2);
    // More often than there are blocks: a call that is refused keeps none.
    for (int time = 0; time < 10; ++time) {
      answers[2] = k2k::sendmsg(k2k::work_item, stream.out(), &message, 0);
      answers[3] = k2k::recvmsg(k2k::work_item, stream.in(), &message, 0);
    }
    answers[4] = k2k::pwritev(k2k::work_item, k2k::detached, target.fd, pieces, 2, 0);
    iovec many[600];
    for (iovec& piece : many) piece = {memory, 1};
    answers[5] = k2k::pwritev(k2k::work_item, target.fd, many, 600, 0);
  });
  EXPECT_GT(answers[0], 5'000);
  EXPECT_LT(answers[0], 8'192);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(answers[1], answers[0]);
  EXPECT_EQ(answers[2], -EMSGSIZE);
  EXPECT_EQ(answers[3], -EMSGSIZE);
  EXPECT_EQ(answers[4], -EMSGSIZE) << "a detached write has no caller who could see a short count";
  EXPECT_GT(answers[5], 64);
  EXPECT_LT(answers[5], 600);
  runtime.free(memory);
}

TEST_P(NestedCalls, large_pieces_that_the_host_can_address_are_not_copied) {
  Runtime runtime = start_strict();
  const std::string content(100'000, 'l');
  const TemporaryFile file(content);
  auto* const shared = static_cast<char*>(runtime.allocate_shared(100'000).value());
  long answer = 0;
  launch(runtime, 1, 1, [&] {
    char first[10] = {};
    const iovec pieces[] = {{first, 10}, {shared, 90'000}};
    answer = k2k::preadv(k2k::work_item, file.fd, pieces, 2, 0);
  });
  EXPECT_EQ(answer, 90'010);
  EXPECT_EQ(shared[89'999], 'l');
  runtime.free_shared(shared);
}

TEST_P(NestedCalls, a_detached_vector_is_copied_and_a_ticket_gives_its_pieces) {
  Runtime runtime = start_strict();
  const TemporaryFile file(std::string(10, '.'));
  bool same = false;
  launch(runtime, 1, 1, [&] {
    char text[4] = {'k', '2', 'k', '!'};
    iovec pieces[] = {{text, 2}, {text + 2, 2}};
    k2k::pwritev(k2k::work_item, k2k::detached, file.fd, pieces, 2, 0);
    std::memset(text, '?', 4);
    std::memset(pieces, 0, sizeof(pieces));
  });
  EXPECT_TRUE(runtime.drain().value().empty());
  EXPECT_EQ(file.content(), "k2k!......");
  launch(runtime, 1, 1, [&] {
    char text[4] = {};
    iovec pieces[] = {{text, 1}, {text + 1, 3}};
    auto ticket = k2k::preadv(k2k::work_item, k2k::async, file.fd, pieces, 2, 0);
    same = ticket.redeem() == 4 && std::memcmp(text, "k2k!", 4) == 0;
  });
  EXPECT_TRUE(same);
}

TEST_P(NestedCalls, messages_carry_names_and_descriptors) {
  Runtime runtime = start_strict();
  const TemporaryFile file("handed on");
  const Pair stream(Pair::Kind::stream);
  std::array<long, 6> answers{};
  int received = -1;
  launch(runtime, 1, 1, [&] {
    char first[] = {'a', 'b'};
    char second[] = {'c'};
    iovec pieces[] = {{first, 2}, {second, 1}};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    cmsghdr header{};
    header.cmsg_len = CMSG_LEN(sizeof(int));
    header.cmsg_level = SOL_SOCKET;
    header.cmsg_type = SCM_RIGHTS;
    std::memcpy(control, &header, sizeof(header));
    std::memcpy(control + CMSG_LEN(0), &file.fd, sizeof(int));
    msghdr message = message_of(pieces, 2);
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    answers[0] = k2k::sendmsg(k2k::work_item, stream.out(), &message);
    std::memset(control, 0, sizeof(control));
    std::memset(first, 0, 2);
    message.msg_flags = -1;
    answers[1] = k2k::recvmsg(k2k::work_item, stream.in(), &message, MSG_CMSG_CLOEXEC);
    answers[2] = first[0] == 'a' && first[1] == 'b' && second[0] == 'c';
    answers[3] = message.msg_iov == pieces && message.msg_control == control;
    answers[4] = message.msg_flags;
    answers[5] = static_cast<long>(message.msg_controllen);
    std::memcpy(&received, control + CMSG_LEN(0), sizeof(int));
  });
  EXPECT_EQ(answers, (std::array<long, 6>{3, 3, 1, 1, MSG_CMSG_CLOEXEC, CMSG_SPACE(sizeof(int))}));
  std::array<char, 9> text{};
  EXPECT_EQ(::pread(received, text.data(), 9, 0), 9);
  EXPECT_EQ(std::string(text.data(), 9), "handed on");
  ::close(received);
}

TEST_P(NestedCalls, many_messages_tell_their_lengths) {
  Runtime runtime = start_strict();
  const Pair datagrams(Pair::Kind::datagram);
  std::array<long, 8> answers{};
  launch(runtime, 1, 1, [&] {
    char texts[2][4] = {{'o', 'n', 'e', ' '}, {'t', 'w', 'o', '!'}};
    iovec pieces[] = {{texts[0], 3}, {texts[1], 4}};
    mmsghdr messages[2] = {};
    for (int index = 0; index < 2; ++index) messages[index].msg_hdr = message_of(&pieces[index], 1);
    answers[0] = k2k::sendmmsg(k2k::work_item, datagrams.out(), messages, 2);
    answers[1] = messages[0].msg_len * 10 + messages[1].msg_len;
    std::memset(texts, 0, sizeof(texts));
    for (iovec& piece : pieces) piece.iov_len = 4;
    answers[2] = k2k::recvmmsg(k2k::work_item, datagrams.in(), messages, 2, MSG_DONTWAIT, nullptr);
    answers[3] = messages[0].msg_len * 10 + messages[1].msg_len;
    answers[4] = std::memcmp(texts[0], "one", 4) == 0 && std::memcmp(texts[1], "two!", 4) == 0;
    answers[5] = k2k::recvmmsg(k2k::work_item, datagrams.in(), messages, 2, MSG_DONTWAIT, nullptr);
    answers[6] = k2k::recvmmsg(k2k::work_item, datagrams.in(), messages, 0, 0, nullptr);
    messages[0].msg_hdr.msg_iovlen = IOV_MAX + 1;
    answers[7] = k2k::sendmmsg(k2k::work_item, datagrams.out(), messages, 1);
  });
  EXPECT_EQ(answers, (std::array<long, 8>{2, 34, 2, 34, 1, -EAGAIN, 0, -EMSGSIZE}));
}

TEST_P(NestedCalls, commands_decide_what_is_copied) {
  Runtime runtime = start_strict();
  const TemporaryFile file("0123456789");
  std::array<long, 6> answers{};
  launch(runtime, 1, 1, [&] {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_len = 5;
    answers[0] = k2k::fcntl(k2k::work_item, file.fd, F_OFD_SETLK, &lock);
    const int again = k2k::open(k2k::work_item, file.path.c_str(), O_RDWR | O_CLOEXEC).fd();
    lock.l_type = F_RDLCK;
    answers[1] = k2k::fcntl(k2k::work_item, again, F_OFD_GETLK, &lock);
    answers[2] = lock.l_type == F_WRLCK && lock.l_len == 5;
    answers[3] = k2k::fcntl(k2k::work_item, again, F_GETFD);
    answers[4] = k2k::fcntl(k2k::work_item, again, F_SETFD, 0);
    answers[5] = k2k::fcntl(k2k::work_item, again, 9999, 77);
    k2k::close(k2k::work_item, again);
  });
  EXPECT_EQ(answers, (std::array<long, 6>{0, 0, 1, FD_CLOEXEC, 0, -EINVAL}));
}

TEST_P(NestedCalls, system_v_messages_and_semaphores_travel) {
  const int queue = ::msgget(IPC_PRIVATE, 0600);
  const int set = ::semget(IPC_PRIVATE, 3, 0600);
  if (queue < 0 || set < 0) GTEST_SKIP() << "no System V objects here";
  Runtime runtime = start_strict();
  std::array<long, 9> answers{};
  launch(runtime, 1, 1, [&] {
    struct Letter {
      long type;
      char text[8];
    };
    Letter letter{7, {'h', 'e', 'l', 'l', 'o'}};
    answers[0] = k2k::msgsnd(k2k::work_item, queue, &letter, 5);
    letter = {0, {'-', '-', '-', '-', '-', '-'}};
    answers[8] = k2k::msgrcv(k2k::work_item, queue, &letter, ~std::size_t{0}, 0);
    answers[1] = k2k::msgrcv(k2k::work_item, queue, &letter, 8, 0);
    answers[2] = letter.type == 7 && std::memcmp(letter.text, "hello-", 6) == 0;
    std::uint16_t values[4] = {3, 4, 5, 77};
    answers[3] = k2k::semctl(k2k::work_item, set, 0, SETALL, values, 3);
    std::memset(values, 0, sizeof(values));
    answers[4] = k2k::semctl(k2k::work_item, set, 0, GETALL, values, 4);
    answers[5] = values[0] * 100 + values[1] * 10 + values[2] + values[3];
    answers[6] = k2k::semctl(k2k::work_item, set, 0, GETALL, values, 2);
    answers[7] = k2k::semctl(k2k::work_item, set, 0, GETALL, values);
  });
  EXPECT_EQ(answers, (std::array<long, 9>{0, 5, 1, 0, 0, 345, -ERANGE, -EFAULT, -EINVAL}));
  ::msgctl(queue, IPC_RMID, nullptr);
  ::semctl(set, 0, IPC_RMID);
}

TEST_P(NestedCalls, sets_of_descriptors_travel) {
  Runtime runtime = start_strict();
  const Pair pipe;
  std::array<long, 6> answers{};
  launch(runtime, 1, 1, [&] {
    fd_set readable;
    fd_set writable;
    FD_ZERO(&readable);
    FD_ZERO(&writable);
    FD_SET(pipe.in(), &readable);
    FD_SET(pipe.out(), &writable);
    const int end = (pipe.in() > pipe.out() ? pipe.in() : pipe.out()) + 1;
    timeval none{0, 0};
    answers[0] = k2k::select(k2k::work_item, end, &readable, &writable, nullptr, &none);
    answers[1] = FD_ISSET(pipe.in(), &readable) ? 1 : 0;
    answers[2] = FD_ISSET(pipe.out(), &writable) ? 1 : 0;
    std::uint64_t mask = 0;
    const iovec given{&mask, sizeof(mask)};
    timespec zero{0, 0};
    answers[3] = k2k::pselect6(k2k::work_item, end, nullptr, &writable, nullptr, &zero, &given);
    answers[4] = k2k::select(k2k::work_item, -1, &readable, nullptr, nullptr, &none);
    answers[5] = k2k::select(k2k::work_item, 100'000, &readable, nullptr, nullptr, &none);
  });
  EXPECT_EQ(answers, (std::array<long, 6>{1, 0, 1, 1, -EINVAL, -EMSGSIZE}));
}

TEST_P(NestedCalls, texts_that_are_too_long_together_are_refused) {
  Runtime runtime = start_strict(2);
  auto* const long_text = static_cast<char*>(runtime.allocate(4000).value());
  std::memset(long_text, 't', 3999);
  long_text[3999] = '\0';
  std::array<long, 3> answers{};
  launch(runtime, 1, 1, [&] {
    char type[] = "k2k-none";
    for (int time = 0; time < 10; ++time) {
      answers[0] = k2k::mount(k2k::work_item, long_text, long_text, type, 0, long_text);
    }
    char folder[] = "/tmp";
    answers[1] = k2k::mount(k2k::work_item, type, folder, type, 0, long_text);
    answers[2] = k2k::request_key(k2k::work_item, type, long_text, nullptr, 0);
  });
  EXPECT_EQ(answers[0], -EMSGSIZE);
  EXPECT_TRUE(answers[1] == -ENODEV || answers[1] == -EPERM) << answers[1];
  EXPECT_LT(answers[2], 0);
  EXPECT_NE(answers[2], -EFAULT);
  runtime.free(long_text);
}

TEST_P(NestedCalls, refused_calls_have_wrappers_that_answer_eperm) {
  Runtime runtime = start();
  std::array<long, 4> answers{};
  launch(runtime, 1, 1, [&] {
    char byte = 0;
    const iovec piece{&byte, 1};
    answers[0] = k2k::kill(k2k::work_item, 1, 0);
    answers[1] = k2k::alarm(k2k::work_item, 1000);
    answers[2] = k2k::wait4(k2k::work_item, -1, nullptr, 1);
    answers[3] = k2k::process_vm_writev(k2k::work_item, 1, &piece, 1, &piece, 1);
  });
  EXPECT_EQ(answers, (std::array<long, 4>{-EPERM, -EPERM, -EPERM, -EPERM}));
}

}  // namespace
}  // namespace k2k::conformance::nested_calls_test
