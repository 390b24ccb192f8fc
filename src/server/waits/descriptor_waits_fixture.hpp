#pragma once
// For tests: a whole wait on one thread; calls that wait for a pipe, a stream or a listening
// socket.
//
// Threading: the test's.

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "calls/rows.hpp"
#include "router/door/files.hpp"
#include "server/waits/descriptor_waits.hpp"

namespace k2k::server {

inline void wait_once(DescriptorWaits& waits, int wake, DescriptorWaits::Round& round) {
  waits.begin_wait(wake, round);
  waits.block();
  waits.end_wait(round);
}

class DescriptorWaitsTest : public testing::Test {
 protected:
  using Answers = std::vector<std::pair<int, std::int64_t>>;  // Lane and value.

  void SetUp() override {
    wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream), 0);
  }
  void TearDown() override {
    for (const int fd : {wake, pipe[0], pipe[1], stream[0], stream[1]}) ::close(fd);
  }

  // Tries a call once and adds it: it would wait.
  template <class... Arguments>
  void begin(std::uint8_t lane, std::uint16_t number, Arguments... arguments) {
    begin_flagged(lane, 0, number, arguments...);
  }
  template <class... Arguments>
  void begin_flagged(std::uint8_t lane, std::uint8_t flags, std::uint16_t number,
                     Arguments... arguments) {
    add(tried(lane, flags, number, arguments...));
  }
  template <class... Arguments>
  Pending tried(std::uint8_t lane, std::uint8_t flags, std::uint16_t number,
                Arguments... arguments) {
    Pending call;
    call.request.lane = lane;
    call.request.number = number;
    call.request.row = static_cast<std::int16_t>(calls::find(number));
    call.request.attributes.flags = flags;
    int index = 0;
    ((call.request.arguments[index++] = (std::uint64_t)(arguments)), ...);
    const services::Answer answer =
        services::execute_without_waiting(call.request, call.progress, files);
    EXPECT_TRUE(answer.would_wait);
    EXPECT_TRUE(answer.readiness.descriptor >= 0 || answer.readiness.several);
    call.readiness = answer.readiness;
    return call;
  }
  void sleep(std::uint8_t lane, Instant end, std::uint8_t flags = 0) {
    Pending call;
    call.request.lane = lane;
    call.request.number = __NR_nanosleep;
    call.request.attributes.flags = flags;
    call.readiness.moment = end;
    add(call);
  }
  void add(const Pending& call) {
    DescriptorWaits::Round result;
    waits.add(call, now(), result);
    EXPECT_TRUE(result.for_pool.empty());
    const Answers ended = told(result.answered);
    at_once.insert(at_once.end(), ended.begin(), ended.end());
  }
  // The answers of one round, in order.
  Answers round() {
    DescriptorWaits::Round result;
    wait_once(waits, wake, result);
    EXPECT_TRUE(result.for_pool.empty());
    return told(result.answered);
  }
  // Runs rounds until a call is answered.
  Answers rounds() {
    const Instant patience = now() + std::chrono::seconds(20);
    Answers answers;
    while (answers.empty() && now() < patience) answers = round();
    return answers;
  }
  static Answers told(const std::vector<DescriptorWaits::Answered>& answered) {
    Answers answers;
    for (const auto& one : answered) answers.emplace_back(one.call.request.lane, one.value);
    return answers;
  }
  // A socket that listens, and connections to it.
  int listens() {
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un nowhere{AF_UNIX, {}};
    EXPECT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&nowhere), sizeof(sa_family_t)),
              0);
    EXPECT_EQ(::listen(listener, 1'000), 0);
    name_bytes = sizeof(name);
    EXPECT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&name), &name_bytes), 0);
    return listener;
  }
  [[nodiscard]] int connected() const {
    const int peer = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(peer, reinterpret_cast<const sockaddr*>(&name), name_bytes), 0);
    return peer;
  }
  void ring() const {
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(wake, &one, sizeof(one)), 8);
  }

  // Closes all epoll sets of the process but `kept`.
  static void close_sets(const std::vector<int>& kept) {
    for (int number = 3; number < 1'000; ++number) {
      std::array<char, 64> path{};
      std::array<char, 64> target{};
      std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", number);
      const ssize_t length = ::readlink(path.data(), target.data(), target.size() - 1);
      const bool is_set = length > 0 && std::string(target.data()) == "anon_inode:[eventpoll]";
      if (is_set && std::find(kept.begin(), kept.end(), number) == kept.end()) ::close(number);
    }
  }

  int wake = -1;
  int pipe[2] = {-1, -1};
  int stream[2] = {-1, -1};
  char buffer[64] = {};
  sockaddr_un name{};  // Of the listening socket.
  socklen_t name_bytes = 0;
  Answers at_once;  // Of calls that ended while others were added.
  router::Files files;
  DescriptorWaits waits{files};
};

}  // namespace k2k::server
