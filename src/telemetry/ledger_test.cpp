// Goal: whatever stages charge, the ledger's sum equals the CPU clock, and each period's time goes
// to the calls and tenants served in it.

#include "telemetry/ledger.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <stop_token>
#include <thread>
#include <vector>

namespace k2k::telemetry {
namespace {

using namespace std::chrono_literals;

constexpr double ns_per_cycle = 0.5;
constexpr std::size_t calls = 3;
constexpr std::size_t tenants = 2;
constexpr std::size_t cores = 2;

class Ledger : public testing::Test {
 protected:
  CpuLedger ledger{calls, tenants, cores};

  std::uint64_t of(Stage stage) const { return ledger.stage_ns(static_cast<std::size_t>(stage)); }
  std::uint64_t stages() const {
    std::uint64_t sum = 0;
    for (std::size_t stage = 0; stage < stage_count; ++stage) sum += ledger.stage_ns(stage);
    return sum;
  }
  std::uint64_t all_calls() const {
    return ledger.call_ns(0) + ledger.call_ns(1) + ledger.call_ns(2) + ledger.idle_ns();
  }
};

TEST_F(Ledger, is_empty_before_it_is_settled) {
  ledger.charge(Stage::service, 1000, 1, 0);
  EXPECT_EQ(stages(), 0u);
  EXPECT_EQ(ledger.call_ns(1), 0u);
}

TEST_F(Ledger, counts_time_without_a_stage_as_upkeep) {
  ledger.charge(Stage::service, 1000, 1, 1);
  ledger.settle(0, 800ns, ns_per_cycle, 0);
  EXPECT_EQ(of(Stage::service), 500u);
  EXPECT_EQ(of(Stage::upkeep), 300u);
  EXPECT_EQ(ledger.call_ns(1), 800u);
  EXPECT_EQ(ledger.tenant_ns(1), 800u);
  EXPECT_EQ(ledger.tenant_ns(0), 0u);
}

TEST_F(Ledger, subtracts_the_time_of_other_threads_from_all_stages) {
  ledger.charge(Stage::service, 3000, 0, 0);  // 1,500 ns, of which the thread ran 400.
  ledger.charge(Stage::polling, 1000);
  ledger.settle(0, 400ns, ns_per_cycle, 0);
  EXPECT_EQ(of(Stage::service), 300u);
  EXPECT_EQ(of(Stage::polling), 100u);
  EXPECT_EQ(of(Stage::upkeep), 0u);
}

TEST_F(Ledger, divides_a_period_among_the_calls_served_in_it) {
  ledger.charge(Stage::service, 300, 0, 0);
  ledger.charge(Stage::completion, 100, 2, 1);
  ledger.charge(Stage::polling, 9'000);
  ledger.settle(0, 8'000ns, ns_per_cycle, 1);
  EXPECT_EQ(ledger.call_ns(0), 6'000u);
  EXPECT_EQ(ledger.call_ns(2), 2'000u);
  EXPECT_EQ(ledger.tenant_ns(0), 6'000u);
  EXPECT_EQ(ledger.tenant_ns(1), 2'000u);
  EXPECT_EQ(ledger.core_ns(1), 8'000u);
  EXPECT_EQ(ledger.idle_ns(), 0u);
}

TEST_F(Ledger, counts_a_period_without_calls_as_idle) {
  ledger.charge(Stage::polling, 100);
  ledger.settle(0, 70ns, ns_per_cycle, 0);
  EXPECT_EQ(ledger.idle_ns(), 70u);
  EXPECT_EQ(of(Stage::polling), 50u);
}

TEST_F(Ledger, begins_each_period_afresh) {
  ledger.charge(Stage::service, 1000, 0, 0);
  ledger.settle(0, 500ns, ns_per_cycle, 0);
  ledger.charge(Stage::service, 1000, 1, 1);
  ledger.settle(0, 1'000ns, ns_per_cycle, 1);
  EXPECT_EQ(ledger.call_ns(0), 500u);
  EXPECT_EQ(ledger.call_ns(1), 500u);
  EXPECT_EQ(ledger.core_ns(0), 500u);
  EXPECT_EQ(ledger.core_ns(1), 500u);
}

TEST_F(Ledger, keeps_its_sums_equal_to_the_clock) {
  // Periods of every kind: idle, preempted, with upkeep; a clock that stands still loses no charge.
  std::uint64_t clock = 0;
  for (std::uint64_t period = 1; period < 500; ++period) {
    if (period % 3 != 0) ledger.charge(Stage::service, 37 * period, period % calls, period % 2);
    ledger.charge(Stage::polling, 11 * period % 301);
    clock += 13 * period % 1009;
    ledger.settle(period, Nanoseconds(static_cast<std::int64_t>(clock)), ns_per_cycle, period % 2);
  }
  const double all = static_cast<double>(clock);
  EXPECT_NEAR(static_cast<double>(stages()), all,
              500 * stage_count);  // One nanosecond per rounding.
  EXPECT_NEAR(static_cast<double>(all_calls()), all, 500 * calls);
  EXPECT_NEAR(static_cast<double>(ledger.tenant_ns(0) + ledger.tenant_ns(1) + ledger.idle_ns()),
              all, 500 * tenants);
  EXPECT_EQ(ledger.core_ns(0) + ledger.core_ns(1), clock);
}

TEST_F(Ledger, is_copied_as_of_one_moment) {
  const std::jthread owner([&](const std::stop_token& end) {
    // Even times, which nothing rounds; no two settlements are alike.
    std::uint64_t clock = 0;
    for (std::uint64_t period = 1; !end.stop_requested(); ++period) {
      if (period % 3 != 0) ledger.charge(Stage::service, 8, period % calls, period % tenants);
      clock += 4 + 2 * (period % 7);
      ledger.settle(period, Nanoseconds(static_cast<std::int64_t>(clock)), ns_per_cycle,
                    period % cores);
      std::this_thread::yield();  // Service threads settle once a millisecond.
    }
  });
  std::uint64_t last = 0;
  for (int settled_between = 0; settled_between < 2'000;) {
    const LedgerSums sums = ledger.sums();
    const auto sum_of = [](const std::vector<std::uint64_t>& of) {
      return std::accumulate(of.begin(), of.end(), std::uint64_t{0});
    };
    ASSERT_EQ(sum_of(sums.cores), sums.total());
    ASSERT_EQ(sum_of(sums.calls) + sums.idle, sums.total());
    ASSERT_EQ(sum_of(sums.tenants) + sums.idle, sums.total());
    ASSERT_GE(sums.total(), last);
    settled_between += sums.total() != last ? 1 : 0;
    last = sums.total();
  }
}

TEST_F(Ledger, adds_the_sums_of_several_threads) {
  ledger.charge(Stage::service, 8, 1, 0);
  ledger.settle(0, 6ns, ns_per_cycle, 0);
  CpuLedger other{calls, tenants, cores};
  other.settle(0, 10ns, ns_per_cycle, 1);
  LedgerSums both(calls, tenants, cores);
  both += ledger.sums();
  both += other.sums();
  EXPECT_EQ(both.total(), 16u);
  EXPECT_EQ(both.stages[static_cast<std::size_t>(Stage::service)], 4u);
  EXPECT_EQ(both.calls, (std::vector<std::uint64_t>{0, 6, 0}));
  EXPECT_EQ(both.tenants, (std::vector<std::uint64_t>{6, 0}));
  EXPECT_EQ(both.cores, (std::vector<std::uint64_t>{6, 10}));
  EXPECT_EQ(both.idle, 10u);
}

TEST_F(Ledger, counts_the_charges_of_a_thread_with_other_work_less_the_time_of_other_threads) {
  ledger.begin_part(1'000, 0ns);
  ledger.charge(Stage::polling, 50);
  ledger.charge(Stage::service, 150, 1, 1);
  // The thread had its core for half of 1,000 cycles.
  const auto half = static_cast<std::int64_t>(1'000 * ns_per_cycle / 2);
  ledger.settle_part(2'000, Nanoseconds(half), ns_per_cycle, 1);
  const double counted = 200 * ns_per_cycle / 2;
  EXPECT_NEAR(static_cast<double>(stages()), counted, 2);
  EXPECT_NEAR(static_cast<double>(ledger.call_ns(1)), counted, 2);
  EXPECT_NEAR(static_cast<double>(ledger.core_ns(1)), counted, 2);
  EXPECT_EQ(ledger.idle_ns(), 0u);
  // A period that has only the thread's other work counts for no stage.
  ledger.settle_part(3'000, Nanoseconds(2 * half), ns_per_cycle, 1);
  EXPECT_NEAR(static_cast<double>(stages()), counted, 2);
}

TEST_F(Ledger, counts_a_core_beyond_its_table_as_the_last_core) {
  ledger.settle(0, 10ns, ns_per_cycle, 17);
  EXPECT_EQ(ledger.core_ns(1), 10u);
}

TEST_F(Ledger, is_due_after_its_period) {
  ledger.settle(1'000, 10ns, ns_per_cycle, 0);
  EXPECT_FALSE(ledger.due(1'499, 500));
  EXPECT_TRUE(ledger.due(1'500, 500));
}

}  // namespace
}  // namespace k2k::telemetry
