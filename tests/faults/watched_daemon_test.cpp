// Goal: k2k watch finds the CPU time of a file system's daemon, a load of known size.
// Method: the tests' own file system serves reads that no cache answers. The daemon's process clock
// (clock_getcpuclockid(3)) has the true time.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "base/clock.hpp"
#include "cli/watch/report.hpp"
#include "tests/faults/mounted_fixture.hpp"

namespace k2k::faults {
namespace {

constexpr std::size_t file_bytes = std::size_t{1} << 20;

double cpu_s_of(pid_t process) {
  clockid_t clock{};
  timespec time{};
  EXPECT_EQ(::clock_getcpuclockid(process, &clock), 0);
  EXPECT_EQ(::clock_gettime(clock, &time), 0);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

watch::Evidence look() {
  Result<watch::Snapshot> snapshot = watch::take_snapshot({});
  EXPECT_TRUE(snapshot.ok());
  watch::Evidence evidence;
  if (snapshot) evidence.snapshot = std::move(snapshot).value();
  return evidence;
}

void read_past_the_cache(const std::string& path, Nanoseconds time) {
  const io::Opened file(::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  ASSERT_GE(file.number(), 0) << std::strerror(errno);
  void* const memory = std::aligned_alloc(4096, file_bytes);
  const Instant end = now() + time;
  while (now() < end) {
    ASSERT_EQ(::pread(file.number(), memory, file_bytes, 0), static_cast<ssize_t>(file_bytes));
  }
  std::free(memory);
}

TEST(WatchedDaemon, is_found_with_its_cpu_time_within_a_tenth) {
  const std::string refused = FaultFileSystem::refused();
  if (!refused.empty()) GTEST_SKIP() << refused;
  const FaultFileSystem mounted;
  if (!mounted.error().empty()) GTEST_SKIP() << mounted.error();
  mounted.make_file("data", file_bytes);
  // A thread's name has 15 characters.
  const Result<watch::Rules> rules = watch::Rules::parse(
      "[[rule]]\nwhere='thread'\nmatch=['fault_file_*']\npart='fuse'\n"
      "kind='filesystem'\nprograms=true\n",
      "test");
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  const watch::Evidence before = look();
  const double began_s = cpu_s_of(mounted.server());
  read_past_the_cache(mounted.mount_point() + "/data", std::chrono::milliseconds(600));
  const double passed_s = cpu_s_of(mounted.server()) - began_s;
  const watch::Report report = watch::compare(before, look(), rules.value(), {});
  double found_s = 0;
  for (const watch::Row& row : report.rows) {
    if (row.part == "fuse" && row.source == "thread") found_s += row.cpu_s;
  }
  ASSERT_GT(passed_s, 0.01) << "the daemon served too little";
  EXPECT_NEAR(found_s / passed_s, 1, 0.1);
}

}  // namespace
}  // namespace k2k::faults
