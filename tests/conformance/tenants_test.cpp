// Goal: under one cap, tenants get CPU time by their budgets on every path of their requests. No
// tenant loses a request to another tenant's debt, to a reconfiguration or to the runtime's end.
// Method: one kernel in which work-groups call as different tenants, like several launches side by
// side. Shares are compared with each other, never with the wall clock.

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "device/platform/cpu.hpp"
#include "k2k/demand_region.hpp"
#include "k2k/device.hpp"
#include "k2k/runtime.hpp"
#include "runtime/report/stats_text.hpp"

namespace k2k::conformance::tenants_test {
namespace {

using namespace std::chrono_literals;

RuntimeConfig config_of(const char* mode, std::uint32_t cap_permille, const char* tenants) {
  RuntimeConfig config;
  config.device.compute_units = 1;
  config.server.cap_permille = cap_permille;
  config.server.tenants = tenants;
  if (std::string_view(mode) == "split") {
    config.server.bottom_half = server::BottomHalfMode::split;
  } else if (std::string_view(mode) == "staged") {
    config.server.bottom_half = server::BottomHalfMode::staged;
  }
  return config;
}

// Makes the calling work-item this tenant. A slot is untrusted: a kernel may write any tenant.
void pose_as(std::uint16_t tenant) {
  const_cast<device::platform::Item&>(device::platform::current()).tenant = tenant;
}

struct Load {
  std::vector<std::uint16_t> tenants;  // A work-group each.
  std::size_t bytes = 4096;            // Random bytes per call.
  long number = SYS_getrandom;
};

// The numbers of right and wrong answers to an Asking.
struct Answers {
  std::atomic<std::uint64_t> right{0};
  std::atomic<std::uint64_t> wrong{0};
};

// Makes the calls of a Load from a launch of its own until stop().
class Asking {
 public:
  Asking(Runtime& runtime, Load load) : load_(std::move(load)) {
    const std::size_t items = load_.tenants.size() * 16;
    buffer_ = static_cast<std::byte*>(runtime.allocate_shared(items * load_.bytes).value());
    runtime_ = &runtime;
    thread_ = std::thread([this] {
      const auto groups = static_cast<std::uint32_t>(load_.tenants.size());
      const auto report =
          runtime_->launch({.groups = groups, .group_items = 16}, [this] { ask_on_and_on(); });
      ended_well_ = report.ok();
    });
  }
  ~Asking() {
    stop();
    runtime_->free_shared(buffer_);
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] bool ended_well() const { return ended_well_; }

  Answers answers;

 private:
  void ask_on_and_on() {
    const std::uint32_t group = device::platform::current().group;
    pose_as(load_.tenants[group]);
    std::byte* const mine = buffer_ + (group * 16 + k2k::item_rank()) * load_.bytes;
    while (!stop_) {
      const std::int64_t value =
          load_.number == SYS_getrandom
              ? k2k::syscall(k2k::work_item, k2k::halting, SYS_getrandom, mine, load_.bytes, 0)
                    .value()
              : k2k::syscall(k2k::work_item, k2k::halting, load_.number).value();
      const bool right = load_.number == SYS_getrandom
                             ? value == static_cast<std::int64_t>(load_.bytes)
                             : value == ::getpid();
      ++(right ? answers.right : answers.wrong);
    }
  }

  Load load_;
  Runtime* runtime_;
  std::byte* buffer_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> ended_well_{false};
  std::thread thread_;
};

double cpu_of(const server::Stats& stats, std::uint32_t tenant) {
  for (const server::TenantStats& each : stats.tenants) {
    if (each.tenant == tenant) return each.cpu_seconds;
  }
  return 0;
}

// A ratio of threads' work is steady only if the host gives them their cores: the best of five
// measurements, and no more measurements than needed to exceed `wanted`. `run` returns less than 1
// for an even division.
template <class Run>
double best_ratio(double wanted, Run run) {
  double best = 0;
  for (int attempt = 0; attempt < 5 && best <= wanted; ++attempt) best = std::max(best, run());
  return best;
}

// In the split configuration, hand-overs to other threads take so long that a tenant sometimes has
// no request when its part is due, and the other tenant borrows it.
class Tenants : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static bool split() { return std::string_view(GetParam()) == "split"; }
};
INSTANTIATE_TEST_SUITE_P(Of, Tenants, testing::Values("monolithic", "split"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(Tenants, share_the_cap_by_weight) {
  const double wanted = split() ? 1.2 : 1.7;
  const double ratio = best_ratio(wanted, [] {
    // Long calls and a small cap: so the cap binds also where other programs leave a core's tenth.
    auto runtime = Runtime::create(config_of(GetParam(), 30, "1:weight=3 2:weight=1"));
    Asking asking(runtime.value(), {{1, 2}, 65536});
    std::this_thread::sleep_for(1200ms);
    asking.stop();
    EXPECT_TRUE(asking.ended_well());
    EXPECT_EQ(asking.answers.wrong, 0u);
    const server::Stats stats = runtime->stats();
    EXPECT_EQ(stats.governor.budgets.size(), 3u);
    EXPECT_GT(stats.governor.budgets[1].waits + stats.governor.budgets[2].waits, 0u);
    EXPECT_LT(cpu_of(stats, 1), 5 * cpu_of(stats, 2)) << to_table(stats);
    return cpu_of(stats, 1) / cpu_of(stats, 2);
  });
  EXPECT_GT(ratio, wanted);
}

TEST_P(Tenants, that_are_answered_on_the_spot_share_it_too) {
  const double wanted = split() ? 1.1 : 1.5;
  const double ratio = best_ratio(wanted, [] {
    auto runtime = Runtime::create(config_of(GetParam(), 20, "1:weight=3 2:weight=1"));
    Asking asking(runtime.value(), {{1, 2}, 16, SYS_getpid});
    std::this_thread::sleep_for(1200ms);
    asking.stop();
    EXPECT_EQ(asking.answers.wrong, 0u);
    const server::Stats stats = runtime->stats();
    return cpu_of(stats, 1) / cpu_of(stats, 2);
  });
  EXPECT_GT(ratio, wanted);
}

TEST_P(Tenants, borrow_the_unused_parts_of_idle_tenants) {
  const auto served = [](const char* mode, std::vector<std::uint16_t> tenants) {
    auto runtime = Runtime::create(config_of(mode, 100, "1:weight=1 2:weight=9"));
    Asking asking(runtime.value(), {std::move(tenants)});
    std::this_thread::sleep_for(700ms);
    asking.stop();
    return cpu_of(runtime->stats(), 1);
  };
  const double wanted = split() ? 1.4 : 2.5;
  const double ratio = best_ratio(wanted, [&] {
    const double alone = served(GetParam(), {1, 1});
    return alone / served(GetParam(), {1, 2});
  });
  EXPECT_GT(ratio, wanted);
}

TEST_P(Tenants, keep_their_answers_while_budgets_come_change_and_go) {
  auto runtime = Runtime::create(config_of(GetParam(), 50, "1:weight=3 2:weight=1"));
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  Asking asking(runtime.value(), {{1, 2, 3}});
  const char* const budgets[] = {"", "3:weight=1", "1:guarantee=1% 2:rate=50 3:weight=2",
                                 "1:weight=3 2:weight=1"};
  const char* const modes[] = {"monolithic", "split", "staged"};
  for (int round = 0; round < 24; ++round) {
    std::this_thread::sleep_for(20ms);
    RuntimeConfig config =
        config_of(modes[round / 2 % 3], round % 5 == 0 ? 0 : 50, budgets[round % 4]);
    const Status status = runtime->reconfigure(config.server);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  asking.stop();
  EXPECT_TRUE(asking.ended_well());
  EXPECT_GT(asking.answers.right, 0u);
  EXPECT_EQ(asking.answers.wrong, 0u);
  EXPECT_EQ(runtime->stats().in_flight, 0u);
}

TEST_P(Tenants, in_debt_are_answered_when_the_runtime_ends) {
  auto runtime = Runtime::create(config_of(GetParam(), 1, "1:weight=1 2:weight=1"));
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  const auto report = runtime->launch({.groups = 2, .group_items = 16}, [] {
    pose_as(static_cast<std::uint16_t>(1 + device::platform::current().group));
    for (int call = 0; call < 8; ++call) {
      k2k::syscall(k2k::work_item, k2k::detached, SYS_sched_yield);
    }
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_TRUE(runtime->drain().ok());
  EXPECT_EQ(runtime->stats().in_flight, 0u);
  EXPECT_EQ(runtime->stats().requests, 256u);
}

TEST_P(Tenants, that_fault_on_memory_pay_for_it) {
  constexpr std::size_t page = 4096;
#if defined(K2K_TSAN)
  constexpr std::size_t pages = 256;
#else
  constexpr std::size_t pages = 4096;  // One per group: many times what the first grants pay for.
#endif
  constexpr std::uint32_t items = 32;
  const double wanted = 1.2;
  bool none = false;
  const double ratio = best_ratio(wanted, [&] {
    auto runtime = Runtime::create(config_of(GetParam(), 40, "1:weight=3 2:weight=1"));
    auto region = DemandRegion::zero(runtime.value(), 2 * pages * page);
    none = !region;
    if (none) return 2 * wanted;
    auto* const data = static_cast<volatile std::byte*>(region->data());
    std::atomic<std::size_t> touched[2] = {};
    std::atomic<bool> enough{false};
    const auto report = runtime->launch({.groups = 2, .group_items = items}, [&] {
      const std::uint32_t group = device::platform::current().group;
      pose_as(static_cast<std::uint16_t>(1 + group));
      for (std::size_t at = k2k::item_rank(); at < pages && !enough; at += items) {
        if (data[(group * pages + at) * page] != std::byte{0}) std::abort();
        if (++touched[group] == pages) enough = true;
      }
    });
    EXPECT_TRUE(report.ok()) << report.error().message;
    // The test measures which tenant finishes first.
    EXPECT_EQ(std::max(touched[0].load(), touched[1].load()), pages);
    EXPECT_GT(touched[1], 0u);
    return static_cast<double>(touched[0]) /
           static_cast<double>(std::max<std::size_t>(touched[1], 1));
  });
  if (none) GTEST_SKIP() << "no demand-paged memory here";
  // One tenant has touched all its pages; the other, with a third of the budget, is far behind.
  EXPECT_GT(ratio, wanted);
}

}  // namespace
}  // namespace k2k::conformance::tenants_test
