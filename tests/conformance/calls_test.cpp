// Goal: a system call made by a kernel answers as the operating system does, errors included, with
// its buffers in any memory; and a mistake affects one slot only.

#include <arpa/inet.h>
#include <asm/unistd.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/utsname.h>

#include <csignal>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::calls_test {
namespace {

class Calls : public DeviceUnderTest {
 protected:
  Runtime start_strict() {
    return start([](RuntimeConfig& config) { config.device.strict = true; });
  }
};
K2K_EVERY_DEVICE(Calls);

TEST_P(Calls, any_call_can_be_made_by_its_number) {
  Runtime runtime = start();
  std::array<long, 3> answers{};
  launch(runtime, 1, 1, [&] {
    answers[0] = k2k::syscall(k2k::work_item, k2k::strong, __NR_getppid);
    answers[1] = k2k::syscall(k2k::work_item, k2k::strong, __NR_dup, -1);
    auto ticket = k2k::syscall(k2k::work_item, k2k::async, __NR_getpgid, 0);
    answers[2] = ticket.redeem();
  });
  EXPECT_EQ(answers[0], ::getppid());
  EXPECT_EQ(answers[1], -EBADF);
  EXPECT_EQ(answers[2], ::getpgid(0));
}

TEST_P(Calls, a_mistake_is_answered_in_its_own_slot_only) {
  Runtime runtime = start();
  const TemporaryFile file("good");
  auto* const nowhere =
      static_cast<char*>(::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::atomic<int> right{0};
  const std::uint32_t groups = scaled(12, 4);
  launch(runtime, groups, 32, [&] {
    char letters[4] = {};
    long answer = 0;
    long expected = 0;
    switch (global_rank() % 8) {
      case 0:
        answer = k2k::pread(k2k::work_item, 98765, letters, 4, 0);
        expected = -EBADF;
        break;
      case 1:
        answer = k2k::pread(k2k::work_item, file.fd, nowhere, 4, 0);
        expected = -EFAULT;
        break;
      case 2:
        answer = k2k::syscall(k2k::work_item, k2k::strong, 5000, 1, 2, 3);
        expected = -ENOSYS;
        break;
      case 3:
        answer = k2k::syscall(k2k::work_item, k2k::strong, -1);
        expected = -ENOSYS;
        break;
      case 4:
        answer = k2k::syscall(k2k::work_item, k2k::strong, __NR_exit_group, 3);
        expected = -EPERM;
        break;
      case 5:
        answer = k2k::open(k2k::work_item, nowhere, O_RDONLY);
        expected = -EFAULT;
        break;
      case 6:
        answer = k2k::syscall(k2k::work_item, k2k::strong, 1l << 40);
        expected = -ENOSYS;
        break;
      default:
        answer = k2k::pread(k2k::work_item, file.fd, letters, 4, 0);
        expected = std::memcmp(letters, "good", 4) == 0 ? 4 : 1000;
        break;
    }
    right += answer == expected;
  });
  EXPECT_EQ(right.load(), static_cast<int>(groups * 32));
  EXPECT_EQ(runtime.stats().refused, groups * 32 / 8 * 4u);
  ::munmap(nowhere, 4096);
}

TEST_P(Calls, act_on_no_other_process_and_not_on_the_machine_unless_so_configured) {
  Runtime runtime = start();
  std::array<long, 5> answers{};
  const char name[] = "k2k";
  siginfo_t info{};
  launch(runtime, 1, 1, [&] {
    answers[0] = k2k::syscall(k2k::work_item, k2k::strong, __NR_sethostname, name, 0ul);
    answers[1] = k2k::syscall(k2k::work_item, k2k::strong, __NR_rt_sigqueueinfo, 1, 0, &info);
    answers[2] = k2k::syscall(k2k::work_item, k2k::strong, 999);
    answers[3] = k2k::syscall(k2k::work_item, k2k::strong, __NR_getppid);
    answers[4] = k2k::syscall(k2k::work_item, k2k::strong, __NR_membarrier, 0, 0, 0);
  });
  EXPECT_EQ(answers[0], -EPERM);
  EXPECT_EQ(answers[1], -EPERM);
  EXPECT_EQ(answers[2], -ENOSYS);
  EXPECT_EQ(answers[3], ::getppid());
  EXPECT_GE(answers[4], 0);
}

TEST_P(Calls, have_the_policy_of_the_start_or_only_known_ones) {
  Runtime runtime = start();
  const auto change_to = [&runtime](server::CallPolicy policy) {
    server::ServerConfig config = runtime.server_config();
    config.policy = policy;
    const Status status = runtime.reconfigure(config);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(change_to(server::CallPolicy::any),
            "server.policy is \"io\" since the start; it can become \"known_only\", and \"io\" "
            "again");
  EXPECT_EQ(change_to(server::CallPolicy::known_only), "");
  std::array<long, 2> answers{};
  launch(runtime, 1, 1, [&] {
    answers[0] = k2k::syscall(k2k::work_item, k2k::strong, __NR_getitimer, ITIMER_REAL, nullptr);
    answers[1] = k2k::syscall(k2k::work_item, k2k::strong, __NR_getpid);
  });
  EXPECT_EQ(answers, (std::array<long, 2>{-ENOSYS, ::getpid()}));
  EXPECT_EQ(change_to(server::CallPolicy::io), "");

  Runtime open =
      start([](RuntimeConfig& config) { config.server.policy = server::CallPolicy::any; });
  server::ServerConfig config = open.server_config();
  config.policy = server::CallPolicy::io;
  const Status status = open.reconfigure(config);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "server.policy cannot become \"io\" after the start");
}

TEST_P(Calls, only_known_calls_are_open_if_so_configured) {
  Runtime runtime =
      start([](RuntimeConfig& config) { config.server.policy = server::CallPolicy::known_only; });
  std::array<long, 2> answers{};
  launch(runtime, 1, 1, [&] {
    answers[0] = k2k::syscall(k2k::work_item, k2k::strong, __NR_getitimer, ITIMER_REAL, nullptr);
    answers[1] = k2k::syscall(k2k::work_item, k2k::strong, __NR_getpid);
  });
  EXPECT_EQ(answers[0], -ENOSYS);
  EXPECT_EQ(answers[1], ::getpid());
}

TEST_P(Calls, leave_a_line_in_the_audit_log_if_refused_whatever_the_policy_is) {
  struct Expected {
    server::CallPolicy policy;
    const char* line;
  };
  for (const Expected& expected :
       {Expected{server::CallPolicy::any, ": kill: EPERM: every policy refuses this request"},
        Expected{server::CallPolicy::known_only, ": getitimer: ENOSYS: the policy permits known"},
        Expected{server::CallPolicy::io, ": sethostname: EPERM: the call acts on the machine"}}) {
    testing::internal::CaptureStderr();
    {
      Runtime runtime =
          start([&expected](RuntimeConfig& config) { config.server.policy = expected.policy; });
      std::array<long, 2> answers{};
      launch(runtime, 1, 1, [&] {
        answers[0] = k2k::syscall(k2k::work_item, k2k::strong, __NR_kill, ::getpid(), 0);
        answers[1] = k2k::syscall(k2k::work_item, k2k::strong, 2000);
        k2k::syscall(k2k::work_item, k2k::strong, __NR_sethostname, nullptr, 1ul << 40);
        k2k::syscall(k2k::work_item, k2k::strong, __NR_getitimer, ITIMER_REAL, nullptr);
        k2k::syscall(k2k::work_item, k2k::strong, __NR_getpid);
      });
      const long refused = expected.policy == server::CallPolicy::known_only ? -ENOSYS : -EPERM;
      EXPECT_EQ(answers, (std::array<long, 2>{refused, -ENOSYS}));
    }
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find(": call 2000: ENOSYS: Linux has no such call\n"), std::string::npos) << log;
    EXPECT_NE(log.find(expected.line), std::string::npos) << log;
    EXPECT_EQ(log.find(": getpid:"), std::string::npos) << log;
  }
}

TEST_P(Calls, files_are_opened_read_written_sought_and_closed) {
  Runtime runtime = start();
  const TemporaryFile file("0123456789");
  std::vector<long> answers;
  launch(runtime, 1, 1, [&] {
    char text[16] = {};
    const int fd = k2k::open(k2k::work_item, file.path.c_str(), O_RDWR | O_CLOEXEC).fd();
    answers.push_back(k2k::lseek(k2k::work_item, fd, 4, SEEK_SET));
    answers.push_back(k2k::read(k2k::work_item, fd, text, 3));
    answers.push_back(std::memcmp(text, "456", 3));
    answers.push_back(k2k::write(k2k::work_item, fd, "XY", 2));
    answers.push_back(k2k::pwrite(k2k::work_item, fd, "end", 3, 10));
    answers.push_back(k2k::read(k2k::work_item, fd, text, 16));
    answers.push_back(k2k::read(k2k::work_item, fd, text, 16));
    answers.push_back(k2k::fsync(k2k::work_item, fd));
    answers.push_back(k2k::close(k2k::work_item, fd));
    answers.push_back(k2k::close(k2k::work_item, fd));
  });
  EXPECT_EQ(answers, (std::vector<long>{4, 3, 0, 2, 3, 4, 0, 0, 0, -EBADF}));
  EXPECT_EQ(file.content(), "0123456XY9end");
}

TEST_P(Calls, memory_is_mapped_advised_used_and_unmapped) {
  Runtime runtime = start();
  std::array<long, 4> answers{};
  launch(runtime, 1, 1, [&] {
    const Reply mapped = k2k::mmap(k2k::work_item, nullptr, 8192, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!mapped.ok()) return;
    auto* const bytes = static_cast<char*>(mapped.address());
    bytes[8191] = 'm';
    answers[0] = k2k::madvise(k2k::work_item, bytes, 8192, MADV_DONTNEED);
    answers[1] = bytes[8191];
    answers[2] = k2k::munmap(k2k::work_item, bytes, 8192);
    answers[3] =
        k2k::mmap(k2k::work_item, nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  });
  EXPECT_EQ(answers, (std::array<long, 4>{0, 0, 0, -EINVAL}));
}

TEST_P(Calls, what_does_not_fit_a_block_is_a_part_of_an_output_and_no_input) {
  Runtime runtime = start_strict();
  const TemporaryFile file("");
  std::array<long, 4> answers{};
  launch(runtime, 1, 1, [&] {
    char path[128] = {};
    std::memcpy(path, file.path.c_str(), file.path.size() + 1);
    char content[8192] = {};
    answers[0] = k2k::setxattr(k2k::work_item, path, "user.long", content, sizeof(content));
    answers[1] = k2k::poll(k2k::work_item, content, sizeof(content) / 8, 0);
    answers[2] = k2k::getcwd(k2k::work_item, content, sizeof(content));
    answers[3] = answers[2] > 0 && content[0] == '/' && content[answers[2] - 1] == '\0';
  });
  EXPECT_EQ(answers[0], -EMSGSIZE);
  EXPECT_EQ(answers[1], -EMSGSIZE);
  EXPECT_EQ(answers[2], static_cast<long>(std::filesystem::current_path().string().size()) + 1);
  EXPECT_EQ(answers[3], 1);
}

TEST_P(Calls, queries_fill_structures_of_a_strict_device) {
  Runtime runtime = start_strict();
  const TemporaryFile file("0123456789");
  std::array<long, 12> answers{};
  auto* const path = static_cast<char*>(runtime.allocate(file.path.size() + 1).value());
  std::memcpy(path, file.path.c_str(), file.path.size() + 1);
  launch(runtime, 1, 1, [&] {
    utsname name{};
    timespec time{};
    struct statx status{};
    uid_t ids[3] = {};
    std::array<long, 12> got{};
    got[0] = k2k::uname(k2k::work_item, &name) == 0 && std::strcmp(name.sysname, "Linux") == 0;
    got[1] = k2k::clock_gettime(k2k::work_item, CLOCK_MONOTONIC, &time) == 0 && time.tv_sec > 0;
    got[2] = k2k::getresuid(k2k::work_item, &ids[0], &ids[1], &ids[2]) == 0 && ids[1] == ids[2];
    got[3] = k2k::statx(k2k::work_item, AT_FDCWD, path, 0, STATX_SIZE, &status) == 0 &&
             status.stx_size == 10;
    got[4] = k2k::access(k2k::work_item, path, R_OK);
    got[5] = k2k::clock_gettime(k2k::work_item, 4711, &time);
    got[6] = k2k::rename(k2k::work_item, path, "/no/such/folder/name");
    got[7] = k2k::truncate(k2k::work_item, path, 4);
    got[8] = k2k::getppid(k2k::work_item);
    got[9] = k2k::getuid(k2k::work_item);
    got[10] = k2k::unlink(k2k::work_item, path);
    got[11] = k2k::access(k2k::work_item, path, R_OK);
    answers = got;
  });
  runtime.free(path);
  EXPECT_EQ(answers, (std::array<long, 12>{1, 1, 1, 1, 0, -EINVAL, -ENOENT, 0, ::getppid(),
                                           static_cast<long>(::getuid()), 0, -ENOENT}));
}

TEST_P(Calls, a_device_is_controlled) {
  Runtime runtime = start();
  const Pair pipe;
  ASSERT_EQ(::write(pipe.out(), "12345", 5), 5);
  int waiting = -1;
  std::array<long, 2> answers{};
  launch(runtime, 1, 1, [&] {
    answers[0] = k2k::ioctl(k2k::work_item, pipe.in(), FIONREAD, &waiting);
    answers[1] = k2k::ioctl(k2k::work_item, pipe.in(), 0xdead, &waiting);
  });
  EXPECT_EQ(answers[0], 0);
  EXPECT_EQ(waiting, 5);
  EXPECT_EQ(answers[1], -ENOTTY);
}

TEST_P(Calls, a_signal_carries_a_value_to_the_host) {
  sigset_t signals;
  sigset_t before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGRTMIN + 3);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  {
    Runtime runtime = start();
    siginfo_t info{};
    info.si_code = SI_QUEUE;
    info.si_signo = SIGRTMIN + 3;
    info.si_pid = ::getpid();
    info.si_value.sival_int = 4711;
    long answer = 1;
    launch(runtime, 1, 1, [&] {
      answer = k2k::rt_sigqueueinfo(k2k::work_item, ::getpid(), info.si_signo, &info);
    });
    EXPECT_EQ(answer, 0);
    siginfo_t got{};
    const timespec limit{10, 0};
    EXPECT_EQ(::sigtimedwait(&signals, &got, &limit), SIGRTMIN + 3);
    EXPECT_EQ(got.si_value.sival_int, 4711);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_P(Calls, a_broken_pipe_and_a_broken_connection_answer_epipe_without_a_signal) {
  Runtime runtime = start();
  Pair pipe;
  Pair stream(Pair::Kind::stream);
  pipe.close(0);
  stream.close(0);
  std::array<long, 2> answers{};
  launch(runtime, 1, 1, [&] {
    answers[0] = k2k::write(k2k::work_item, pipe.out(), "x", 1);
    answers[1] = k2k::sendto(k2k::work_item, stream.out(), "x", 1, 0, nullptr, 0);
  });
  EXPECT_EQ(answers[0], -EPIPE);
  EXPECT_EQ(answers[1], -EPIPE);
}

TEST_P(Calls, a_descriptor_that_does_not_wait_answers_eagain) {
  Runtime runtime = start();
  const Pair pipe;
  ::fcntl(pipe.in(), F_SETFL, O_NONBLOCK);
  long answer = 0;
  launch(runtime, 1, 1, [&] {
    char letter = 0;
    answer = k2k::read(k2k::work_item, pipe.in(), &letter, 1);
  });
  EXPECT_EQ(answer, -EAGAIN);
}

// --- Strict: the host can read neither stacks nor local nor device memory, as with a GPU.

TEST_P(Calls, paths_and_structures_on_the_stack_travel) {
  Runtime runtime = start_strict();
  const TemporaryFile file(std::string(1234, 's'));
  std::atomic<int> right{0};
  launch(runtime, 2, 32, [&] {
    char path[64] = {};
    std::memcpy(path, file.path.data(), file.path.size());
    struct stat status{};
    struct statfs system{};
    char text[8] = {};
    rusage usage{};
    const timespec time{0, 1000};
    timespec left{77, 88};
    const int fd = k2k::open(k2k::work_item, path, O_RDWR | O_CLOEXEC).fd();
    bool good = fd >= 0;
    good &= k2k::newfstatat(k2k::work_item, AT_FDCWD, path, &status, 0) == 0;
    good &= status.st_size == 1234;
    status.st_size = 0;
    good &= k2k::fstat(k2k::work_item, fd, &status) == 0 && status.st_size == 1234;
    good &= k2k::fstatfs(k2k::work_item, fd, &system) == 0 && system.f_bsize > 0;
    good &= k2k::pread(k2k::work_item, fd, text, 8, 1230) == 4 && text[3] == 's' && text[4] == 0;
    good &= k2k::pwrite(k2k::work_item, fd, text, 4, 0) == 4;
    good &= k2k::getrusage(k2k::work_item, RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss > 0;
    good &= k2k::nanosleep(k2k::work_item, &time, &left) == 0;
    good &= left.tv_sec == 77 && left.tv_nsec == 88;  // Only an interrupted sleep writes it.
    good &= k2k::close(k2k::work_item, fd) == 0;
    right += good;
  });
  EXPECT_EQ(right.load(), 64);
}

TEST_P(Calls, a_path_that_is_too_long_or_not_there_is_refused_as_everywhere) {
  Runtime runtime = start_strict();
  std::array<long, 3> answers{};
  launch(runtime, 1, 1, [&] {
    char path[5000];
    std::memset(path, 'p', sizeof(path));
    path[4999] = '\0';
    answers[0] = k2k::open(k2k::work_item, path, O_RDONLY);
    path[4095] = '\0';  // 4,096 bytes with the terminator, but one name of the path is too long.
    answers[1] = k2k::open(k2k::work_item, path, O_RDONLY);
    std::memcpy(path, "/nowhere/at/all", 16);
    answers[2] = k2k::open(k2k::work_item, path, O_RDONLY);
  });
  EXPECT_EQ(answers, (std::array<long, 3>{-ENAMETOOLONG, -ENAMETOOLONG, -ENOENT}));
}

TEST_P(Calls, a_folder_is_listed_into_local_memory) {
  Runtime runtime = start_strict();
  std::atomic<int> found{0};
  launch(runtime, 2, 8, [&] {
    K2K_LOCAL(char[4096], entries);
    const int fd = k2k::open(k2k::work_group, "/proc/self", O_RDONLY | O_DIRECTORY).fd();
    bool seen = false;
    while (true) {
      const long bytes = k2k::getdents64(k2k::work_group, fd, entries, sizeof(entries));
      if (bytes <= 0) break;
      for (long place = 0; place < bytes;) {
        const auto* const entry = reinterpret_cast<const dirent64*>(entries + place);
        seen |= std::strcmp(entry->d_name, "status") == 0;
        place += entry->d_reclen;
      }
    }
    found += seen;
    k2k::close(k2k::work_group, fd);
  });
  EXPECT_EQ(found.load(), 16);
}

TEST_P(Calls, device_memory_is_read_and_written_in_pieces_of_a_block) {
  Runtime runtime = start_strict();
  const std::string content = [] {
    std::string text(20'000, '\0');
    for (std::size_t place = 0; place < text.size(); ++place) {
      text[place] = static_cast<char>('a' + place % 23);
    }
    return text;
  }();
  const TemporaryFile source(content);
  const TemporaryFile target;
  auto* const memory = static_cast<char*>(runtime.allocate(content.size()).value());
  std::array<long, 4> answers{};
  launch(runtime, 1, 16, [&] {
    std::int64_t done = 0;
    long first = 0;
    while (done < 20'000) {
      const long count = k2k::pread(k2k::work_group, source.fd, memory + done,
                                    content.size() - static_cast<std::size_t>(done), done);
      if (count <= 0) break;
      if (done == 0) first = count;
      done += count;
    }
    const std::int64_t got = done;
    done = 0;
    while (done < 20'000) {
      const long count = k2k::pwrite(k2k::work_group, target.fd, memory + done,
                                     content.size() - static_cast<std::size_t>(done), done);
      if (count <= 0) break;
      done += count;
    }
    if (item_rank() == 0) {
      answers = {first, static_cast<long>(got), static_cast<long>(done),
                 k2k::pwrite(k2k::work_item, k2k::detached, target.fd, memory, 20'000, 0)};
    }
  });
  EXPECT_GT(answers[0], 4096);
  EXPECT_LT(answers[0], 8192) << "clamped to what a block holds";
  EXPECT_EQ(answers[1], 20'000);
  EXPECT_EQ(answers[2], 20'000);
  EXPECT_EQ(answers[3], -EMSGSIZE) << "a detached write has no caller who could see a short count";
  EXPECT_EQ(target.content(), content);
  runtime.free(memory);
}

TEST_P(Calls, datagrams_travel_with_their_addresses_from_stacks) {
  Runtime runtime = start_strict();
  const int server = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int client = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(::bind(server, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::bind(client, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::getsockname(server, reinterpret_cast<sockaddr*>(&address), &length), 0);
  std::array<long, 5> answers{};
  launch(runtime, 1, 1, [&] {
    sockaddr_in to = address;
    char text[10'000] = {'p', 'i', 'n', 'g'};
    answers[0] = k2k::sendto(k2k::work_item, client, text, 4, 0, &to, sizeof(to));
    sockaddr_storage from;
    std::memset(&from, 0x55, sizeof(from));
    std::uint32_t from_length = sizeof(from);
    char got[16] = {};
    answers[1] = k2k::recvfrom(k2k::work_item, server, got, sizeof(got), 0, &from, &from_length);
    answers[2] = from_length;
    const auto* const raw = reinterpret_cast<const unsigned char*>(&from);
    answers[3] = std::memcmp(got, "ping", 4) == 0 && from.ss_family == AF_INET && raw[16] == 0x55 &&
                 raw[127] == 0x55;  // Beyond the address nothing is touched.
    answers[4] = k2k::sendto(k2k::work_item, client, text, sizeof(text), 0, &to, sizeof(to));
  });
  EXPECT_EQ(answers, (std::array<long, 5>{4, 4, sizeof(sockaddr_in), 1, -EMSGSIZE}));
  ::close(server);
  ::close(client);
}

TEST_P(Calls, memory_out_of_the_host_s_reach_is_refused_where_no_wrapper_copies) {
  Runtime runtime = start_strict();
  const TemporaryFile file("x");
  const Pair pipe;
  auto* const device = static_cast<char*>(runtime.allocate(64).value());
  std::array<long, 5> answers{};
  launch(runtime, 1, 1, [&] {
    char stack[16] = {};
    K2K_LOCAL(char[16], local);
    answers[0] = k2k::syscall(k2k::work_item, k2k::strong, __NR_pread64, file.fd, stack, 1, 0);
    answers[1] = k2k::syscall(k2k::work_item, k2k::strong, __NR_pread64, file.fd, &local, 1, 0);
    answers[2] = k2k::syscall(k2k::work_item, k2k::strong, __NR_pread64, file.fd, device, 1, 0);
    answers[3] = k2k::ioctl(k2k::work_item, pipe.in(), 0x1234, stack);
    answers[4] = k2k::pread(k2k::work_item, file.fd, stack, 1, 0);
  });
  EXPECT_EQ(answers, (std::array<long, 5>{-EFAULT, -EFAULT, -EFAULT, -EFAULT, 1}));
  runtime.free(device);
}

TEST_P(Calls, more_copied_calls_than_blocks_wait_for_one) {
  Runtime runtime = start([](RuntimeConfig& config) {
    config.device.strict = true;
    config.device.arena_blocks = 2;
  });
  const TemporaryFile file("blocks");
  const std::uint32_t groups = scaled(16, 4);
  std::atomic<std::uint32_t> right{0};
  launch(runtime, groups, 32, [&] {
    char text[6] = {};
    right +=
        k2k::pread(k2k::work_item, file.fd, text, 6, 0) == 6 && std::memcmp(text, "blocks", 6) == 0;
    k2k::pwrite(k2k::work_item, k2k::detached, file.fd, text, 6, 0);
  });
  EXPECT_EQ(right.load(), groups * 32);
  EXPECT_TRUE(runtime.drain().value().empty());
}

}  // namespace
}  // namespace k2k::conformance::calls_test
