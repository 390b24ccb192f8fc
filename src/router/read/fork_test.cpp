// Goal: a child forked at any moment of other threads' reads can read itself: no lock and no guard
// of a static variable that a thread of the parent held blocks it. Method: fresh processes, eight
// threads each, and forks one after another; an alarm kills a child that hangs.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

#include "router/file/file_fixture.hpp"
#include "router/profile/profile.hpp"
#include "router/read/file_reader.hpp"

namespace k2k::router {
namespace {

constexpr unsigned patience_s = 6;
constexpr int threads = 8;
constexpr int forks = 25;
constexpr int processes = 4;
constexpr std::size_t read_bytes = 4 << 20;
constexpr std::size_t part_bytes = 256 << 10;

// Exit statuses.
constexpr int right = 0;
constexpr int hung = 1;
constexpr int wrong = 2;

std::unique_ptr<FileReader> reader_of_profiles() {
  auto made = FileReader::create({.model_of = calibrated_model, .grain_pages = 1});
  if (!made) ::_exit(wrong);
  return std::move(made).value();
}

bool reads(FileReader& reader, DataFile& file, std::size_t offset) {
  const Memory memory = memory_of(part_bytes);
  const ssize_t count =
      reader.pread(file.descriptor(), memory.get(), part_bytes, static_cast<std::int64_t>(offset));
  return count == static_cast<ssize_t>(part_bytes) &&
         std::memcmp(memory.get(), &file.bytes()[offset], part_bytes) == 0;
}

int status_of_child(FileReader& reader, DataFile& file, std::size_t offset) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(patience_s);
    reader.after_fork_child();
    ::_exit(reads(reader, file, offset) ? right : wrong);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return wrong;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return hung;
  return WIFEXITED(status) ? WEXITSTATUS(status) : wrong;
}

// For a process that has read nothing yet: starts threads that read, and forks children meanwhile.
[[noreturn]] void fork_under_load(DataFile& file, std::size_t seed) {
  file.evict();
  const auto reader = reader_of_profiles();
  std::atomic<bool> go{false};
  std::atomic<bool> stop{false};
  for (std::size_t index = 0; index < threads; ++index) {
    std::thread([&, index] {
      while (!go.load()) continue;
      for (std::size_t at = index; !stop.load(); at += threads) {
        if (!reads(*reader, file, at * part_bytes % read_bytes)) ::_exit(wrong);
      }
    }).detach();
  }
  go.store(true);
  int status = right;
  for (int round = 0; round < forks && status == right; ++round) {
    // The forks begin with the first reads of the process, at another moment in each process.
    for (std::size_t spin = 0; spin < (seed + 1) * 20'000; ++spin) asm volatile("");
    status = status_of_child(*reader, file, static_cast<std::size_t>(round) % 16 * part_bytes);
  }
  ::_exit(status);
}

// Runs in a program of its own, where no other test has initialised static variables.
[[noreturn]] void fork_in_fresh_processes() {
  DataFile file(read_bytes);
  int worst = right;
  for (std::size_t process = 0; process < processes && worst == right; ++process) {
    const pid_t child = ::fork();
    if (child == 0) fork_under_load(file, process);
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
      worst = wrong;
    } else {
      worst = WEXITSTATUS(status);
    }
  }
  ::unlink(file.path().c_str());
  ::_exit(worst);
}

TEST(Forking, a_child_forked_at_any_moment_of_other_reads_can_read) {
#if defined(K2K_TSAN)
  GTEST_SKIP() << "ThreadSanitizer permits no thread in the child of a process that has threads";
#elif defined(K2K_ASAN)
  GTEST_SKIP() << "AddressSanitizer's malloc (GCC 12) leaves a child the locks of other threads";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(fork_in_fresh_processes(), testing::ExitedWithCode(right), "");
}

}  // namespace
}  // namespace k2k::router
