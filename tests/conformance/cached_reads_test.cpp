// Goal: the server may make a read while it reads the bundle's slots, if the page cache answered
// the reads before it. Such reads have pread's answers, delay no other call if one of them waits
// after all, and are counted as other reads. Method: a source page that stays missing until the
// test releases it, behind a descriptor that answered all earlier reads at once.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "router/read/cached_read.hpp"
#include "tests/conformance/device_under_test.hpp"
#include "tests/conformance/faults_fixture.hpp"

namespace k2k::conformance::cached_reads_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t pages = 64;
constexpr const char* cannot_tell = "this file system cannot tell whether a read would wait";

// Every page has content of its own.
std::string text_of_file() {
  std::string text;
  for (std::size_t at = 0; at < pages; ++at) text += std::string(page, static_cast<char>('0' + at));
  return text;
}

class CachedReads : public DeviceUnderTest {
 protected:
  static std::ptrdiff_t threads() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  }
  // From now on the server makes these reads on the spot, if the file system permits it. On a busy
  // machine a read may take so long that the server takes it for one that waited.
  bool begin_streak(Runtime& runtime) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      read_all_pages(runtime);
      if (router::CachedReads::of_process().is_plain(file_.fd, page)) return true;
    }
    return false;
  }
  void read_all_pages(Runtime& runtime) {
    const int fd = file_.fd;
    char* const into = memory_.data();
    std::atomic<int> wrong{0};
    launch(runtime, 1, 1, [&] {
      for (std::size_t read = 0; read < 2 * pages; ++read) {
        wrong += k2k::pread(k2k::work_item, fd, into, page, (read % pages) * page) != page;
      }
    });
    EXPECT_EQ(wrong.load(), 0);
  }

  const TemporaryFile file_{text_of_file()};
  std::vector<char> memory_ = std::vector<char>(pages * page);
};

TEST_P(CachedReads, bring_the_file_and_are_counted_among_others) {
  constexpr std::uint32_t items = 48;
  constexpr std::uint32_t rounds = scaled(100, 10);
  Runtime runtime = start();
  if (!begin_streak(runtime)) GTEST_SKIP() << cannot_tell;
  const server::Stats before = runtime.stats();
  const int fd = file_.fd;
  char* const into = memory_.data();
  std::atomic<int> wrong{0};
  const auto kernel = [&] {
    const std::size_t rank = k2k::item_rank();
    char* const mine = into + rank * page;
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::size_t which = (rank + round) % pages;
      wrong += k2k::pread(k2k::work_item, fd, mine, page, which * page) != page;
      wrong += mine[0] != static_cast<char>('0' + which) || mine[page - 1] != mine[0];
      if (rank % 3 == 0) wrong += k2k::nop(k2k::work_item) != 0;
      if (rank % 3 == 1) wrong += k2k::getpid(k2k::work_item) != ::getpid();
      // A short read at the end, an empty one behind it, and reads that the kernel refuses.
      if (rank % 8 == 2) {
        wrong += k2k::pread(k2k::work_item, fd, mine, page, pages * page - 7) != 7;
        wrong += k2k::pread(k2k::work_item, fd, mine, page, pages * page) != 0;
        wrong += k2k::pread(k2k::work_item, fd, nullptr, page, 0) != -EFAULT;
        wrong += k2k::pread(k2k::work_item, fd, mine, page, -1) != -EINVAL;
      }
    }
  };
  std::thread other([&] {
    Result<LaunchReport> report =
        runtime.launch({.groups = 1, .group_items = items, .tenant = 5}, kernel, "tenant 5");
    EXPECT_TRUE(report.ok());
  });
  launch(runtime, 1, items, kernel);
  other.join();
  EXPECT_EQ(wrong.load(), 0);
  const server::Stats stats = runtime.stats();
  EXPECT_EQ(stats.in_flight, 0u);
  constexpr std::uint64_t one = std::uint64_t{rounds} * (items + items / 3 * 2 + items / 8 * 4);
  EXPECT_EQ(stats.requests - before.requests, 2 * one);
  ASSERT_EQ(stats.tenants.size(), 2u);
  EXPECT_EQ(stats.tenants[1].requests, one);
}

TEST_P(CachedReads, that_get_stuck_delay_no_other_call) {
  if (GetParam().on_units) GTEST_SKIP() << unit_waits;
  constexpr std::uint32_t items = 24;
  constexpr int rounds = scaled(12, 3);
  Runtime runtime = start();
  const int fd = file_.fd;
  char* const into = memory_.data();
  for (int round = 0; round < rounds; ++round) {
    if (!begin_streak(runtime)) GTEST_SKIP() << cannot_tell;
    StuckMemory stuck(1);
    if (!stuck.ok()) GTEST_SKIP() << StuckMemory::needs;
    char* const held = static_cast<char*>(const_cast<void*>(stuck.data()));
    std::atomic<std::uint32_t> done{0};
    std::atomic<int> wrong{0};
    std::thread releaser([&] {
      while (done.load() < items - 1 || !stuck.awaited()) std::this_thread::sleep_for(100us);
      stuck.release('x');
    });
    // The stuck lane's number varies, so that it is before and behind others of its bundle.
    const auto unlucky = static_cast<std::uint32_t>(round) * 7 % items;
    launch(runtime, 1, items, [&] {
      const std::uint32_t rank = k2k::item_rank();
      k2k::barrier();
      if (rank == unlucky) {
        wrong += k2k::pread(k2k::work_item, fd, held, page, rank * page) != page;
        return;
      }
      for (std::size_t read = 0; read < 20; ++read) {
        char* const mine = into + rank * page;
        wrong += k2k::pread(k2k::work_item, fd, mine, page, read * page) != page;
        wrong += mine[0] != static_cast<char>('0' + read);
        wrong += k2k::getpid(k2k::work_item) != ::getpid();
      }
      ++done;
    });
    releaser.join();
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(held[0], static_cast<char>('0' + unlucky));
    EXPECT_EQ(held[page - 1], held[0]);
  }
  const server::Stats stats = runtime.stats();
  EXPECT_EQ(stats.in_flight, 0u);
  // Behind a stage a worker makes the call, and holds no role.
  if (!GetParam().staged) {
    EXPECT_GE(stats.takeovers, 1u);
  }
}

TEST_P(CachedReads, that_get_stuck_do_not_delay_the_end) {
  if (GetParam().on_units) GTEST_SKIP() << unit_waits;
  // Kept: threads that are left behind may still write to it when the next test has begun.
  static std::vector<std::unique_ptr<StuckMemory>> kept;
  StuckMemory& stuck = *kept.emplace_back(std::make_unique<StuckMemory>(1));
  if (!stuck.ok()) GTEST_SKIP() << StuckMemory::needs;
  char* const held = static_cast<char*>(const_cast<void*>(stuck.data()));
  const int fd = file_.fd;
  std::thread([] {}).join();  // With the first thread ThreadSanitizer starts one of its own.
  const std::ptrdiff_t before = threads();
  {
    std::optional<Runtime> runtime(
        start([](RuntimeConfig& config) { config.server.shutdown_ms = 20; }));
    if (!begin_streak(*runtime)) GTEST_SKIP() << cannot_tell;
    launch(*runtime, 1, 8, [&] { k2k::pread(k2k::work_item, k2k::detached, fd, held, page, 0); });
    while (!stuck.awaited()) std::this_thread::sleep_for(100us);
    runtime.reset();
  }
  stuck.release('x');
  // Threads left behind find that no caller waits any more, and end.
  // Twice in a row, because a list of threads may lack some while threads end.
  int settled = 0;
  for (int look = 0; look < 5000 && settled < 2; ++look) {
    settled = threads() == before ? settled + 1 : 0;
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(settled, 2) << threads() << " threads, " << before << " before";
  EXPECT_EQ(held[0], '0');
}

TEST_P(CachedReads, of_evicted_pages_bring_them_again) {
  Runtime runtime = start();
  const int fd = file_.fd;
  char* const into = memory_.data();
  std::atomic<int> wrong{0};
  for (int round = 0; round < 4; ++round) {
    if (!begin_streak(runtime)) GTEST_SKIP() << cannot_tell;
    ::fdatasync(fd);
    ASSERT_EQ(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    launch(runtime, 1, pages, [&] {
      const std::size_t rank = k2k::item_rank();
      const std::size_t which = rank * 37 % pages;
      char* const mine = into + rank * page;
      wrong += k2k::pread(k2k::work_item, fd, mine, page, which * page) != page;
      wrong += mine[0] != static_cast<char>('0' + which);
    });
  }
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(runtime.stats().in_flight, 0u);
}

INSTANTIATE_TEST_SUITE_P(, CachedReads, testing::ValuesIn(setups()), name_of);

}  // namespace
}  // namespace k2k::conformance::cached_reads_test
