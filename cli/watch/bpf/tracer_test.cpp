// Goal: the programs in the kernel lose no time and count none twice.
// Skipped, with the reason, where BPF cannot be used.

#include "cli/watch/bpf/tracer.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "base/cores.hpp"
#include "cli/watch/bpf/readiness.hpp"
#include "cli/watch/sum_fixture.hpp"
#include "cli/watch/watcher.hpp"

namespace k2k::watch {
namespace {

// A thread for each core that only computes.
class BusyCores {
 public:
  BusyCores() {
    while (threads_.size() < usable_cores()) {
      threads_.emplace_back([this] {
        while (!ending_) {
        }
      });
    }
  }
  ~BusyCores() {
    ending_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  BusyCores(const BusyCores&) = delete;
  BusyCores& operator=(const BusyCores&) = delete;

 private:
  std::atomic<bool> ending_{false};
  std::vector<std::thread> threads_;
};

class Tracing : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::optional<Error> missing = no_bpf()) GTEST_SKIP() << missing->message;
    const Result<std::unique_ptr<Tracer>> tracer = Tracer::start();
    if (!tracer && tracer.error().code == EPERM) GTEST_SKIP() << tracer.error().message;
    ASSERT_TRUE(tracer.ok()) << tracer.error().message;
    watcher_.emplace(Roots{}, Rules::built_in(), true);
    ASSERT_EQ(watcher_->no_trace(), "");
  }
  // Two looks with 400 ms between them.
  Report watch() {
    const Result<Evidence> before = watcher_->look();
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    const Result<Evidence> after = watcher_->look();
    EXPECT_TRUE(before.ok() && after.ok());
    if (!before || !after) return {};
    interrupts_before_ = before->snapshot.interrupts;
    interrupts_after_ = after->snapshot.interrupts;
    return watcher_->since(before.value(), after.value());
  }
  static double count_of(const std::vector<CountedLine>& lines, const std::string& id) {
    double sum = 0;
    for (const CountedLine& line : lines) {
      if (line.id != id) continue;
      for (const auto& [core, count] : line.by_core) sum += static_cast<double>(count);
    }
    return sum;
  }

  std::optional<Watcher> watcher_;
  std::vector<CountedLine> interrupts_before_;
  std::vector<CountedLine> interrupts_after_;
};

// Threads that never leave their cores by themselves: their time counts before they leave, too.
// Every core is busy, because /proc/stat itself loses time of partly idle cores.
TEST_F(Tracing, accounts_for_a_busy_time_within_two_percent) {
  const BusyCores busy;
  double best = 1;
  for (int round = 0; round < 5 && best > 0.02; ++round) {
    best = std::min(best, error_of_sum(watch()));
  }
  EXPECT_LE(best, 0.02);
}

// The two counts begin and end some interrupts apart.
TEST_F(Tracing, counts_the_timer_interrupts_that_the_kernel_counts) {
  const BusyCores busy;
  const Report report = watch();
  const double counted = count_of(interrupts_after_, "LOC") - count_of(interrupts_before_, "LOC");
  for (const Row& row : report.rows) {
    if (row.name != "local_timer") continue;
    EXPECT_FALSE(row.estimated);
    EXPECT_NEAR(static_cast<double>(*row.count), counted, 0.1 * counted + 10);
    EXPECT_GT(row.cpu_s, 0);
    return;
  }
  EXPECT_EQ(counted, 0) << "no timer interrupt was traced";
}

TEST_F(Tracing, rows_add_up_to_their_classes) {
  const Report report = watch();
  double interrupts_s = 0;
  double softirqs_s = 0;
  double threads_s = 0;
  for (const Row& row : report.rows) {
    if (row.source == "interrupt") interrupts_s += row.cpu_s;
    if (row.source == "softirq") softirqs_s += row.cpu_s;
    if (row.kind != "virtual" && (row.source == "thread" || row.source == "work")) {
      threads_s += row.cpu_s;
    }
    EXPECT_NE(row.name, "?");
  }
  EXPECT_NEAR(interrupts_s, report.classes.interrupts_s, 1e-6);
  EXPECT_NEAR(softirqs_s, report.classes.softirqs_s, 1e-6);
  EXPECT_GT(threads_s, 0);
}

// The programs are gone with their watcher: the kernel lists none of this name any more.
TEST_F(Tracing, a_second_watcher_starts_beside_the_first_and_after_it) {
  EXPECT_TRUE(Tracer::start().ok());
  watcher_.reset();
  EXPECT_TRUE(Tracer::start().ok());
}

}  // namespace
}  // namespace k2k::watch
