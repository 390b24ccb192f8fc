#pragma once
// A service thread under the test's own clocks: a test replays a run without waiting.

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/cores.hpp"
#include "server/govern/grants.hpp"
#include "server/govern/rule.hpp"
#include "server/govern/waiting_threads.hpp"

namespace k2k::server {

// One cycle is one nanosecond.
class ManualClocks : public Clocks {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  [[nodiscard]] std::uint64_t cycles() const override {
    return static_cast<std::uint64_t>(now_.time_since_epoch().count());
  }
  [[nodiscard]] Nanoseconds thread_time() const override { return thread_; }
  [[nodiscard]] Switches switches() const override { return switched; }
  [[nodiscard]] double nanoseconds_per_cycle() const override { return 1; }
  [[nodiscard]] std::size_t core() const override { return 0; }

  void work(Nanoseconds cpu) {
    now_ += cpu;
    thread_ += cpu;
  }
  void sleep_until(Instant when) { now_ = std::max(now_, when); }

  Switches switched;

 private:
  Instant now_{std::chrono::hours(1)};
  Nanoseconds thread_{};
};

class ReplayedThread {
 public:
  explicit ReplayedThread(const ServerConfig& config) {
    account.stats = &stats;
    configure(config);
  }
  void configure(const ServerConfig& config) {
    auto prepared = prepare(effective_limits(config, {}, online_cores()), config, {}, clocks.now(),
                            grants, waiting, "/nowhere");
    ASSERT_TRUE(prepared.ok()) << prepared.error().message;
    epoch = grants.replace(prepared.value().rule);
  }

  // Adds this CPU time for one request of a tenant.
  void work(std::uint32_t tenant, Nanoseconds cpu) {
    clocks.work(cpu);
    stats.ledger.charge(telemetry::Stage::service, static_cast<std::uint64_t>(cpu.count()), 0,
                        tenant);
    stats.tenant_requests[tenant].add();
  }
  // As Admission::pass(). Returns true if it slept.
  bool pass() {
    if (account.open && account.epoch == epoch && clocks.cycles() < account.until) return false;
    bool slept = false;
    while (true) {
      const Grants::Answer answer = grants.renew(account, slept);
      if (answer.outcome != Grants::Outcome::wait) return slept;
      clocks.sleep_until(answer.until);
      slept = true;
    }
  }
  bool admits(std::uint32_t tenant) {
    const std::size_t budget = grants.tenants().budget_of(tenant);
    return clocks.cycles() < account.grants[budget].until || grants.request_grant(account, tenant);
  }
  // Serves as the holder of a role for `time`: the tenants always have requests of 20 us.
  void serve(std::initializer_list<std::uint32_t> tenants, Nanoseconds time) {
    const Instant end = clocks.now() + time;
    while (clocks.now() < end) {
      pass();
      bool any = false;
      std::uint64_t due = ~std::uint64_t{0};
      for (const std::uint32_t tenant : tenants) {
        if (admits(tenant)) {
          work(tenant, Nanoseconds(20'000));
          any = true;
        } else {
          due = std::min(due, account.grants[grants.tenants().budget_of(tenant)].retry_at);
        }
      }
      if (any) continue;
      grants.settle(account, false);
      clocks.sleep_until(clocks.instant_of(due));
    }
    grants.settle(account, false);
  }
  [[nodiscard]] double used_ms(std::uint32_t tenant) const {
    return static_cast<double>(stats.ledger.tenant_ns(tenant)) / 1e6;
  }

  ManualClocks clocks;
  Grants grants{clocks};
  WaitingThreads waiting;
  std::uint32_t epoch = 0;
  ThreadStats stats;
  ServiceAccount account;
};

}  // namespace k2k::server
