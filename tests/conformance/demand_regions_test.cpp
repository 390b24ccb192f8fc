// Goal: demand-paged regions can be created and destroyed at any time, be named in calls and be
// shared. Impossible regions are refused, and faults outside of K2K's regions are left to other
// handlers. Instantiated by faults_test.cpp.

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "tests/conformance/faults_fixture.hpp"

namespace k2k::conformance::demand_regions_test {
namespace {

using namespace std::chrono_literals;

TEST_P(Faults, meet_regions_that_come_and_go) {
  Runtime runtime = start();
  const std::uint32_t pages = scaled(64, 32);
  std::uint32_t stop = 0;
  std::thread others([&] {
    for (char round = 1; __atomic_load_n(&stop, __ATOMIC_ACQUIRE) == 0;
         round = static_cast<char>(round % 100 + 1)) {
      const auto brief = DemandRegion::zero(runtime, 3 * page);
      if (!brief) {  // Regions of this launch count until it ends.
        EXPECT_EQ(brief.error().code, ENOSPC) << brief.error().message;
        std::this_thread::yield();
        continue;
      }
      char* const bytes = brief.value().as<char>();
      bytes[page] = round;
      EXPECT_EQ(bytes[page], round);
      EXPECT_EQ(bytes[2 * page], 0);
    }
  });
  for (int round = 0; round < 5; ++round) {
    // Between two launches there is room.
    Result<DemandRegion> next = DemandRegion::zero(runtime, pages * page);
    while (!next) next = DemandRegion::zero(runtime, pages * page);
    const DemandRegion region = std::move(next).value();
    std::atomic<std::uint32_t> right{0};
    launch(runtime, 2, pages, [&] {
      char& mine = region.as<char>()[item_rank() * page + group_rank()];
      if (mine == 0) ++right;
      mine = 1;
    });
    EXPECT_EQ(right.load(), 2 * pages);
  }
  __atomic_store_n(&stop, 1u, __ATOMIC_RELEASE);
  others.join();
}

TEST_P(Faults, calls_of_kernels_may_name_missing_pages) {
  Runtime runtime = start();
  const std::string content(3 * page, 'q');
  const TemporaryFile file(content);
  const DemandRegion region = made(DemandRegion::zero(runtime, 8 * page));
  const DemandRegion sent = made(DemandRegion::copy_of(runtime, content.data(), 3 * page));
  std::byte* const to = region.data() + 100;
  const std::byte* const from = sent.data();
  const Pair pipe;
  std::array<long, 3> counts{};
  launch(runtime, 1, 1, [&] {
    counts[0] = k2k::pread(k2k::work_item, file.fd, to, 3 * page, 0);
    counts[1] = k2k::write(k2k::work_item, pipe.out(), from, 3 * page);
    counts[2] = k2k::read(k2k::work_item, pipe.in(), to + 4 * page, 3 * page);
  });
  EXPECT_EQ(counts[0], static_cast<long>(3 * page));
  EXPECT_EQ(counts[1], static_cast<long>(3 * page));
  EXPECT_EQ(counts[2], static_cast<long>(3 * page));
  EXPECT_EQ(std::memcmp(to, content.data(), 3 * page), 0);
  EXPECT_EQ(std::memcmp(to + 4 * page, content.data(), 3 * page), 0);
}

TEST_P(Faults, structures_of_ioctl_may_cross_into_a_missing_page) {
  Runtime runtime = start();
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) GTEST_SKIP() << "no terminal here";
  const DemandRegion zero = made(DemandRegion::zero(runtime, 6 * page));
  std::vector<char> content(2 * page);
  const winsize size{31, 41, 5, 9};
  std::memcpy(content.data() + page - 4, &size, sizeof(size));
  const DemandRegion given = made(DemandRegion::copy_of(runtime, content.data(), 2 * page));
  long answers[3] = {};
  launch(runtime, 1, 1, [&] {
    answers[0] = k2k::ioctl(k2k::work_item, terminal, TIOCSWINSZ, given.data() + page - 4);
    answers[1] = k2k::ioctl(k2k::work_item, terminal, TIOCGWINSZ, zero.data() + page - 4);
    // Its size is known by its number alone: an int.
    answers[2] = k2k::ioctl(k2k::work_item, terminal, TIOCGEXCL, zero.data() + 3 * page - 2);
  });
  for (const long answer : answers) EXPECT_EQ(answer, 0);
  EXPECT_EQ(std::memcmp(zero.data() + page - 4, &size, sizeof(size)), 0);
  ::close(terminal);
}

TEST_P(Faults, vectors_and_messages_may_lead_to_missing_pages) {
  Runtime runtime = start();
  const std::string content(page, 'v');
  const TemporaryFile file(content);
  const DemandRegion region = made(DemandRegion::zero(runtime, 8 * page));
  const DemandRegion sent = made(DemandRegion::copy_of(runtime, content.data(), page));
  const Pair stream(Pair::Kind::stream);
  // The vector itself is in a missing page, too.
  iovec wanted[page / sizeof(iovec)] = {{region.data() + page - 10, 20},
                                        {region.data() + 3 * page, 30}};
  const DemandRegion vector = made(DemandRegion::copy_of(runtime, wanted, page));
  auto* const to = region.as<char>();
  std::array<long, 4> counts{};
  launch(runtime, 1, 1, [&] {
    counts[0] = k2k::preadv(k2k::work_item, file.fd, vector.as<iovec>(), 2, 0);
    iovec piece{sent.data(), 40};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    counts[1] = k2k::sendmsg(k2k::work_item, stream.out(), &message);
    piece.iov_base = to + 5 * page;
    counts[2] = k2k::recvmsg(k2k::work_item, stream.in(), &message);
    counts[3] = k2k::writev(k2k::work_item, stream.out(), &piece, 1);
  });
  EXPECT_EQ(counts, (std::array<long, 4>{50, 40, 40, 40}));
  EXPECT_EQ(std::string(to + page - 10, 20), std::string(20, 'v'));
  EXPECT_EQ(std::string(to + 3 * page, 30), std::string(30, 'v'));
  EXPECT_EQ(std::string(to + 5 * page, 40), std::string(40, 'v'));
}

TEST_P(Faults, arrays_and_texts_may_lie_in_missing_pages) {
  Runtime runtime = start();
  const TemporaryFile file("there");
  std::string name(page, '\0');
  std::memcpy(name.data() + page - 12, "user.colour", 12);
  const DemandRegion text = made(DemandRegion::copy_of(runtime, name.data(), page));
  const std::string blue = "blue" + std::string(page - 4, '\0');
  const DemandRegion content = made(DemandRegion::copy_of(runtime, blue.data(), page));
  const Pair pipe;
  const pollfd watched[page / sizeof(pollfd)] = {{pipe.in(), POLLIN, 0}, {pipe.out(), POLLOUT, 0}};
  const DemandRegion array = made(DemandRegion::copy_of(runtime, watched, page));
  const DemandRegion zeros = made(DemandRegion::zero(runtime, 2 * page));
  const int have = ::fsetxattr(file.fd, "user.probe", "x", 1, 0);
  std::array<long, 4> answers{};
  launch(runtime, 1, 1, [&] {
    const char* const colour = text.as<const char>() + page - 12;
    answers[0] = k2k::fsetxattr(k2k::work_item, file.fd, colour, content.data(), 4);
    answers[1] = k2k::fgetxattr(k2k::work_item, file.fd, colour, zeros.data() + page - 2, 100);
    answers[2] = k2k::poll(k2k::work_item, array.data(), 2, 0);
    answers[3] = k2k::mincore(k2k::work_item, nullptr, 0, zeros.data());
  });
  if (have == 0) {
    EXPECT_EQ(answers[0], 0);
    EXPECT_EQ(answers[1], 4);
    EXPECT_EQ(std::string(zeros.as<char>() + page - 2, 4), "blue");
  }
  EXPECT_EQ(answers[2], 1);
  EXPECT_EQ(array.as<pollfd>()[1].revents, POLLOUT);
  EXPECT_EQ(answers[3], 0);
}

TEST_P(Faults, a_path_may_lie_in_a_region) {
  Runtime runtime = start();
  TemporaryFile file("there");
  file.path.resize(page);
  const DemandRegion region = made(DemandRegion::copy_of(runtime, file.path.data(), page));
  const char* const path = region.as<const char>();
  std::atomic<long> answer{0};
  launch(runtime, 1, 1, [&] {
    const int fd = k2k::open(k2k::work_item, path, O_RDONLY).fd();
    answer = fd;
    if (fd >= 0) k2k::close(k2k::work_item, fd);
  });
  EXPECT_GE(answer.load(), 0);
  file.path.resize(std::strlen(file.path.c_str()));
}

TEST_P(Faults, a_kernel_may_ask_ahead_and_is_refused_foreign_memory) {
  Runtime runtime = start();
  const DemandRegion region = made(DemandRegion::zero(runtime, 200 * page));
  std::vector<char> foreign(page);
  std::array<long, 6> answers{};
  launch(runtime, 1, 1, [&] {
    answers[0] = k2k::fault_in(k2k::work_item, region.data(), 10 * page);
    answers[1] = k2k::fault_in(k2k::work_item, region.data() + 5 * page + 7, 9 * page);
    answers[2] = k2k::fault_in(k2k::work_item, region.data(), 1 << 30);
    answers[3] = k2k::fault_in(k2k::work_item, region.data() + 199 * page, 5 * page);
    answers[4] = k2k::fault_in(k2k::work_item, foreign.data(), page);
    answers[5] = k2k::syscall(k2k::work_item, k2k::strong, 0xfffd, foreign.data(), 1, 1);
  });
  EXPECT_EQ(answers[0], static_cast<long>(10 * page));
  EXPECT_EQ(answers[1], static_cast<long>(9 * page));
  EXPECT_EQ(answers[2], 256l << 10);
  EXPECT_EQ(answers[3], static_cast<long>(page));
  EXPECT_EQ(answers[4], -EFAULT);
  EXPECT_EQ(answers[5], -EFAULT);
}

TEST_P(Faults, a_region_may_resolve_its_faults_in_place) {
  Runtime runtime = start();
  const std::string content(4 * page, 'f');
  const TemporaryFile file(content);
  const DemandRegionOptions here{.handling = FaultHandling::in_place};
  const DemandRegion zeros = made(DemandRegion::zero(runtime, 16 * page, here));
  const DemandRegion pages = made(DemandRegion::file(runtime, file.fd, 0, 4 * page, here));
  std::atomic<int> wrong{0};
  launch(runtime, 1, 16, [&] {
    zeros.as<char>()[item_rank() * page] = 1;
    if (pages.as<char>()[item_rank() % 4 * page + 9] != 'f') ++wrong;
  });
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(zeros.counters().in_place, 16u);
  EXPECT_EQ(requests(runtime), 0u);
}

TEST_P(Faults, threads_of_the_program_may_touch_a_region_too) {
  Runtime runtime = start();
  const std::string content(4 * page, 'h');
  const TemporaryFile file(content);
  DemandRegion region = made(DemandRegion::file(runtime, file.fd, 0, 4 * page));
  EXPECT_EQ(region.as<char>()[2 * page], 'h');
  EXPECT_EQ(region.counters().in_place, 1u);
  const Pair pipe;
  EXPECT_EQ(::write(pipe.out(), region.data(), 1), -1);
  EXPECT_EQ(errno, EFAULT);
  ASSERT_TRUE(region.populate(0, 1).ok());
  EXPECT_EQ(::write(pipe.out(), region.data(), 1), 1);
  const Status outside = region.populate(3 * page, 2 * page);
  ASSERT_FALSE(outside.ok());
  EXPECT_EQ(outside.error().message,
            "bytes 12288 to 20480 are not inside a demand region of 16384 bytes");
}

TEST_P(Faults, two_runtimes_share_a_process_and_a_region) {
  Runtime first = start();
  std::optional<Runtime> second = start();
  const DemandRegion region = made(DemandRegion::zero(first, 64 * page));
  auto* const words = region.as<std::uint64_t>();
  // The second runtime was not prepared, but its kernels may use the address.
  launch(*second, 1, 16, [&] { words[item_rank() * words_a_page] += 1; });
  second.reset();
  launch(first, 1, 32, [&] { words[item_rank() * words_a_page] += 1; });
  EXPECT_EQ(words[15 * words_a_page], 2u);
  EXPECT_EQ(words[16 * words_a_page], 1u);
  EXPECT_EQ(requests(first), 16u);
}

TEST_P(Faults, a_region_that_was_destroyed_while_a_kernel_runs_is_an_error_with_its_name) {
  Runtime runtime = start();
  std::optional<DemandRegion> region =
      made(DemandRegion::zero(runtime, 4 * page, {.name = "short-lived"}));
  auto* const words = region->as<std::uint64_t>();
  std::uint32_t begun = 0;
  std::uint32_t gone = 0;
  std::thread destroyer([&] {
    while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) == 0) std::this_thread::yield();
    region.reset();
    __atomic_store_n(&gone, 1u, __ATOMIC_RELEASE);
  });
  const Result<LaunchReport> report = runtime.launch({1, 4}, [&] {
    words[item_rank()] = 1;
    __atomic_store_n(&begun, 1u, __ATOMIC_RELEASE);
    while (__atomic_load_n(&gone, __ATOMIC_ACQUIRE) == 0) k2k::yield();
    words[item_rank() * words_a_page] = 2;
  });
  destroyer.join();
  const std::string text = failure_of(report);
  EXPECT_NE(text.find("demand region 'short-lived'"), std::string::npos) << text;
  EXPECT_NE(text.find("the region was destroyed"), std::string::npos) << text;
  // The region left nothing behind: other mappings may take its addresses.
  for (int round = 0; round < 100; ++round) {
    const DemandRegion next = made(DemandRegion::zero(runtime, page));
    next.as<char>()[0] = 1;
  }
}

TEST_P(Faults, impossible_regions_are_refused_by_name) {
  Runtime runtime = start();
  const auto text = [](const Result<DemandRegion>& region) {
    return region.ok() ? "" : region.error().message;
  };
  EXPECT_EQ(
      text(DemandRegion::zero(runtime, 0)),
      "demand region 'region': 0 bytes; a region has whole pages of 4096 bytes, at least one");
  EXPECT_EQ(
      text(DemandRegion::zero(runtime, 5000, {.name = "grid"})),
      "demand region 'grid': 5000 bytes; a region has whole pages of 4096 bytes, at least one");
  EXPECT_EQ(text(DemandRegion::copy_of(runtime, nullptr, page)),
            "demand region 'region': no memory to copy from (a null pointer)");
  EXPECT_EQ(text(DemandRegion::file(runtime, 0, -1, page)),
            "demand region 'region': the offset in the file is -1; it must be at least 0");
  EXPECT_EQ(text(DemandRegion::file(runtime, -1, 0, page)),
            "demand region 'region': descriptor -1 cannot be used: Bad file descriptor");
  const auto huge = DemandRegion::zero(runtime, std::size_t{1} << 60);
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.error().code, ENOMEM);
  std::vector<DemandRegion> many;
  Result<DemandRegion> next = DemandRegion::zero(runtime, page);
  for (; next; next = DemandRegion::zero(runtime, page)) many.push_back(std::move(next).value());
  EXPECT_EQ(many.size(), 64u);
  EXPECT_EQ(next.error().code, ENOSPC);
  EXPECT_NE(text(next).find("there are 64 regions already"), std::string::npos) << text(next);
}

TEST_P(Faults, small_stacks_are_refused) {
  Runtime runtime = start([](RuntimeConfig& config) { config.device.stack_bytes = 16384; });
  const auto region = DemandRegion::zero(runtime, page);
  ASSERT_FALSE(region.ok());
  EXPECT_EQ(region.error().code, EINVAL);
  EXPECT_NE(region.error().message.find("device.stack_bytes is 16384; a work-item that touches a "
                                        "demand-paged region needs "),
            std::string::npos)
      << region.error().message;
}

// --- Faults that are not K2K's.

// A page of a file that ends before it: a touch is SIGBUS.
struct BeyondFile {
  BeyondFile() {
    memory =
        static_cast<char*>(::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0));
  }
  ~BeyondFile() { ::munmap(memory, page); }
  BeyondFile(const BeyondFile&) = delete;
  BeyondFile& operator=(const BeyondFile&) = delete;
  TemporaryFile file;
  char* memory;
};

std::atomic<int> foreign_faults{0};
void mend(int, siginfo_t* info, void*) {
  ++foreign_faults;
  void* const at =
      reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(info->si_addr) / page * page);
  ::mmap(at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

TEST_P(Faults, outside_of_every_region_are_the_previous_handlers) {
  struct sigaction ours{};
  ours.sa_sigaction = &mend;
  ours.sa_flags = SA_SIGINFO;
  struct sigaction before{};
  ASSERT_EQ(::sigaction(SIGBUS, &ours, &before), 0);
  foreign_faults = 0;
  {
    Runtime runtime = start();
    const DemandRegion region = made(DemandRegion::zero(runtime, page));
    const BeyondFile here;
    const BeyondFile there;
    *here.memory = 1;
    EXPECT_EQ(foreign_faults.load(), 1);
    launch(runtime, 1, 2, [&] {
      if (item_rank() == 0) *there.memory = 1;
      if (item_rank() == 1) *region.as<char>() = 1;
    });
    EXPECT_EQ(foreign_faults.load(), 2);
    EXPECT_EQ(requests(runtime), 1u);
  }
  struct sigaction after{};
  ASSERT_EQ(::sigaction(SIGBUS, &before, &after), 0);
  EXPECT_EQ(after.sa_sigaction, &mend);  // With the last region our handler went.
}

TEST_P(Faults, outside_of_every_region_end_the_process_without_a_handler) {
  const int status = status_of_child([] {
    Runtime runtime = std::move(Runtime::create(config_of(GetParam())).value());
    const auto region = DemandRegion::zero(runtime, page);
    const BeyondFile file;
    static_cast<void>(runtime.launch({1, 1}, [&] { *file.memory = 1; }));
  });
#if defined(__SANITIZE_ADDRESS__) || defined(K2K_TSAN)
  EXPECT_NE(status, 0);  // The sanitizer's own handler reports it.
#else
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) << status;
#endif
}

TEST_P(Faults, that_this_system_does_not_offer_are_refused_with_the_setting) {
  const int status = status_of_child([] {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{4, program};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
      ::_exit(77);
    }
    Runtime runtime = std::move(Runtime::create(config_of(GetParam())).value());
    const auto region = DemandRegion::zero(runtime, page);
    const bool told =
        !region.ok() && region.error().code == EPERM &&
        region.error().message ==
            "demand region 'region': userfaultfd is refused (Operation not permitted), on which "
            "demand-paged regions stand; set vm.unprivileged_userfaultfd = 1 with sysctl, or allow "
            "the system call in the container's seccomp profile";
    ::_exit(told ? 0 : 1);
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no seccomp filters here";
  EXPECT_EQ(status, 0);
}

TEST_P(Faults, show_in_the_statistics_with_the_parts_of_their_time) {
  Runtime runtime = start();
  const DemandRegion region = made(DemandRegion::zero(runtime, 16 * page));
  launch(runtime, 1, 16, [&] { region.as<char>()[item_rank() * page] = 1; });
  const server::Stats stats = runtime.stats();
  EXPECT_EQ(stats.faults.count(), 16u);
  EXPECT_GE(stats.fault_ranges, 1u);
  EXPECT_LE(stats.fault_ranges, 16u);
  const auto& sums = stats.faults.sum_cycles;
  EXPECT_GT(sums[2], 0u);
  EXPECT_LE(sums[0] + sums[1] + sums[2] + sums[3], sums[4] + sums[4] / 10 + 16 * 10'000);
}

}  // namespace
}  // namespace k2k::conformance::demand_regions_test
