// Goal: a CPU quota is made where Linux permits it and leaves no group behind, faults under it are
// measured for each share, and a machine without the right says what it needs.

#include "labs/translation/measured/quota_faults.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "labs/translation/measured/cpu_quota.hpp"

namespace k2k::labs::translation {
namespace {

// The group of this process, if there is one.
std::string group_left() {
  for (const char* const root : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu"}) {
    const std::string path = std::string(root) + "/k2k-quota-" + std::to_string(::getpid());
    if (std::filesystem::exists(path)) return path;
  }
  return {};
}

TEST(CpuGroupPlace, is_that_of_the_controller_cpu_or_of_version_2) {
  const auto first = cpu_group_place("9:name=systemd:/\n3:cpuset:/a\n1:cpu,cpuacct:/box\n0::/b\n");
  EXPECT_EQ(first.folder, "/sys/fs/cgroup/cpu,cpuacct/box");
  EXPECT_FALSE(first.second);
  const auto second = cpu_group_place("0::/user.slice/one.scope\n");
  EXPECT_EQ(second.folder, "/sys/fs/cgroup/user.slice/one.scope");
  EXPECT_TRUE(second.second);
  EXPECT_EQ(cpu_group_place("1:cpu:/\n").folder, "/sys/fs/cgroup/cpu");
  EXPECT_EQ(cpu_group_place("0::/\n").folder, "/sys/fs/cgroup");
}

TEST(CpuGroupPlace, of_a_text_without_one_is_nowhere) {
  for (const char* const text : {"", "\n", "nonsense\n", "3:cpuset:/a\n", "4:memory\n"}) {
    EXPECT_EQ(cpu_group_place(text).folder, "") << text;
  }
}

TEST(ThreadsNamed, are_those_whose_names_begin_so) {
  std::atomic<bool> over{false};
  std::thread named([&] {
    ::pthread_setname_np(::pthread_self(), "quota/7");
    over.wait(false);
  });
  while (threads_named("quota/").empty()) std::this_thread::yield();
  EXPECT_EQ(threads_named("quota/").size(), 1u);
  EXPECT_TRUE(threads_named("no such thread").empty());
  over = true;
  over.notify_all();
  named.join();
}

TEST(CpuQuota, holds_threads_and_leaves_no_group) {
  {
    auto quota = CpuQuota::create();
    if (!quota) {
      EXPECT_NE(quota.error().message.find("run as root, or: systemd-run"), std::string::npos);
      GTEST_SKIP() << quota.error().message;
    }
    EXPECT_NE(group_left(), "");
    const Status held = quota->hold({::gettid()});
    ASSERT_TRUE(held) << held.error().message;
    for (const double share : {0.5, 0.01, 1.0}) {
      const Status limited = quota->limit(share);
      EXPECT_TRUE(limited) << share << ": " << limited.error().message;
    }
    const Status ended = quota->hold({999'999'999});
    EXPECT_TRUE(ended) << "a thread that has ended needs no limit";
  }
  EXPECT_EQ(group_left(), "");
}

TEST(QuotaFaults, are_measured_for_each_share_and_number_at_a_time) {
  const auto points = quota_faults(64, 2);
  if (!points) GTEST_SKIP() << points.error().message;
  EXPECT_EQ(points->size(), 2 * std::size(quota_shares));
  for (const QuotaPoint& point : points.value()) {
    ASSERT_EQ(point.us.size(), 2u);
    for (const double us : point.us) EXPECT_GT(us, 0) << point.share << ' ' << point.at_a_time;
  }
  EXPECT_EQ(group_left(), "");
}

}  // namespace
}  // namespace k2k::labs::translation
