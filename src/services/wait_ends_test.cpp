// Goal: calls/waits.hpp is true. A call that would wait is set aside for what its row says, or, if
// its row says that a signal ends the wait, for nothing: a thread must make it.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <set>
#include <string>
#include <vector>

#include "calls/waits.hpp"
#include "services/services.hpp"
#include "services/services_fixture.hpp"

namespace k2k::services {
namespace {

using calls::WaitEnd;

WaitEnd end_told_by(const Answer& answer) {
  const Readiness& readiness = answer.readiness;
  if (!answer.would_wait) return WaitEnd::none;
  if (readiness.descriptor >= 0 || readiness.several) return WaitEnd::descriptor;
  if (readiness.futex) return WaitEnd::word;
  return readiness.has_moment() ? WaitEnd::moment : WaitEnd::signal;
}

// Objects on which calls wait.
struct WaitEnds : ServicesTest {
  void SetUp() override {
    ServicesTest::SetUp();
    name = "/k2k-wait-ends-" + std::to_string(::getpid());
    mq_attr limits{};
    limits.mq_maxmsg = 1;
    limits.mq_msgsize = 8;
    mail = ::mq_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &limits);
    letters = ::msgget(IPC_PRIVATE, 0600);
    semaphores = ::semget(IPC_PRIVATE, 1, 0600);
    epoll = ::epoll_create1(EPOLL_CLOEXEC);
    std::string path = testing::TempDir() + "k2k_wait_ends_XXXXXX";
    holder = ::mkostemp(path.data(), O_CLOEXEC);
    locked = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    ::unlink(path.c_str());
    ASSERT_EQ(::flock(holder, LOCK_EX), 0);
    ASSERT_EQ(::pipe2(other, O_CLOEXEC), 0);
    child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::pause();
      ::_exit(0);
    }
    ASSERT_GT(child, 0);
    process = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  }
  void TearDown() override {
    if (child > 0) {  // Not -1, which would be every process.
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    ::mq_unlink(name.c_str());
    ::msgctl(letters, IPC_RMID, nullptr);
    ::semctl(semaphores, 0, IPC_RMID);
    for (const int fd :
         {static_cast<int>(mail), epoll, holder, locked, process, other[0], other[1]}) {
      ::close(fd);
    }
    ServicesTest::TearDown();
  }
  Answer tried(const Request& request) {
    Progress progress;
    return execute_without_waiting(request, progress, files);
  }
  [[nodiscard]] bool has_ipc() const { return mail >= 0 && letters >= 0 && semaphores >= 0; }

  std::string name;
  mqd_t mail = -1;
  int letters = -1;
  int semaphores = -1;
  int epoll = -1;
  int holder = -1;
  int locked = -1;
  int other[2] = {-1, -1};
  int process = -1;
  pid_t child = -1;
};

TEST_F(WaitEnds, are_as_their_rows_say) {
  if (!has_ipc() || process < 0) GTEST_SKIP() << "no queues, no objects of System V or no pidfd";
  char text[64] = {};
  const iovec piece{text, 8};
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(&piece);
  message.msg_iovlen = 1;
  mmsghdr messages{message, 0};
  pollfd watched{pipe[0], POLLIN, 0};
  fd_set set;
  FD_ZERO(&set);
  FD_SET(pipe[0], &set);
  epoll_event event{};
  const timespec later{9, 0};
  const sembuf less{0, -1, 0};
  std::uint32_t word = 7;
  siginfo_t info{};
  struct flock lock{};
  lock.l_type = F_WRLCK;
  ASSERT_EQ(::fcntl(holder, F_OFD_SETLK, &lock), 0);
  const int from = stream[0];
  std::vector<Request> waiting = {
      make(SYS_read, pipe[0], text, 8),
      make(SYS_readv, pipe[0], &piece, 1),
      make(SYS_preadv2, pipe[0], &piece, 1, -1, 0, 0),
      make(SYS_poll, &watched, 1, -1),
      make(SYS_ppoll, &watched, 1, nullptr, nullptr, 8),
      make(SYS_select, pipe[0] + 1, &set, nullptr, nullptr, nullptr),
      make(SYS_pselect6, pipe[0] + 1, &set, nullptr, nullptr, nullptr, nullptr),
      make(SYS_epoll_wait, epoll, &event, 1, -1),
      make(SYS_epoll_pwait, epoll, &event, 1, -1, nullptr, 8),
      make(SYS_epoll_pwait2, epoll, &event, 1, nullptr, nullptr, 8),
      make(SYS_nanosleep, &later, nullptr),
      make(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &later, nullptr),
      make(SYS_recvfrom, from, text, 8, 0, nullptr, nullptr),
      make(SYS_recvmsg, from, &message, 0),
      make(SYS_recvmmsg, from, &messages, 1, 0, nullptr),
      make(SYS_semop, semaphores, &less, 1),
      make(SYS_semtimedop, semaphores, &less, 1, &later),
      make(SYS_msgrcv, letters, text, 8, 0, 0),
      make(SYS_flock, locked, LOCK_EX),
      make(SYS_fcntl, locked, F_OFD_SETLKW, &lock),
      make(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 7, nullptr),
      make(SYS_mq_timedreceive, mail, text, 8, nullptr, nullptr),
      make(SYS_waitid, P_PIDFD, process, &info, WEXITED | WNOWAIT, nullptr),
      make(SYS_splice, pipe[0], nullptr, other[1], nullptr, 8, 0),
      make(SYS_tee, pipe[0], other[1], 8, 0),
  };
  ASSERT_EQ(::mq_send(mail, "full", 4, 0), 0);
  EXPECT_EQ(end_told_by(tried(make(SYS_mq_timedsend, mail, text, 4, 0, nullptr))),
            calls::wait_end_of(SYS_mq_timedsend));
  ASSERT_EQ(::mq_receive(mail, text, 8, nullptr), 4);
  std::set<std::uint16_t> numbers;
  for (const Request& request : waiting) {
    EXPECT_EQ(end_told_by(tried(request)), calls::wait_end_of(request.number))
        << calls::entry_of(request.number)->name;
    numbers.insert(request.number);
  }
  EXPECT_EQ(numbers.size(), waiting.size());
}

TEST_F(WaitEnds, of_a_queue_are_its_messages_and_its_room) {
  if (mail < 0) GTEST_SKIP() << "no POSIX queues";
  char text[8] = {};
  const Request receive = make(SYS_mq_timedreceive, mail, text, 8, nullptr, nullptr);
  const Request send = make(SYS_mq_timedsend, mail, "mail", 4, 3, nullptr);
  const Answer empty = tried(receive);
  EXPECT_EQ(empty.readiness.descriptor, mail);
  EXPECT_EQ(empty.readiness.events, POLLIN);
  EXPECT_FALSE(tried(send).would_wait);
  const Answer full = tried(send);
  EXPECT_EQ(full.readiness.descriptor, mail);
  EXPECT_EQ(full.readiness.events, POLLOUT);
  const Answer received = tried(receive);
  EXPECT_FALSE(received.would_wait);
  EXPECT_EQ(received.value, 4);
  EXPECT_EQ(std::string(text, 4), "mail");
  // A deadline by a clock that a program may set, and what Linux answers at once.
  timespec soon{};
  ::clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_sec += 9;
  EXPECT_EQ(end_told_by(tried(make(SYS_mq_timedreceive, mail, text, 8, nullptr, &soon))),
            WaitEnd::signal);
  EXPECT_EQ(tried(make(SYS_mq_timedreceive, mail, text, 7, nullptr, nullptr)).value, -EMSGSIZE);
  EXPECT_EQ(tried(make(SYS_mq_timedreceive, pipe[0], text, 8, nullptr, nullptr)).value, -EBADF);
  mq_attr at_once{};
  at_once.mq_flags = O_NONBLOCK;
  ASSERT_EQ(::mq_setattr(mail, &at_once, nullptr), 0);
  EXPECT_EQ(tried(receive).value, -EAGAIN);
}

TEST_F(WaitEnds, of_a_process_are_seen_by_its_descriptor_and_leave_it_to_the_program) {
  if (process < 0) GTEST_SKIP() << "no pidfd";
  siginfo_t info{};
  info.si_pid = 77;
  const auto wait_for = [&](int kind, int id, int options) {
    return make(SYS_waitid, kind, id, &info, options, nullptr);
  };
  const Answer alive = tried(wait_for(P_PIDFD, process, WEXITED | WNOWAIT));
  EXPECT_EQ(alive.readiness.descriptor, process);
  EXPECT_EQ(alive.readiness.events, POLLIN);
  EXPECT_EQ(info.si_pid, 77) << "a try leaves no trace";
  // The descriptor does not report a stop, and a number may name another process later.
  EXPECT_EQ(end_told_by(tried(wait_for(P_PIDFD, process, WEXITED | WSTOPPED | WNOWAIT))),
            WaitEnd::signal);
  EXPECT_EQ(end_told_by(tried(wait_for(P_PID, child, WEXITED | WNOWAIT))), WaitEnd::signal);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  pollfd ended{process, POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, -1), 1);
  const Answer over = tried(wait_for(P_PIDFD, process, WEXITED | WNOWAIT));
  EXPECT_FALSE(over.would_wait);
  EXPECT_EQ(over.value, 0);
  EXPECT_EQ(info.si_pid, child);
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), child) << "it is still the program's to reap";
  child = -1;
  EXPECT_EQ(tried(wait_for(P_PIDFD, process, WEXITED | WNOWAIT)).value, -ECHILD);
}

}  // namespace
}  // namespace k2k::services
