// Goal: reads that need the disk have pread's answers, whatever happens meanwhile: other calls get
// stuck, files are closed or cut, processes fork, launches and runtimes end. Where there is a ring,
// its thread answers them; where the kernel refuses rings, the pool does.
// Method: a file whose pages are evicted, with content of its own in each page.

#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "io/engine/ring.hpp"
#include "io/file/refused_calls_fixture.hpp"
#include "tests/conformance/device_under_test.hpp"
#include "tests/conformance/faults_fixture.hpp"

namespace k2k::conformance::cold_reads_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t pages = 512;
constexpr std::uint32_t groups = 16;
constexpr std::uint32_t items = 32;
constexpr std::size_t file_bytes = pages * page;

std::string text_of_file() {
  std::string text(file_bytes, '\0');
  for (std::size_t at = 0; at < pages; ++at) {
    const std::string name = std::to_string(at) + " is the number of this page. ";
    for (std::size_t byte = 0; byte < page; ++byte)
      text[at * page + byte] = name[byte % name.size()];
  }
  return text;
}

class ColdReads : public DeviceUnderTest {
 protected:
  ColdReads() { ::fdatasync(file_.fd); }

  void evict() const {
    ASSERT_EQ(::posix_fadvise(file_.fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    ASSERT_EQ(::posix_fadvise(file_.fd, 0, 0, POSIX_FADV_RANDOM), 0);
  }
  // Threads of this process with this name.
  static std::ptrdiff_t threads_named(const std::string& wanted) {
    std::ptrdiff_t count = 0;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::getline(std::ifstream(thread.path() / "comm"), name);
      count += name.starts_with(wanted) ? 1 : 0;
    }
    return count;
  }
  // Can a ring read this file? Otherwise the ring's thread does not start.
  [[nodiscard]] bool suits_a_ring() const {
    struct statfs facts{};
    const bool is_ext4 = ::fstatfs(file_.fd, &facts) == 0 && facts.f_type == 0xef53;
    return is_ext4 && io::Ring::create_for_this_thread(4).ok();
  }
  // Each work-item reads one page. Returns the number of wrong answers.
  int read_all_pages(Runtime& runtime) {
    const int fd = file_.fd;
    char* const into = memory_.data();
    const char* const right = text_.data();
    std::atomic<int> wrong{0};
    launch(runtime, groups, items, [&] {
      const std::size_t which = (k2k::group_rank() * items + k2k::item_rank()) * 37 % pages;
      char* const mine = into + which * page;
      wrong += k2k::pread(k2k::work_item, fd, mine, page, which * page) != page;
      wrong += !std::equal(mine, mine + page, right + which * page);
    });
    return wrong;
  }

  // For a child process: reads all pages `rounds` times, by its own runtime. Returns an exit
  // status.
  int status_of_own_runtime(int rounds) {
    Result<Runtime> own = Runtime::create(config_of(GetParam()));
    if (!own) return 2;
    for (int round = 0; round < rounds; ++round) {
      evict();
      if (read_all_pages(own.value()) != 0) return 3;
    }
    return 0;
  }

  const std::string text_ = text_of_file();
  const TemporaryFile file_{text_};
  std::vector<char> memory_ = std::vector<char>(file_bytes);
};
K2K_EVERY_DEVICE(ColdReads);

TEST_P(ColdReads, bring_the_file_by_one_thread) {
  for (const bool router : {true, false}) {
    Runtime runtime = start([&](RuntimeConfig& config) { config.files.router = router; });
    EXPECT_EQ(read_all_pages(runtime), 0);
    const std::ptrdiff_t before = threads_named("k2k/reads");
    for (int round = 0; round < 4; ++round) {
      std::fill(memory_.begin(), memory_.end(), 'x');
      evict();
      EXPECT_EQ(read_all_pages(runtime), 0);
    }
    EXPECT_EQ(runtime.stats().in_flight, 0u);
    EXPECT_LE(before, 1)
        << "the first read may start it, if the busy machine did not answer from the page cache";
    if (suits_a_ring()) {
      EXPECT_EQ(threads_named("k2k/reads"), 1);
      EXPECT_EQ(threads_named("iou-"), 0) << "no cap counts the kernel's workers";
    }
  }
}

TEST_P(ColdReads, end_where_the_file_does) {
  Runtime runtime = start();
  ASSERT_EQ(::ftruncate(file_.fd, static_cast<off_t>(file_bytes - 100)), 0);
  const int fd = file_.fd;
  char* const into = memory_.data();
  std::atomic<int> wrong{0};
  evict();
  launch(runtime, 1, items, [&] {
    const std::size_t rank = k2k::item_rank();
    const std::size_t begin = file_bytes - (rank + 1) * 50;
    const long count = k2k::pread(k2k::work_item, fd, into + rank * page, page, begin);
    wrong += count != std::max(0l, static_cast<long>(rank) * 50 - 50);
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(ColdReads, wait_for_no_memory_that_gets_stuck) {
  if (GetParam().on_units) GTEST_SKIP() << unit_waits;
  StuckMemory stuck(1);
  if (!stuck.ok()) GTEST_SKIP() << StuckMemory::needs;
  char* const held = static_cast<char*>(const_cast<void*>(stuck.data()));
  Runtime runtime = start();
  const int fd = file_.fd;
  char* const into = memory_.data();
  evict();
  std::atomic<std::uint32_t> done{0};
  std::atomic<int> wrong{0};
  std::thread releaser([&] {
    while (done.load() < items - 1 || !stuck.awaited()) std::this_thread::sleep_for(100us);
    stuck.release('x');
  });
  launch(runtime, 1, items, [&] {
    const std::size_t rank = k2k::item_rank();
    if (rank == 0) {
      wrong += k2k::pread(k2k::work_item, fd, held, page, 0) != page;
      return;
    }
    for (std::size_t read = 0; read < 4; ++read) {
      const std::size_t which = rank * 4 + read;
      wrong += k2k::pread(k2k::work_item, fd, into + which * page, page, which * page) != page;
    }
    ++done;
  });
  releaser.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(held[0], text_[0]);
}

TEST_P(ColdReads, have_an_answer_of_pread_while_the_file_is_cut_and_closed) {
  Runtime runtime = start();
  char* const into = memory_.data();
  const char* const right = text_.data();
  const int nothing = ::open("/", O_PATH | O_CLOEXEC);  // A read of it answers EBADF.
  for (int round = 0; round < 8; ++round) {
    const int fd = ::open(file_.path.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    evict();
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    std::atomic<int> wrong{0};
    std::atomic<long> other{0};
    std::atomic<std::uint32_t> begun{0};
    std::thread host([&] {
      while (begun.load() < 8) std::this_thread::yield();
      EXPECT_EQ(::ftruncate(fd, static_cast<off_t>(pages / 2 * page)), 0);
      // Closed; the number stays taken, so that nothing else gets it. By the call itself:
      // ThreadSanitizer would report the race, which is meant.
      EXPECT_EQ(::syscall(SYS_dup3, nothing, fd, O_CLOEXEC), fd);
    });
    launch(runtime, 4, items, [&] {
      const std::size_t which = (k2k::group_rank() * items + k2k::item_rank()) * 37 % pages;
      char* const mine = into + which * page;
      ++begun;
      const long count = k2k::pread(k2k::work_item, fd, mine, page, which * page);
      if (count != 0 && count != -EBADF && count != page) other = count;
      if (count == page) wrong += !std::equal(mine, mine + page, right + which * page);
    });
    host.join();
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(other.load(), 0) << "no answer of pread";
    ::close(fd);
    ASSERT_EQ(::pwrite(file_.fd, right, file_bytes, 0), static_cast<ssize_t>(file_bytes));
    ::fdatasync(file_.fd);
  }
  ::close(nothing);
}

TEST_P(ColdReads, of_a_cancelled_launch_end) {
  Runtime runtime = start();
  const int fd = file_.fd;
  char* const into = memory_.data();
  for (int round = 0; round < 4; ++round) {
    evict();
    std::atomic<std::uint32_t> begun{0};
    std::thread host([&] {
      while (begun.load() < 8) std::this_thread::yield();
      runtime.cancel();
    });
    // The work-items read until the launch is cancelled.
    const Result<LaunchReport> report = runtime.launch(
        {groups, items},
        [&] {
          const std::size_t which = (k2k::group_rank() * items + k2k::item_rank()) % pages;
          for (std::size_t read = 0;; ++read) {
            ++begun;
            const std::size_t at = (which + read) % pages * page;
            const long count = k2k::pread(k2k::work_item, fd, into + which * page, page, at);
            if (count < 0) return;
            k2k::syscall(k2k::work_item, k2k::strong, SYS_fadvise64, fd, 0, 0, POSIX_FADV_DONTNEED);
          }
        },
        "cancelled");
    host.join();
    EXPECT_FALSE(report.ok());
  }
  evict();
  EXPECT_EQ(read_all_pages(runtime), 0);
}

TEST_P(ColdReads, in_flight_do_not_hold_the_end) {
  const int fd = file_.fd;
  char* const into = memory_.data();
  for (int round = 0; round < 4; ++round) {
    evict();
    Runtime runtime = start([](RuntimeConfig& config) { config.server.shutdown_ms = 0; });
    launch(runtime, 4, items, [&] {
      const std::size_t which = k2k::group_rank() * items + k2k::item_rank();
      k2k::pread(k2k::work_item, k2k::detached, fd, into + which * page, page, which * page);
    });
  }
  const Instant patience = now() + 10s;
  while (threads_named("k2k/reads") != 0 && now() < patience) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(threads_named("k2k/reads"), 0);
}

TEST_P(ColdReads, belong_to_the_parent_where_a_process_forks) {
  Runtime runtime = start();
  const int fd = file_.fd;
  char* const into = memory_.data();
  const char* const right = text_.data();
  std::atomic<bool> over{false};
  std::atomic<int> wrong{0};
  std::atomic<std::uint32_t> reads{0};
  evict();
  std::thread reader([&] {
    launch(runtime, 4, items, [&] {
      const std::size_t rank = k2k::group_rank() * items + k2k::item_rank();
      char* const mine = into + rank * page;
      for (std::size_t read = rank; !over.load(); read += 37) {
        const std::size_t which = read % pages;
        wrong += k2k::pread(k2k::work_item, fd, mine, page, which * page) != page;
        wrong += !std::equal(mine, mine + page, right + which * page);
        k2k::syscall(k2k::work_item, k2k::strong, SYS_fadvise64, fd, which * page, page,
                     POSIX_FADV_DONTNEED);
        ++reads;
      }
    });
  });
  for (std::uint32_t count = 0; count < 10; ++count) {
    while (reads.load() < 100 * count + 1) std::this_thread::sleep_for(100us);
    const int status =
        status_of_child([&] { ::_exit(child_of_threads_can_run ? status_of_own_runtime(1) : 0); });
    EXPECT_EQ(status, 0);
  }
  over = true;
  reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(ColdReads, of_processes_without_a_ring_are_made_by_the_pool) {
  for (const unsigned code : {static_cast<unsigned>(ENOSYS), static_cast<unsigned>(EPERM)}) {
    const int status = status_of_child([&] {
      if (!io::refuse_call(SYS_io_uring_setup, code)) ::_exit(io::no_filter);
      const int read = status_of_own_runtime(3);
      ::_exit(read == 0 && threads_named("k2k/reads") != 0 ? 4 : read);
    });
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == io::no_filter) GTEST_SKIP() << "no filter of system calls";
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

TEST_P(ColdReads, have_a_ring_without_a_number) {
  // The router's own engines have such descriptors.
  Runtime runtime = start([](RuntimeConfig& config) { config.files.router = false; });
  evict();
  EXPECT_EQ(read_all_pages(runtime), 0);
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    EXPECT_NE(std::filesystem::read_symlink(each.path(), gone), "anon_inode:[io_uring]");
  }
}

TEST_P(ColdReads, a_cap_counts_them) {
  constexpr std::uint32_t cap_permille = 100;
  Runtime runtime = start([](RuntimeConfig& config) { config.server.cap_permille = cap_permille; });
  const server::Stats before = runtime.stats();
  const Instant begin = now();
  for (std::uint32_t round = 0; round < scaled(20, 3); ++round) {
    evict();
    EXPECT_EQ(read_all_pages(runtime), 0);
  }
  const double elapsed = std::chrono::duration<double>(now() - begin).count();
  const double spent = runtime.stats().thread_seconds - before.thread_seconds;
  EXPECT_LT(spent / elapsed / std::thread::hardware_concurrency(),
            cap_permille * 0.0013 + 0.01 / elapsed)
      << spent << " s of " << elapsed;
}

}  // namespace
}  // namespace k2k::conformance::cold_reads_test
