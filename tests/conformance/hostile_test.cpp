// Goal: a kernel that closes, replaces or shuts down arbitrary descriptors, unmaps or discards
// arbitrary memory or signals arbitrary threads harms only the program's own: K2K continues to
// serve, to wait, to cancel and to end. A host program that closes descriptors gets errors; nothing
// aborts, and no thread spins.
// Method: each test in a child process, which contains the damage.

#include <asm/unistd.h>
#include <dirent.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "calls/table.hpp"
#include "tests/conformance/busy_share.hpp"
#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::hostile_test {
namespace {

using namespace std::chrono_literals;

constexpr int numbers_end = 1'200;  // Some of K2K's lie above 1,000.

// The child's result, as its exit status.
enum Outcome {
  good,
  not_served,
  not_woken,
  not_cancelled,
  busy,
  descriptors_lost,
  not_started,
  not_refused,
  child_lost,
};

std::set<int> open_numbers() {
  std::set<int> numbers;
  for (int number = 3; number < numbers_end; ++number) {
    if (::fcntl(number, F_GETFD) >= 0) numbers.insert(number);
  }
  return numbers;
}

// A pipe above all numbers that K2K used: K2K would still claim such a number as its own.
struct HighPair {
  HighPair() {
    const Pair low;
    in = ::fcntl(low.in(), F_DUPFD_CLOEXEC, 500);
    out = ::fcntl(low.out(), F_DUPFD_CLOEXEC, 500);
  }
  ~HighPair() {
    ::close(in);
    ::close(out);
  }
  HighPair(const HighPair&) = delete;
  HighPair& operator=(const HighPair&) = delete;
  int in = -1;
  int out = -1;
};

// The pages of a range, and of no other.
struct MemoryRange {
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
};
constexpr std::uint64_t page_bytes = 4096;

MemoryRange pages_of(const void* memory, std::size_t bytes) {
  const std::uint64_t first = reinterpret_cast<std::uint64_t>(memory) & ~(page_bytes - 1);
  const std::uint64_t last = reinterpret_cast<std::uint64_t>(memory) + bytes + page_bytes - 1;
  return {first, (last & ~(page_bytes - 1)) - first};
}

// The threads of this process whose names begin with k2k/, by their numbers.
std::vector<pid_t> own_threads() {
  std::vector<pid_t> threads;
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(::opendir("/proc/self/task"), ::closedir);
  while (const dirent* const task = ::readdir(tasks.get())) {
    std::string name;
    std::getline(std::ifstream("/proc/self/task/" + std::string(task->d_name) + "/comm"), name);
    if (name.starts_with("k2k/")) threads.push_back(std::stoi(task->d_name));
  }
  return threads;
}

// The mapping in which a stack of this thread lies: /proc says where, as a kernel could learn, too.
std::uint64_t stack_page_of(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  std::vector<std::string> words;
  for (std::string word; file >> word;) words.push_back(word);
  // A waiting thread: number, six arguments, stack pointer, program counter.
  if (words.size() != 9) return 0;
  return std::stoull(words[7], nullptr, 16) & ~(page_bytes - 1);
}

class Hostile : public DeviceUnderTest {
 protected:
  static void expect(bool right, Outcome otherwise) {
    if (!right) ::_exit(otherwise);
  }

  // Starts a runtime and stores its own descriptors in `own`.
  Runtime start_and_look(std::set<int>& own, server::CallPolicy policy) {
    const std::set<int> before = open_numbers();
    Runtime runtime = start([policy](RuntimeConfig& config) { config.server.policy = policy; });
    warm_up(runtime);
    for (const int number : open_numbers()) {
      if (!before.contains(number)) own.insert(number);
    }
    return runtime;
  }

  // Starts all kinds of threads, including the one that watches descriptors.
  static void warm_up(Runtime& runtime) { expect(wakes(runtime), not_started); }

  // Is a call that waits answered once the pipe has data?
  static bool wakes(Runtime& runtime) {
    const HighPair pipe;
    std::thread host([&] {
      std::this_thread::sleep_for(30ms);
      static_cast<void>(::write(pipe.out, "12345678", 8));
    });
    std::atomic<int> right{0};
    const Result<LaunchReport> report = runtime.launch({1, 8}, [&] {
      char letter = 0;
      right += k2k::read(k2k::work_item, k2k::halting, pipe.in, &letter, 1) == 1;
    });
    host.join();
    return report.ok() && right.load() == 8;
  }
  static bool serves(Runtime& runtime) {
    std::atomic<int> right{0};
    const Result<LaunchReport> report =
        runtime.launch({2, 8}, [&] { right += k2k::getpid(k2k::work_item) == ::getpid(); });
    return report.ok() && right.load() == 16;
  }
  static bool cancels(Runtime& runtime) {
    const HighPair never;
    std::atomic<bool> begun{false};
    std::thread host([&] {
      begun.wait(false);  // A cancel before the launch has no effect.
      std::this_thread::sleep_for(30ms);
      runtime.cancel();
    });
    const Result<LaunchReport> report = runtime.launch({1, 8}, [&] {
      begun = true;
      begun.notify_one();
      char letter = 0;
      k2k::read(k2k::work_item, never.in, &letter, 1);
    });
    host.join();
    return !report.ok() && report.error().code == ECANCELED;
  }
  // Checks that the runtime continues as if nothing had happened.
  static void expect_unharmed(Runtime& runtime) {
    expect(serves(runtime), not_served);
    expect(wakes(runtime), not_woken);
    expect(cancels(runtime), not_cancelled);
    std::this_thread::sleep_for(50ms);
    expect(busy_share(300ms) < 0.25, busy);
  }
  static void expect_open(const std::set<int>& own) {
    const std::set<int> now_open = open_numbers();
    for (const int number : own) expect(now_open.contains(number), descriptors_lost);
  }
};
K2K_EVERY_DEVICE(Hostile);
K2K_BEHIND_WALLS(Hostile);

TEST_P(Hostile, typed_calls_cannot_close_k2ks_descriptors) {
  const int status = status_of_child([this] {
    std::set<int> own;
    Runtime runtime = start_and_look(own, server::CallPolicy::known_only);
    expect(!own.empty(), not_started);
    expect(runtime
               .launch({1, 1},
                       [] {
                         char letters[8] = {};
                         for (int number = 3; number < numbers_end; ++number) {
                           k2k::sendto(k2k::work_item, number, letters, 8, MSG_DONTWAIT, nullptr,
                                       0);
                           k2k::close(k2k::work_item, number);
                         }
                       })
               .ok(),
           not_served);
    expect_open(own);
    expect_unharmed(runtime);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), good);
}

TEST_P(Hostile, no_call_can_close_replace_or_shut_down_k2ks_descriptors) {
  const int status = status_of_child([this] {
    std::set<int> own;
    Runtime runtime = start_and_look(own, server::CallPolicy::any);
    const auto call = [](auto... arguments) {
      k2k::syscall(k2k::work_item, k2k::strong, arguments...);
    };
    const auto attack = [call] {
      for (int number = 3; number < numbers_end; ++number) {
        call(__NR_shutdown, number, SHUT_RDWR);
        call(__NR_fcntl, number, F_SETFL, 0);
        call(__NR_dup2, 0, number);
        call(__NR_dup3, 0, number, O_CLOEXEC);
      }
      call(__NR_close_range, 3u, ~0u, 0u);
      call(__NR_close_range, 3u, ~0u, 2u);  // CLOSE_RANGE_UNSHARE
    };
    expect(runtime.launch({1, 1}, attack).ok(), not_served);
    expect_open(own);
    expect(open_numbers() == own, descriptors_lost);  // The others are closed.
    expect_unharmed(runtime);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), good);
}

TEST_P(Hostile, no_call_can_unmap_protect_move_replace_or_discard_memory_that_is_k2ks) {
  const int status = status_of_child([this] {
    std::set<int> own;
    Runtime runtime = start_and_look(own, server::CallPolicy::any);
    const protocol::AreaView& area = runtime.area();
    std::vector<MemoryRange> targets = {
        pages_of(area.slots, std::size_t{area.wave_count} * area.wave_lanes * sizeof(*area.slots)),
        pages_of(area.rings[0].entries, page_bytes),
        pages_of(area.arena, page_bytes),
    };
    std::size_t stacks = 0;
    for (const pid_t thread : own_threads()) {
      const std::uint64_t page = stack_page_of(thread);
      if (page == 0) continue;
      targets.push_back({page, page_bytes});
      ++stacks;
    }
    expect(stacks != 0, not_started);
    const MemoryRange* const target = targets.data();
    const std::size_t count = targets.size();
    std::atomic<std::size_t> refused{0};
    const auto attack = [&] {
      const auto call = [&](auto... arguments) {
        const k2k::Reply reply = k2k::syscall(k2k::work_item, k2k::strong, arguments...);
        if (reply.error() == EPERM) refused.fetch_add(1);
      };
      for (std::size_t at = 0; at < count; ++at) {
        const std::uint64_t page = target[at].first;
        const std::uint64_t bytes = target[at].bytes;
        call(__NR_munmap, page, bytes);
        call(__NR_munmap, page - page_bytes, ~(page_bytes - 1) - page);
        call(__NR_mprotect, page, bytes, PROT_NONE);
        call(__NR_pkey_mprotect, page, bytes, PROT_NONE, -1);
        call(__NR_madvise, page, bytes, MADV_DONTNEED);
        call(__NR_madvise, page, bytes, MADV_FREE);
        call(__NR_mremap, page, bytes, bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0);
        call(__NR_mmap, page, bytes, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      }
    };
    expect(runtime.launch({1, 1}, attack).ok(), not_served);
    expect(refused.load() == 8 * count, not_refused);
    expect_unharmed(runtime);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), good);
}

TEST_P(Hostile, a_kernel_may_unmap_its_own_mappings) {
  const int status = status_of_child([this] {
    std::set<int> own;
    Runtime runtime = start_and_look(own, server::CallPolicy::any);
    void* const mapped = ::mmap(nullptr, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::atomic<bool> unmapped{false};
    const auto unmap = [&] { unmapped = k2k::munmap(k2k::work_item, mapped, page_bytes).ok(); };
    expect(runtime.launch({1, 1}, unmap).ok() && unmapped.load(), not_served);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), good);
}

TEST_P(Hostile, no_call_can_signal_a_thread_of_k2k_or_end_the_process) {
  const int status = status_of_child([this] {
    std::set<int> own;
    Runtime runtime = start_and_look(own, server::CallPolicy::any);
    const std::vector<pid_t> threads = own_threads();
    expect(threads.size() >= 2, not_started);  // A service thread and a unit.
    siginfo_t information{};
    information.si_code = SI_QUEUE;
    const pid_t process = ::getpid();
    std::atomic<std::size_t> refused{0};
    const auto attack = [&] {
      const auto call = [&](auto... arguments) {
        const k2k::Reply reply = k2k::syscall(k2k::work_item, k2k::strong, arguments...);
        if (reply.error() == EPERM) refused.fetch_add(1);
      };
      for (const pid_t thread : threads) {
        call(__NR_tkill, thread, SIGSEGV);
        call(__NR_tgkill, process, thread, SIGSEGV);
        call(__NR_rt_tgsigqueueinfo, process, thread, SIGSEGV, &information);
        call(__NR_rt_sigqueueinfo, thread, SIGKILL, &information);
      }
      call(__NR_kill, process, SIGKILL);
      call(__NR_kill, 0, SIGKILL);
      call(__NR_rt_sigqueueinfo, process, SIGKILL, &information);
      call(__NR_rt_tgsigqueueinfo, process, process, SIGSTOP, &information);
    };
    expect(runtime.launch({1, 1}, attack).ok(), not_served);
    expect(refused.load() == 4 * threads.size() + 4, not_refused);
    expect_unharmed(runtime);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), good);
}

TEST_P(Hostile, no_call_can_open_memory_of_the_process_for_writing) {
  const int status = status_of_child([this] {
    std::set<int> own;
    Runtime runtime = start_and_look(own, server::CallPolicy::any);
    const std::string link = testing::TempDir() + "k2k_hostile_" + std::to_string(::getpid());
    expect(::symlink("/proc/self/mem", link.c_str()) == 0, not_started);
    const int process = ::open("/proc/self", O_PATH | O_CLOEXEC);
    std::atomic<std::uint64_t> word{7};
    std::atomic<int> refused{0};
    std::atomic<bool> opens_others{false};
    const auto attack = [&] {
      const auto try_to_write = [&](const k2k::Reply& file) {
        refused += file.error() == EPERM;
        const std::uint64_t forged = 8;
        if (file.ok()) {
          k2k::pwrite(k2k::work_item, file.fd(), &forged, 8, reinterpret_cast<std::int64_t>(&word));
        }
      };
      const char* const path = link.c_str();
      try_to_write(k2k::open(k2k::work_item, "/proc/self/mem", O_RDWR));
      try_to_write(k2k::open(k2k::work_item, "/proc/thread-self/mem", O_WRONLY));
      try_to_write(k2k::open(k2k::work_item, path, O_RDWR | O_CREAT, 0600));
      try_to_write(k2k::openat(k2k::work_item, process, "mem", O_RDWR));
      try_to_write(k2k::syscall(k2k::work_item, k2k::strong, __NR_creat, path, 0600));
      const std::uint64_t how[3] = {O_RDWR, 0, 0};
      try_to_write(
          k2k::syscall(k2k::work_item, k2k::strong, __NR_openat2, AT_FDCWD, path, how, 24));
      refused += k2k::syscall(k2k::work_item, k2k::strong, __NR_process_vm_writev, ::getpid(), 0, 0,
                              0, 0, 0)
                     .error() == EPERM;
      opens_others = k2k::open(k2k::work_item, "/dev/null", O_RDWR).ok();
    };
    expect(runtime.launch({1, 1}, attack).ok(), not_served);
    ::unlink(link.c_str());
    expect(word.load() == 7 && refused.load() == 7, not_refused);
    expect(opens_others.load(), not_served);
    expect_unharmed(runtime);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), good);
}

// Files by which a process or a thread changes itself: a service thread that writes them changes
// the host program, or every later call that it makes.
TEST_P(Hostile, no_call_can_change_the_process_by_a_file_of_its) {
  const int status = status_of_child([this] {
    std::set<int> own;
    Runtime runtime = start_and_look(own, server::CallPolicy::any);
    const auto content = [](const std::string& path) {
      std::string line;
      std::getline(std::ifstream(path), line);
      return line;
    };
    const std::string link = testing::TempDir() + "k2k_hostile_" + std::to_string(::getpid());
    expect(::symlink("/proc/self/oom_score_adj", link.c_str()) == 0, not_started);
    const int process = ::open("/proc/self", O_PATH | O_CLOEXEC);
    const int score = ::open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    const std::string again = "/proc/self/fd/" + std::to_string(score);
    const std::string before = content("/proc/self/oom_score_adj");
    const std::vector<std::string> paths = {
        "/proc/self/oom_score_adj",
        "/proc/self/oom_adj",
        "/proc/self/autogroup",
        "/proc/self/comm",
        "/proc/self/coredump_filter",
        "/proc/self/clear_refs",
        "/proc/self/timerslack_ns",
        "/proc/self/uid_map",
        "/proc/thread-self/comm",
        "/proc/thread-self/attr/current",
        "/proc/thread-self/attr/exec",
        "/proc/thread-self/attr/fscreate",
        "/proc/thread-self/attr/keycreate",
        "/proc/thread-self/attr/sockcreate",
        "/proc/" + std::to_string(::getppid()) + "/oom_score_adj",
        link,
        again,
    };
    std::atomic<int> written{0};
    std::atomic<int> refused{0};
    const auto attack = [&] {
      const auto try_to_write = [&](const k2k::Reply& file) {
        refused += file.error() == EPERM;
        if (file.ok()) written += k2k::write(k2k::work_item, file.fd(), "777", 3) == 3;
      };
      for (const std::string& path : paths) {
        try_to_write(k2k::open(k2k::work_item, path.c_str(), O_WRONLY));
      }
      try_to_write(k2k::openat(k2k::work_item, process, "oom_score_adj", O_RDWR));
      try_to_write(k2k::syscall(k2k::work_item, k2k::strong, __NR_creat, link.c_str(), 0600));
      const std::uint64_t how[3] = {O_WRONLY, 0, 0};
      try_to_write(
          k2k::syscall(k2k::work_item, k2k::strong, __NR_openat2, process, "comm", how, 24));
    };
    expect(runtime.launch({1, 1}, attack).ok(), not_served);
    ::unlink(link.c_str());
    // Linux may have no file of some names, or refuse this user by another error.
    expect(written.load() == 0 && refused.load() >= 9, not_refused);
    expect(content("/proc/self/oom_score_adj") == before, not_refused);
    expect(content("/proc/self/comm") != "777" && own_threads().size() >= 2, not_refused);
    expect_unharmed(runtime);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), good);
}

// The table of calls says which these are; a call that is not refused here could do any harm.
TEST_P(Hostile, every_call_that_the_table_refuses_answers_eperm) {
  const int status = status_of_child([this] {
    std::set<int> own;
    Runtime runtime = start_and_look(own, server::CallPolicy::any);
    std::vector<std::uint16_t> numbers;
    for (std::uint16_t number = 0; number < calls::entry_numbers_end; ++number) {
      const calls::Entry* const entry = calls::entry_of(number);
      if (entry != nullptr && entry->access == calls::Access::refused) numbers.push_back(number);
    }
    for (const int number : {__NR_ptrace, __NR_execve, __NR_io_uring_setup, __NR_kill}) {
      expect(std::ranges::find(numbers, number) != numbers.end(), not_refused);
    }
    std::atomic<std::size_t> refused{0};
    const auto attack = [&] {
      for (const std::uint16_t number : numbers) {
        refused +=
            k2k::syscall(k2k::work_item, k2k::strong, number, 0, 0, 0, 0, 0, 0).error() == EPERM;
      }
    };
    expect(runtime.launch({1, 1}, attack).ok(), not_served);
    expect(refused.load() == numbers.size(), not_refused);
    expect_unharmed(runtime);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), good);
}

TEST_P(Hostile, a_kernel_that_takes_all_descriptors_gets_emfile_and_k2k_goes_on) {
#ifdef K2K_ASAN
  GTEST_SKIP() << "UndefinedBehaviorSanitizer looks at objects through a pipe, for which no "
                  "descriptor is left";
#endif
  const int status = status_of_child([this] {
    constexpr std::uint64_t numbers = 128;
    const rlimit few{numbers, numbers};
    expect(::setrlimit(RLIMIT_NOFILE, &few) == 0, not_started);
    const Pair pipe;
    const Pair never;
    // Nothing has waited yet: K2K opens what it needs for a wait when the first call waits.
    Runtime runtime = start();
    std::atomic<int> taken{0};
    std::atomic<int> errors{0};
    const auto take = [&] {
      for (std::uint64_t round = 0; round < numbers; ++round) {
        const bool writes = round % 2 != 0;
        const k2k::Reply file = k2k::open(k2k::work_item, "/dev/null", writes ? O_RDWR : O_RDONLY);
        taken += file.ok();
        errors += file.error() == EMFILE;
      }
    };
    expect(runtime.launch({1, 1}, take).ok(), not_served);
    expect(taken.load() > 0 && errors.load() > 0, not_refused);
    expect(taken.load() + errors.load() == static_cast<int>(numbers), not_refused);
    expect(serves(runtime), not_served);
    std::thread host([&] {
      std::this_thread::sleep_for(30ms);
      static_cast<void>(::write(pipe.out(), "12345678", 8));
    });
    std::atomic<int> right{0};
    const auto wait = [&] {
      char letter = 0;
      right += k2k::read(k2k::work_item, k2k::halting, pipe.in(), &letter, 1) == 1;
    };
    expect(runtime.launch({1, 8}, wait).ok() && right.load() == 8, not_woken);
    host.join();
    std::this_thread::sleep_for(50ms);
    expect(busy_share(300ms) < 0.25, busy);
    ::close_range(64, numbers, 0);  // The kernel's are among these.
    expect(serves(runtime), not_served);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), good);
}

// The others make calls that a window holds together; were they held for ever, the flood would not
// end either.
TEST_P(Hostile, a_flood_of_urgent_calls_keeps_no_call_of_others_waiting) {
  const int status = status_of_child([this] {
    const bool coalesces = !GetParam().on_units;
    Runtime runtime = start([coalesces](RuntimeConfig& config) {
      config.server.coalesce_window_us = coalesces ? 2'000 : 0;
      config.server.coalesce_max = 4096;
    });
    constexpr std::uint32_t items = 32;
    constexpr std::uint32_t calls_of_others = 8;
    std::atomic<std::uint32_t> answered{0};
    std::atomic<std::uint32_t> urgent_answered{0};
    const auto flood = [&] {
      if (k2k::group_rank() == 0) {
        for (std::uint32_t call = 0; call < calls_of_others; ++call) {
          answered += k2k::getpid(k2k::work_item) == ::getpid();
        }
      }
      while (answered.load() < items * calls_of_others) {
        urgent_answered += k2k::getpid(k2k::work_item, k2k::urgent) == ::getpid();
      }
    };
    expect(runtime.launch({4, items}, flood).ok(), not_served);
    expect(urgent_answered.load() > 0, not_served);
    expect_unharmed(runtime);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), good);
}

TEST_P(Hostile, no_call_can_reap_a_child_of_the_host_program) {
  const int status = status_of_child([this] {
    std::set<int> own;
    Runtime runtime = start_and_look(own, server::CallPolicy::any);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(3);
    std::atomic<int> refused{0};
    std::atomic<bool> seen{false};
    siginfo_t information{};
    const auto attack = [&] {
      const auto wait = [&](auto... arguments) {
        return k2k::syscall(k2k::work_item, k2k::strong, arguments...);
      };
      seen = wait(__NR_waitid, P_PID, child, &information, WEXITED | WNOWAIT, 0).ok();
      refused += wait(__NR_wait4, child, 0, 0, 0).error() == EPERM;
      refused += wait(__NR_wait4, -1, 0, WNOHANG, 0).error() == EPERM;
      refused += wait(__NR_waitid, P_PID, child, &information, WEXITED, 0).error() == EPERM;
      refused += wait(__NR_waitid, P_ALL, 0, 0, WEXITED | WNOHANG, 0).error() == EPERM;
    };
    expect(runtime.launch({1, 1}, attack).ok(), not_served);
    expect(seen.load() && information.si_pid == child, not_served);
    expect(refused.load() == 4, not_refused);
    int exit_status = 0;
    expect(::waitpid(child, &exit_status, 0) == child && WEXITSTATUS(exit_status) == 3, child_lost);
    expect_unharmed(runtime);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), good);
}

TEST_P(Hostile, a_host_that_closes_them_all_gets_no_abort_and_no_busy_thread) {
  const int status = status_of_child([this] {
    std::set<int> own;
    {
      Runtime runtime = start_and_look(own, server::CallPolicy::any);
      for (const int number : own) ::close(number);
      expect(serves(runtime), not_served);
      expect(wakes(runtime), not_woken);
      std::this_thread::sleep_for(50ms);
      expect(busy_share(300ms) < 0.25, busy);
    }
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), good);
}

}  // namespace
}  // namespace k2k::conformance::hostile_test
