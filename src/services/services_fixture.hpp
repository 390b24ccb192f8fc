#pragma once
// For tests of handlers: requests, and both tries of a call as the server makes them.
//
// Threading: a test's own thread.

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <ctime>

#include "calls/rows.hpp"
#include "router/door/files.hpp"
#include "services/services.hpp"

namespace k2k::services {

inline std::uint64_t as_word(const void* address) {
  return reinterpret_cast<std::uint64_t>(address);
}

// As service threads do: all signals blocked.
struct ServicesTest : testing::Test {
  void SetUp() override {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous_);
    ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream), 0);
    interruption.descriptor = ::eventfd(0, EFD_CLOEXEC);
  }
  void TearDown() override {
    for (const int fd : {pipe[0], pipe[1], stream[0], stream[1], interruption.descriptor}) {
      ::close(fd);
    }
    // A SIGPIPE that a handler let through waits at this thread.
    sigset_t pending;
    sigpending(&pending);
    sigpipe_pending |= sigismember(&pending, SIGPIPE) == 1;
    timespec none{};
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    if (sigpipe_pending) sigtimedwait(&one, nullptr, &none);
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
  }

  template <class... Arguments>
  static Request make(std::uint16_t number, Arguments... arguments) {
    Request request;
    request.number = number;
    request.row = static_cast<std::int16_t>(calls::find(number));
    int index = 0;
    ((request.arguments[index++] = (std::uint64_t)(arguments)), ...);
    return request;
  }
  // Both tries, as the server makes them.
  std::int64_t served(const Request& request) {
    Progress progress;
    const Answer answer = execute_without_waiting(request, progress, files);
    if (!answer.would_wait) return answer.value;
    return execute_waiting(request, progress, interruption, files);
  }
  bool would_wait(const Request& request) {
    Progress progress;
    return execute_without_waiting(request, progress, files).would_wait;
  }
  std::int64_t at_once(const Request& request) {
    Progress progress;
    const Answer answer = execute_without_waiting(request, progress, files);
    EXPECT_FALSE(answer.would_wait);
    return answer.value;
  }

  static constexpr std::uint16_t read_ = __NR_read, write_ = __NR_write, sendto_ = __NR_sendto,
                                 recvfrom_ = __NR_recvfrom;
  int pipe[2] = {-1, -1};
  int stream[2] = {-1, -1};
  Interruption interruption;
  router::Files files;
  char buffer[64] = {};
  bool sigpipe_pending = false;

 private:
  sigset_t previous_{};
};

}  // namespace k2k::services
