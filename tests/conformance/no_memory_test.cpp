// Goal: a lack of memory after the start ends no process. Calls are served, or answered by ENOMEM;
// the runtime continues once memory is available again, and ends normally.
// Method: a child process with an address space limited to its current size, and with a full heap
// that all threads share.

#include <malloc.h>
#include <sys/wait.h>

#include "base/cores.hpp"
#include "k2k/demand_region.hpp"
#include "tests/conformance/all_memory.hpp"
#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::no_memory_test {
namespace {

enum Outcome { good, not_started, not_served, wrong_answer, not_well_again };

class NoMemory : public DeviceUnderTest {
 protected:
  void SetUp() override {
#if defined(K2K_TSAN) || defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "a sanitizer needs an address space without limits";
#endif
  }

  static void expect(bool right, Outcome otherwise) {
    if (!right) ::_exit(otherwise);
  }
  static bool serves(Runtime& runtime) {
    std::atomic<int> right{0};
    const auto report =
        runtime.launch({4, 32}, [&] { right += k2k::getpid(k2k::work_item) == ::getpid(); });
    return report.ok() && right.load() == 128;
  }

  // Calls of every kind; each may be answered by ENOMEM.
  static void call_without_memory(Runtime& runtime, const Pair& full, const Pair& empty,
                                  const TemporaryFile& file) {
    std::atomic<int> wrong{0};
    const auto one_of = [&wrong](long answer, long wanted) {
      wrong += answer != wanted && answer != -ENOMEM ? 1 : 0;
    };
    const auto kernel = [&] {
      char bytes[16] = {};
      const timespec moment{0, 300'000};
      one_of(k2k::getpid(k2k::work_item), ::getpid());
      one_of(k2k::nanosleep(k2k::work_item, &moment, nullptr), 0);
      one_of(k2k::nanosleep(k2k::work_item, k2k::halting, &moment, nullptr), 0);
      one_of(k2k::pread(k2k::work_item, file.fd, bytes, 8, 0), 8);
      one_of(k2k::read(k2k::work_item, full.in(), bytes, 1), 1);
      k2k::close(k2k::work_item, k2k::detached, -1 - static_cast<int>(global_rank()));
      k2k::read(k2k::work_item, k2k::detached, empty.in(), bytes, 0);
      k2k::syscall(k2k::work_item, k2k::strong, 110);
    };
    int launches = 0;
    for (int round = 0; round < 3; ++round) {
      launches += runtime.launch({8, 32}, kernel, "greedy").ok() ? 1 : 0;
    }
    expect(launches == 3, not_served);
    expect(wrong.load() == 0, wrong_answer);
  }

  void survive(const std::function<void(RuntimeConfig&)>& adjust) {
    const int status = status_of_child([&] {
      ::mallopt(M_ARENA_MAX, 1);
      const TemporaryFile file("12345678");
      const Pair full;
      const Pair empty;
      expect(::write(full.out(), std::string(8 * 32 * 3, 'x').data(), 8 * 32 * 3) > 0, not_started);
      Runtime runtime = start(adjust);
      expect(serves(runtime), not_started);
      {
        const AllMemory all;
        call_without_memory(runtime, full, empty, file);
      }
      static_cast<void>(runtime.drain());
      expect(serves(runtime), not_well_again);
    });
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), good);
  }
};
K2K_EVERY_DEVICE(NoMemory);

// Long reads take the router's path, mapped pages take faults; both read from the disk.
TEST_P(NoMemory, ends_no_process_that_reads_files) {
  constexpr std::size_t part = 1 << 20;
  constexpr std::size_t parts = 8;
  const int status = status_of_child([this] {
    ::mallopt(M_ARENA_MAX, 1);
    const TemporaryFile file;
    for (std::size_t at = 0; at < parts; ++at) {
      const std::string content(part, static_cast<char>('a' + at));
      expect(::pwrite(file.fd, content.data(), part, static_cast<off_t>(at * part)) ==
                 static_cast<ssize_t>(part),
             not_started);
    }
    ::fsync(file.fd);
    ::posix_fadvise(file.fd, 0, 0, POSIX_FADV_DONTNEED);
    Runtime runtime = start();
    const DemandRegion region = DemandRegion::file(runtime, file.fd, 0, parts * part).value();
    auto* const into = static_cast<char*>(runtime.allocate_shared(parts * part).value());
    char* const mapped = reinterpret_cast<char*>(region.data());
    expect(serves(runtime), not_started);
    std::atomic<int> right{0};
    std::atomic<int> refused{0};
    const auto read_all = [&] {
      const std::size_t rank = k2k::item_rank();
      char* const mine = into + rank * part;
      const long count =
          k2k::pread(k2k::work_item, file.fd, mine, part, static_cast<std::int64_t>(rank * part));
      const bool whole = count == static_cast<long>(part) &&
                         mine[0] == static_cast<char>('a' + rank) && mine[part - 1] == mine[0];
      right += whole ? 1 : 0;  // Without memory for the router the kernel reads.
      const long answer = k2k::fault_in(k2k::work_item, mapped + rank * part, part, 0);
      right += answer >= 0 && mapped[rank * part + part - 1] == static_cast<char>('a' + rank);
      refused += answer == -ENOMEM ? 1 : 0;
    };
    {
      const AllMemory all;
      expect(runtime.launch({1, parts}, read_all, "reader").ok(), not_served);
    }
    expect(right.load() + refused.load() == 2 * parts, wrong_answer);
    right.store(0);
    expect(runtime.launch({1, parts}, read_all, "reader").ok(), not_well_again);
    expect(right.load() == 2 * parts, not_well_again);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), good);
}

TEST_P(NoMemory, ends_no_process) {
  survive([](RuntimeConfig&) {});
}
TEST_P(NoMemory, ends_no_process_whose_bottom_half_is_split) {
  survive([](RuntimeConfig& config) {
    config.server.bottom_half = server::BottomHalfMode::split;
    config.server.trace = true;
  });
}
TEST_P(NoMemory, ends_no_process_whose_cap_follows_a_canary) {
  survive([](RuntimeConfig& config) {
    config.server.cap_permille = 300;
    config.server.governor = governor::Policy::automatic;
    // The canary measures as often but lowers no cap: on an emulated processor `auto` would serve
    // hardly any request, because every running thread takes progress from the canary.
    config.server.loss_max_permille = 1000;
  });
}
TEST_P(NoMemory, ends_no_process_whose_cap_looks_for_idle_cores) {
  if (usable_cores() < online_cores())
    GTEST_SKIP() << "idle cores are visible only to a process that may use all cores";
  survive([](RuntimeConfig& config) {
    config.server.cap_permille = 300;
    config.server.governor = governor::Policy::displaced;
  });
}
TEST_P(NoMemory, ends_no_process_whose_tenants_have_budgets) {
  survive([](RuntimeConfig& config) {
    config.server.cap_permille = 300;
    config.server.tenants = "0:weight=2 1:weight=1";
  });
}

}  // namespace
}  // namespace k2k::conformance::no_memory_test
