// Goal: where pipes refuse RWF_NOWAIT, as before Linux 6.4, a read or write of one is tried without
// waiting all the same; where even that cannot be, a thread waits. Method: children in which a
// filter refuses the flag. `./dev check --only kernel-6.1` runs the other tests on such a Linux.

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "calls/rows.hpp"
#include "router/door/files.hpp"
#include "services/services.hpp"

namespace k2k::services {
namespace {

constexpr int no_filter = 77;

// EOPNOTSUPP for preadv2 and pwritev2 with RWF_NOWAIT, their sixth argument; `open_error` for
// openat unless it is 0.
bool refuse_flag(unsigned open_error) {
  const unsigned open_answer = open_error == 0 ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | open_error;
  std::array<sock_filter, 9> rules = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_preadv2, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_pwritev2, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[5])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, RWF_NOWAIT, 2, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, open_answer),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
  }};
  const sock_fprog filter{static_cast<unsigned short>(rules.size()), rules.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// What `body` returns in a child below that filter.
template <class Body>
int on_old_kernel(unsigned open_error, Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(refuse_flag(open_error) ? body() : no_filter);
  int status = -1;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

class PipesBefore64 : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe2(pipe_, O_CLOEXEC), 0); }
  void TearDown() override {
    for (const int end : pipe_) ::close(end);
  }
  Answer tried(std::uint16_t number, int descriptor, std::size_t bytes) {
    Request request;
    request.number = number;
    request.row = static_cast<std::int16_t>(calls::find(number));
    request.arguments[0] = static_cast<std::uint64_t>(descriptor);
    request.arguments[1] = reinterpret_cast<std::uint64_t>(buffer_.data());
    request.arguments[2] = bytes;
    return execute_without_waiting(request, progress_, files_);
  }

  int pipe_[2] = {-1, -1};
  std::array<char, 1 << 18> buffer_{};  // More than a pipe holds.
  Progress progress_;
  router::Files files_;
};

TEST_F(PipesBefore64, a_read_waits_for_data_and_takes_what_there_is) {
  const int status = on_old_kernel(0, [this] {
    const Answer empty = tried(__NR_read, pipe_[0], 8);
    if (!empty.would_wait || empty.readiness.descriptor != pipe_[0]) return 1;
    if (empty.readiness.events != POLLIN) return 2;
    if (::write(pipe_[1], "abc", 3) != 3) return 3;
    const Answer some = tried(__NR_read, pipe_[0], 8);
    if (some.would_wait || some.value != 3 || buffer_[2] != 'c') return 4;
    // The program's own description is as it was.
    return (::fcntl(pipe_[0], F_GETFL) & O_NONBLOCK) == 0 ? 0 : 5;
  });
  if (status == no_filter) GTEST_SKIP() << "no seccomp";
  EXPECT_EQ(status, 0);
}

TEST_F(PipesBefore64, a_write_goes_as_far_as_there_is_room) {
  const int status = on_old_kernel(0, [this] {
    const Answer much = tried(__NR_write, pipe_[1], buffer_.size());
    if (!much.would_wait || much.readiness.descriptor != pipe_[1]) return 1;
    if (much.readiness.events != POLLOUT || progress_.bytes == 0) return 2;
    return progress_.bytes < buffer_.size() ? 0 : 3;
  });
  if (status == no_filter) GTEST_SKIP() << "no seccomp";
  EXPECT_EQ(status, 0);
}

TEST_F(PipesBefore64, one_that_may_not_be_opened_again_is_for_a_thread_that_waits) {
  const int status = on_old_kernel(EACCES, [this] {
    if (::write(pipe_[1], "abc", 3) != 3) return 1;
    const Answer answer = tried(__NR_read, pipe_[0], 8);
    return answer.would_wait && answer.readiness.descriptor == -1 ? 0 : 2;
  });
  if (status == no_filter) GTEST_SKIP() << "no seccomp";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace k2k::services
