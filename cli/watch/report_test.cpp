// Goal: CPU time gets the right device, driver and core, and none is lost or counted twice.
// Method: trees of /proc and /sys of other machines, looked at twice; and this machine.

#include "cli/watch/report.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "base/clock.hpp"
#include "base/cores.hpp"
#include "base/sources_fixture.hpp"
#include "cli/watch/sum_fixture.hpp"
#include "cli/watch/tree_fixture.hpp"

namespace k2k::watch {
namespace {

Evidence look_at(const Roots& roots) {
  Result<Snapshot> snapshot = take_snapshot(roots);
  EXPECT_TRUE(snapshot.ok()) << (snapshot ? "" : snapshot.error().message);
  Evidence evidence;
  if (snapshot) evidence.snapshot = std::move(snapshot).value();
  return evidence;
}

// What the whole counters of a tree are, as if the machine had just started.
Report since_boot(const Roots& roots) {
  const Evidence after = look_at(roots);
  Evidence before;
  for (const auto& [core, times] : after.snapshot.times) before.snapshot.times[core] = {};
  return compare(before, after, Rules::built_in(), find_owners(roots, after.snapshot.interrupts));
}

const Row* find_row(const Report& report, const std::string& name) {
  for (const Row& row : report.rows) {
    if (row.name == name) return &row;
  }
  ADD_FAILURE() << "no row " << name;
  return nullptr;
}

using WatchMachines = SourcesTest;

TEST_F(WatchMachines, with_nvidia_have_their_interrupts_and_threads_found) {
  const Tree tree(root_, "nvidia");
  const Report report = since_boot(tree.roots());
  const Row* row = find_row(report, "nvidia");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->part, "nvidia");
  EXPECT_EQ(row->device, "0000:41:00.0");
  EXPECT_EQ(row->driver, "nvidia");
  EXPECT_EQ(row->count, 1200u);
  // 0.1 s of interrupts on core 0, by counts: 1200 of 1200 + 40 + 9000 + 50.
  EXPECT_NEAR(row->cpu_s, 0.1 * 1200 / 10290, 1e-9);
  EXPECT_EQ(row->by_core.size(), 1u);
  row = find_row(report, "irq/57-nvidia");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->part, "nvidia");
  EXPECT_EQ(row->device, "0000:41:00.0");
  EXPECT_NEAR(row->cpu_s, 0.05, 1e-9);
  for (const char* name : {"nv_queue", "UVM global queue", "UVM GPU1 BH", "nvidia-modeset/"}) {
    row = find_row(report, name);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->kind, "accelerator") << name;
  }
  EXPECT_EQ(find_row(report, "nvme0q1")->driver, "nvme");
  EXPECT_EQ(find_row(report, "mlx5_comp0@pci:0000:05:00.0")->part, "network");
  row = find_row(report, "kworker nvme-wq");
  EXPECT_EQ(row->part, "storage");
  EXPECT_TRUE(row->estimated);
  EXPECT_EQ(find_row(report, "ksoftirqd")->part, "kernel");
}

TEST_F(WatchMachines, with_amd_have_page_requests_of_the_iommu) {
  const Tree tree(root_, "amd");
  const Report report = since_boot(tree.roots());
  EXPECT_EQ(find_row(report, "amdgpu")->driver, "amdgpu");
  EXPECT_EQ(find_row(report, "irq/27-AMD-Vi")->part, "iommu");
  EXPECT_EQ(find_row(report, "kworker iopf_queue/amdvi")->part, "iommu");
  for (const char* name :
       {"kworker amdgpu-reset-dev", "kworker kfd_process_wq", "gfx_0.0.0", "sdma0"}) {
    EXPECT_EQ(find_row(report, name)->part, "amdgpu") << name;
  }
}

TEST_F(WatchMachines, with_xe_have_page_faults_of_the_gpu) {
  const Tree tree(root_, "xe");
  const Report report = since_boot(tree.roots());
  EXPECT_EQ(find_row(report, "xe")->device, "0000:03:00.0");
  EXPECT_EQ(find_row(report, "kworker xe-ordered-wq")->part, "xe");
  EXPECT_EQ(find_row(report, "kworker xe_gt_page_fault_wo")->part, "xe");
  EXPECT_EQ(find_row(report, "dmar0")->part, "iommu");  // sysfs names no action: the text does.
  EXPECT_EQ(find_row(report, "irq/151-dmar0")->part, "iommu");
}

TEST_F(WatchMachines, with_virtio_have_the_driver_behind_the_transport) {
  const Tree tree(root_, "virtio");
  const Report report = since_boot(tree.roots());
  EXPECT_EQ(find_row(report, "virtio1-req.0")->driver, "virtio_blk");
  EXPECT_EQ(find_row(report, "virtio1-req.0")->device, "virtio1");
  EXPECT_EQ(find_row(report, "virtio3-rx")->part, "network");
  EXPECT_EQ(find_row(report, "virtio4-input")->part, "virtio");
  EXPECT_EQ(find_row(report, "kworker virtio_vsock")->part, "virtio");
  EXPECT_EQ(find_row(report, "vhost-940")->part, "vhost");  // A program's thread, by its rule.
}

TEST_F(WatchMachines, lose_no_time_of_interrupts_and_softirqs_by_dividing_it) {
  for (const char* machine : {"nvidia", "amd", "xe", "virtio"}) {
    const Tree tree(root_, machine);
    const Report report = since_boot(tree.roots());
    double interrupts_s = 0;
    double softirqs_s = 0;
    for (const Row& row : report.rows) {
      if (row.source == "interrupt") interrupts_s += row.cpu_s;
      if (row.source == "softirq") softirqs_s += row.cpu_s;
    }
    EXPECT_NEAR(interrupts_s, report.classes.interrupts_s, 1e-9) << machine;
    EXPECT_NEAR(softirqs_s, report.classes.softirqs_s, 1e-9) << machine;
  }
}

TEST_F(WatchMachines, that_did_nothing_have_no_row) {
  const Tree tree(root_, "nvidia");
  const Evidence evidence = look_at(tree.roots());
  const Report report = compare(evidence, evidence, Rules::built_in(), {});
  EXPECT_TRUE(report.rows.empty());
  EXPECT_EQ(report.classes.covered(), 0);
  EXPECT_EQ(report.own_share(), 0);
}

TEST_F(WatchMachines, lose_a_thread_and_a_core_without_an_error) {
  const Tree tree(root_, "nvidia");
  const Evidence before = look_at(tree.roots());
  std::filesystem::remove_all(tree.path("proc/700"));
  std::filesystem::remove_all(tree.path("proc/701/schedstat"));
  tree.write("proc/stat", "cpu0 1100 0 200 2000 0 10 15 0 0 0\n");
  const Report report = compare(before, look_at(tree.roots()), Rules::built_in(), {});
  EXPECT_EQ(report.cores, std::vector<int>{0});
  EXPECT_EQ(report.went_offline, std::vector<int>{1});
  EXPECT_NEAR(report.by_core.at(0).user_s, 1, 1e-9);
}

TEST_F(WatchMachines, give_a_number_that_another_thread_took_to_the_new_thread_alone) {
  const Tree tree(root_, "virtio");
  Evidence before = look_at(tree.roots());
  Evidence after = before;
  before.snapshot.threads.at(32).stat.start_ticks -= 1;
  before.snapshot.threads.at(32).cpu_s = 5;
  const Report report = compare(before, after, Rules::built_in(), {});
  EXPECT_NEAR(find_row(report, "kworker writeback")->cpu_s, 0.006, 1e-9);
}

TEST_F(WatchMachines, without_a_file_have_it_named) {
  const Tree tree(root_, "virtio");
  std::filesystem::remove(tree.path("proc/softirqs"));
  Result<Snapshot> snapshot = take_snapshot(tree.roots());
  ASSERT_FALSE(snapshot.ok());
  EXPECT_NE(snapshot.error().message.find("proc/softirqs: No such file"), std::string::npos);
  tree.write("proc/stat", "nothing\n");
  snapshot = take_snapshot(tree.roots());
  ASSERT_FALSE(snapshot.ok());
  EXPECT_NE(snapshot.error().message.find("names no core"), std::string::npos);
}

// Sums as the programs in the kernel keep them, without the programs.
TEST_F(WatchMachines, with_tracepoints_have_work_items_and_the_harm_of_threads) {
  const Tree tree(root_, "virtio");
  Evidence before = look_at(tree.roots());
  Evidence after = before;
  after.snapshot.threads.at(1).waited_s += 0.5;
  before.traced.emplace();
  Traced& traced = after.traced.emplace();
  before.traced->spent[{Taker::interrupt, 36}][1] = {1, 10};
  traced.spent[{Taker::interrupt, 36}][1] = {1.25, 14};
  traced.spent[{Taker::vector, 0}][0] = {0.125, 3};
  traced.spent[{Taker::vector, 99}][0] = {0.125, 1};
  traced.spent[{Taker::softirq, 3}][0] = {0.5, 2};
  traced.spent[{Taker::thread, 32}][0] = {0.75, 5};
  traced.spent[{Taker::thread, 4711}][1] = {0.25, 1};
  traced.spent[{Taker::work, 0xabc}][0] = {0.5, 4};
  traced.spent[{Taker::program, 0}][0] = {2, 1};
  traced.spent[{Taker::idle, 0}][1] = {3, 0};
  traced.functions[0xabc] = "nvme_keep_alive_work";
  traced.threads[4711] = "nv_queue";
  traced.harms[{32, 1}] = {"kworker", "systemd", 0.25, 2};
  traced.harms[{4711, 1}] = {"nv_queue", "systemd", 0.125, 1};
  traced.interrupted_s[1] = 0.0625;
  const Report report = compare(before, after, Rules::built_in(),
                                find_owners(tree.roots(), after.snapshot.interrupts));
  const Row* row = find_row(report, "virtio1-req.0");
  ASSERT_NE(row, nullptr);
  EXPECT_DOUBLE_EQ(row->cpu_s, 0.25);
  EXPECT_EQ(row->count, 4u);
  EXPECT_FALSE(row->estimated);
  EXPECT_EQ(find_row(report, "local_timer")->part, "timer");
  EXPECT_EQ(find_row(report, "NET_RX")->part, "network");
  EXPECT_EQ(find_row(report, "nvme_keep_alive_work")->part, "storage");
  EXPECT_DOUBLE_EQ(find_row(report, "kworker, between work items")->cpu_s, 0.25);
  EXPECT_EQ(find_row(report, "nv_queue")->part, "nvidia");  // It ended before the second look.
  EXPECT_DOUBLE_EQ(report.classes.user_s, 2);
  EXPECT_DOUBLE_EQ(report.classes.kernel_threads_s, 1);
  EXPECT_DOUBLE_EQ(report.classes.interrupts_s, 0.5);
  EXPECT_DOUBLE_EQ(report.classes.softirqs_s, 0.5);
  EXPECT_DOUBLE_EQ(report.classes.idle_s, 3);
  EXPECT_TRUE(report.complete);
  traced.lost = 1;
  EXPECT_FALSE(compare(before, after, Rules::built_in(), {}).complete);
  ASSERT_EQ(report.harms.size(), 2u);
  EXPECT_EQ(report.harms[0].cause, "kworker writeback");
  EXPECT_DOUBLE_EQ(report.harms[0].waited_s, 0.25);
  ASSERT_EQ(report.victims.size(), 1u);
  EXPECT_DOUBLE_EQ(report.victims[0].waited_s, 0.5);
  EXPECT_DOUBLE_EQ(*report.victims[0].behind_s, 0.375);
  EXPECT_DOUBLE_EQ(*report.victims[0].interrupted_s, 0.0625);
}

// Threads of the test's own, on this machine.
class Busy {
 public:
  explicit Busy(const char* name) : thread_([this, name] { burn(name); }) {}
  ~Busy() { end(); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  double end() {
    ending_ = true;
    if (thread_.joinable()) thread_.join();
    return cpu_s_;
  }
  [[nodiscard]] double cpu_s() const { return cpu_s_; }

 private:
  void burn(const char* name) {
    ::prctl(PR_SET_NAME, name);
    while (!ending_) cpu_s_ = static_cast<double>(thread_time().count()) / 1e9;
  }
  std::atomic<bool> ending_{false};
  std::atomic<double> cpu_s_{0};
  std::thread thread_;
};

Rules rules_for(const char* name) {
  Result<Rules> rules = Rules::parse(std::string("[[rule]]\nwhere='thread'\nmatch=['") + name +
                                         "']\npart='load'\nkind='accelerator'\nprograms=true\n",
                                     "test");
  EXPECT_TRUE(rules.ok());
  return std::move(rules).value();
}

// The classes have sources of their own, so their sum shows whether time is lost. /proc counts in
// ticks, and processes end while it is read, many of them beside a build: the best of up to 30
// looks counts. An error of the method would be in each. Every core is busy, because /proc/stat
// itself loses time of partly idle cores.
TEST(WatchHere, accounts_for_a_busy_time_within_two_percent) {
  std::vector<std::unique_ptr<Busy>> loads;
  while (loads.size() < usable_cores()) loads.push_back(std::make_unique<Busy>("k2k-load"));
  double best = 1;
  for (int round = 0; round < 30 && best > 0.02; ++round) {
    const Evidence before = look_at({});
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    best = std::min(best, error_of_sum(compare(before, look_at({}), Rules::built_in(), {})));
  }
  EXPECT_LE(best, 0.02);
}

TEST(WatchHere, finds_a_known_load_within_a_tenth) {
  const std::string name =
      "load-" + std::to_string(::getpid());  // Tests beside it have loads, too.
  Busy load(name.c_str());
  const Evidence before = look_at({});
  const double began_s = load.cpu_s();
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  const Evidence after = look_at({});
  const double passed_s = load.cpu_s() - began_s;
  const Report report = compare(before, after, rules_for(name.c_str()), {});
  const Row* row = find_row(report, name.c_str());
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->part, "load");
  EXPECT_NEAR(row->cpu_s / passed_s, 1, 0.1);
}

}  // namespace
}  // namespace k2k::watch
