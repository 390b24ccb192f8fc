// Goal: the budget keeps its bound in every window, for any load, and starves no tenant.
// Method: random configurations and services from a seed; a failure names the seed.

#include "governor/budget.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "governor/backlog_fixture.hpp"
#include "governor/start_fixture.hpp"

namespace k2k::governor {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

GovernorConfig four_cores(double cap) {
  GovernorConfig config;
  config.cap = cap;
  config.cores = 4;
  config.threads = 4;
  return config;
}

double in_ns(Nanoseconds time) { return static_cast<double>(time.count()); }

// A random machine, cap and load.
struct Scene {
  GovernorConfig config;
  Backlog backlog;
};

Scene random_scene(std::mt19937_64& random, bool hard) {
  const auto one_of = [&](auto... choices) {
    const std::vector<double> all = {static_cast<double>(choices)...};
    return all[random() % all.size()];
  };
  Scene scene;
  scene.config.cap = one_of(0.005, 0.01, 0.05, 0.25, 0.6, 1);
  scene.config.cores = static_cast<std::uint32_t>(one_of(1, 2, 4, 16));
  scene.config.threads = static_cast<std::uint32_t>(one_of(1, 2, 4, 8));
  scene.config.quantum = microseconds(static_cast<int>(one_of(40, 100, 250, 1000)));
  scene.config.hard = hard;
  scene.config.delay_max = std::chrono::hours(1);  // No request is forced.
  scene.backlog.threads = scene.config.threads;
  scene.backlog.service_max = microseconds(static_cast<int>(one_of(2, 50, 400, 3000)));
  scene.config.service_max = scene.backlog.service_max;
  // Bursts and silences.
  const auto period = microseconds(static_cast<int>(one_of(1000, 7000, 40'000)));
  const auto active = period * static_cast<int>(1 + random() % 4) / 4;
  scene.backlog.has_requests = [period, active](Instant now, Tenant) {
    return now.time_since_epoch() % period < active;
  };
  return scene;
}

// The largest excess of service over r T + B + overdraft in windows that begin and end with a
// service; at most 0 if the bound holds.
double worst_excess(const Served& run, double rate, double burst, double overdraft,
                    std::mt19937_64& random) {
  double worst = -1e18;
  for (int window = 0; window < 400; ++window) {
    const Service& first = run.services[random() % run.services.size()];
    const Service& last = run.services[random() % run.services.size()];
    if (last.end <= first.begin) continue;
    const double served = in_ns(run.within(first.begin, last.end));
    const double bound = rate * in_ns(last.end - first.begin) + burst + overdraft;
    worst = std::max(worst, served - bound);
  }
  return worst;
}

TEST(Served, has_the_sum_of_all_parts_within_a_window) {
  GovernorConfig config = four_cores(0.25);
  config.tenants = {{.weight = 1}, {.weight = 2}, {.weight = 5}};
  Budget budget(config, start);
  const Served run = BacklogRunner(budget, {.threads = 4, .tenants = 3}, 5).run(milliseconds(20));
  std::mt19937_64 random(1);
  for (int window = 0; window < 300; ++window) {
    const Instant from = start + microseconds(random() % 21'000);
    const Instant to = start + microseconds(random() % 21'000);
    for (const int tenant : {-1, 0, 1, 2}) {
      Nanoseconds sum{};
      for (const Service& one : run.services) {
        if (tenant >= 0 && one.tenant != static_cast<Tenant>(tenant)) continue;
        sum += std::max<Nanoseconds>(std::min(one.end, to) - std::max(one.begin, from), {});
      }
      ASSERT_EQ(run.within(from, to, tenant), sum) << "window " << window << ", tenant " << tenant;
    }
  }
}

TEST(Budget,
     in_any_window_service_stays_below_rate_times_window_plus_burst_plus_one_service_a_thread) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    Scene scene = random_scene(random, false);
    Budget budget(scene.config, start);
    const double burst = budget.burst_total();
    scene.backlog.check = [&](Instant now) {
      ASSERT_LE(budget.level(now, 0), burst) << "seed " << seed;
    };
    const Served run = BacklogRunner(budget, scene.backlog, seed).run(milliseconds(500));
    ASSERT_FALSE(run.services.empty()) << "seed " << seed;
    const double overdraft = in_ns(scene.backlog.service_max) * scene.backlog.threads;
    EXPECT_LE(worst_excess(run, scene.config.cap * scene.config.cores, burst, overdraft, random), 1)
        << "seed " << seed;
    EXPECT_EQ(budget.report(start + seconds(1)).forced, 0u);
  }
}

TEST(Budget, uses_the_whole_rate_where_there_is_always_work) {
  for (const double cap : {0.01, 0.05, 0.25}) {
    Budget budget(four_cores(cap), start);
    const Served run = BacklogRunner(budget, {.threads = 4}, 7).run(seconds(5));
    const double share = in_ns(run.within(start, start + seconds(5))) / (4 * 5e9);
    EXPECT_NEAR(share, cap, cap * 0.01);
  }
}

TEST(Budget, hard_mode_makes_no_debt_when_predictions_are_true) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    std::mt19937_64 random(seed);
    Scene scene = random_scene(random, true);
    scene.backlog.service_max = std::min<Nanoseconds>(scene.backlog.service_max, microseconds(40));
    scene.backlog.service_min = scene.backlog.service_max;
    Budget budget(scene.config, start);
    budget.charge(start, {.cpu = scene.backlog.service_max, .requests = 1});  // Learns the cost.
    scene.backlog.check = [&](Instant now) {
      ASSERT_GE(budget.level(now, 0), -1) << "seed " << seed;
    };
    const Served run = BacklogRunner(budget, scene.backlog, seed).run(milliseconds(300));
    ASSERT_FALSE(run.services.empty()) << "seed " << seed;
    EXPECT_LE(
        worst_excess(run, scene.config.cap * scene.config.cores, budget.burst_total(), 0, random),
        1)
        << "seed " << seed;
  }
}

TEST(Budget, no_thread_waits_longer_than_the_longest_delay) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    GovernorConfig config = four_cores(0.0002);
    config.delay_max = milliseconds(20);
    config.tenants = {{.weight = 1}, {.weight = 1000}};
    Budget budget(config, start);
    Backlog backlog{.threads = 4, .tenants = 2, .service_max = milliseconds(5)};
    const Served run = BacklogRunner(budget, backlog, seed).run(seconds(2));
    EXPECT_LE(run.longest_wait, config.delay_max + backlog.timer_slack) << "seed " << seed;
    EXPECT_GT(budget.report(start + seconds(2)).forced, 0u) << "seed " << seed;
  }
}

TEST(Budget, one_thread_arms_the_timer_and_the_others_rest) {
  Budget budget(four_cores(0.01), start);
  budget.charge(start, {.cpu = microseconds(600)});
  const Decision first = budget.decide(start, {});
  EXPECT_EQ(first.verdict, Verdict::wait);
  EXPECT_TRUE(first.mask);
  // 250 us were saved, 600 spent; 250 to be saved, at 0.04 us a microsecond.
  EXPECT_EQ(first.until, start + milliseconds(15));
  const Decision second = budget.decide(start + microseconds(1), {});
  EXPECT_EQ(second.verdict, Verdict::rest);
  EXPECT_EQ(second.until, first.until);
  EXPECT_EQ(budget.decide(first.until, {}).verdict, Verdict::serve);
}

TEST(Budget, unused_tokens_of_a_grant_come_back) {
  Budget budget(four_cores(0.01), start);
  const double before = budget.level(start, 0);
  const Decision decision = budget.decide(start, {});
  ASSERT_EQ(decision.verdict, Verdict::serve);
  EXPECT_EQ(budget.level(start, 0), before - in_ns(decision.reserved));
  budget.settle(start, decision.reserved, {});
  EXPECT_EQ(budget.level(start, 0), before);
}

// 4 cores at 1 % are 40 us a millisecond; a batch begins with 250.
TEST(Budget, a_waiting_thread_is_served_sooner_if_another_gives_tokens_back) {
  Budget budget(four_cores(0.01), start);
  std::vector<Decision> grants;
  Instant moment = start;
  Decision last = budget.decide(moment, {});
  for (; last.verdict == Verdict::serve; last = budget.decide(moment, {})) grants.push_back(last);
  ASSERT_EQ(last.verdict, Verdict::wait);
  ASSERT_FALSE(grants.empty());
  const Instant told = last.until;
  const Nanoseconds throttled = budget.report(moment).throttled;

  moment += microseconds(1);
  const Nanoseconds back = grants[0].reserved / 2;
  budget.settle(moment, grants[0].reserved, {.cpu = grants[0].reserved - back});
  const Decision sooner = budget.decide(moment, {});
  EXPECT_EQ(sooner.verdict, Verdict::rest) << "the batch is as large as before";
  EXPECT_NEAR(in_ns(told - sooner.until), in_ns(back) / 0.04, 5e3);
  EXPECT_EQ(throttled - budget.report(moment).throttled, told - sooner.until);
  EXPECT_EQ(budget.decide(sooner.until + microseconds(1), {}).verdict, Verdict::serve);

  // Tokens spent completely change nothing, and no token arrives before it is due.
  Budget other(four_cores(0.01), start);
  const Decision first = other.decide(start, {});
  Decision denied = first;
  while (denied.verdict == Verdict::serve) denied = other.decide(start, {});
  other.settle(start + microseconds(1), first.reserved, {.cpu = first.reserved});
  EXPECT_EQ(other.decide(start + microseconds(1), {}).until, denied.until);
}

TEST(Budget, tenants_share_by_weight_while_all_have_requests) {
  GovernorConfig config = four_cores(0.25);
  config.tenants = {{.weight = 1}, {.weight = 2}, {.weight = 5}};
  Budget budget(config, start);
  const Served run = BacklogRunner(budget, {.threads = 6, .tenants = 3}, 3).run(seconds(4));
  const Instant end = start + seconds(4);
  const double total = in_ns(run.within(start, end));
  EXPECT_NEAR(total, 4e9, 4e9 * 0.01);
  EXPECT_NEAR(in_ns(run.within(start, end, 0)) / total, 1.0 / 8, 0.005);
  EXPECT_NEAR(in_ns(run.within(start, end, 1)) / total, 2.0 / 8, 0.005);
  EXPECT_NEAR(in_ns(run.within(start, end, 2)) / total, 5.0 / 8, 0.005);
}

TEST(Budget, a_tenant_borrows_only_the_part_of_an_idle_tenant) {
  GovernorConfig config = four_cores(0.25);
  config.tenants = {{.weight = 1}, {.weight = 3}};
  Budget budget(config, start);
  const Instant back = start + seconds(2);  // Tenant 1 is idle until then.
  Backlog backlog{.threads = 4, .tenants = 2};
  backlog.has_requests = [&](Instant now, Tenant tenant) { return tenant == 0 || now >= back; };
  const Served run = BacklogRunner(budget, backlog, 5).run(seconds(4));
  EXPECT_NEAR(in_ns(run.within(start, back, 0)), 2e9, 2e9 * 0.01);
  // From then on tenant 0 has its quarter, and the other all of its own.
  const double slack = budget.burst_total() + 4 * 50'000;
  EXPECT_LE(in_ns(run.within(back, back + seconds(2), 0)), 0.25 * 2e9 + slack);
  EXPECT_GE(in_ns(run.within(back, back + seconds(2), 1)), 0.75 * 2e9 - slack);
  // At once: tenant 1 gets its part in its first 20 ms.
  EXPECT_GE(in_ns(run.within(back, back + milliseconds(20), 1)), 0.75 * 20e6 * 0.9);
}

TEST(Budget, a_guarantee_goes_before_weights) {
  GovernorConfig config = four_cores(0.25);
  config.tenants = {{.weight = 1, .guarantee = 0.2}, {.weight = 9}};
  Budget budget(config, start);
  const Served run = BacklogRunner(budget, {.threads = 4, .tenants = 2}, 5).run(seconds(2));
  // 0.2 and a tenth of the remaining 0.05 of four cores.
  EXPECT_NEAR(in_ns(run.within(start, start + seconds(2), 0)) / 2e9, 4 * 0.205, 0.01);
}

TEST(Budget, keeps_a_guaranteed_rate_at_the_measured_cost_of_requests) {
  GovernorConfig config = four_cores(0.05);
  config.tenants = {{.weight = 1, .rate_min = 5'000}, {.weight = 99}};
  Budget budget(config, start);
  // Requests of 20 us each: half of the budget, where the weight alone would give a hundredth.
  Backlog backlog{.threads = 2, .tenants = 2};
  backlog.service_min = backlog.service_max = microseconds(20);
  const Served run = BacklogRunner(budget, backlog, 2).run(seconds(4));
  const double served = in_ns(run.within(start, start + seconds(4), 0)) / 20e3 / 4;
  EXPECT_GE(served, 5'000 * 0.98);
  EXPECT_LE(served, 5'000 * 1.05);
  EXPECT_TRUE(budget.report(start + seconds(4)).conflicts.empty());
}

TEST(Budget, a_tenant_with_a_backlog_beside_others_stays_within_its_part_in_any_window) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed);
    GovernorConfig config = four_cores(0.25);
    config.tenants = {{.weight = 1}, {.weight = 3}};
    config.burst = milliseconds(4);
    Budget budget(config, start);
    const Served run = BacklogRunner(budget, {.threads = 4, .tenants = 2}, seed).run(seconds(1));
    const double parts[] = {0.25, 0.75};
    const double bursts[] = {1e6, 3e6};
    for (int window = 0; window < 300; ++window) {
      const Instant from = run.services[random() % run.services.size()].begin;
      const Instant to = run.services[random() % run.services.size()].end;
      if (to <= from) continue;
      for (const int tenant : {0, 1}) {
        EXPECT_LE(in_ns(run.within(from, to, tenant)),
                  parts[tenant] * in_ns(to - from) + bursts[tenant] + 2 * 50'000)
            << "seed " << seed;
      }
    }
  }
}

TEST(Budget, reports_a_guaranteed_rate_that_the_cap_does_not_allow) {
  GovernorConfig config = four_cores(0.01);
  config.tenants = {{.rate_min = 10'000}, {}};
  Budget budget(config, start);
  EXPECT_TRUE(budget.report(start).conflicts.empty());
  budget.charge(start, {.cpu = milliseconds(2), .requests = 100});  // 20 us each: 5 % of 4 cores.
  const Report report = budget.report(start + milliseconds(1));
  ASSERT_EQ(report.conflicts.size(), 1u);
  EXPECT_EQ(report.conflicts[0].tenant, 0u);
  EXPECT_NEAR(report.conflicts[0].needed, 0.05, 1e-9);
  EXPECT_NEAR(report.conflicts[0].granted, 0.01, 1e-9);
  EXPECT_EQ(
      report.conflicts[0].message,
      "governor: tenant 0 is guaranteed 5 % of all cores' CPU time (10000 requests a second "
      "at 20 us each), but the cap of 1 % leaves it 1 %; raise the cap to keep the guarantee, "
      "or lower the guarantee");
  ASSERT_TRUE(budget.set_cap(start + milliseconds(1), 0.1, Guarantees::must_fit).ok());
  EXPECT_TRUE(budget.report(start + milliseconds(2)).conflicts.empty());
}

TEST(Budget, a_cap_that_is_refused_changes_nothing) {
  GovernorConfig config = four_cores(0.25);
  config.tenants = {{.guarantee = 0.2}};
  Budget budget(config, start);
  const Status status = budget.set_cap(start, 0.1, Guarantees::must_fit);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(
      status.error().message,
      "governor: the tenants are guaranteed 20 % of all cores' CPU time, more than the cap of "
      "10 %; raise governor.cap or lower a guarantee");
  EXPECT_EQ(budget.cap(), 0.25);
}

TEST(Budget, a_cap_from_outside_outranks_guarantees_and_reports_it) {
  GovernorConfig config = four_cores(0.25);
  config.tenants = {{.guarantee = 0.2, .name = "the database"}, {}};
  Budget budget(config, start);
  ASSERT_TRUE(budget.set_cap(start, 0.1, Guarantees::may_conflict).ok());
  const Report report = budget.report(start);
  EXPECT_EQ(report.cap, 0.1);
  ASSERT_EQ(report.conflicts.size(), 1u);
  EXPECT_EQ(report.conflicts[0].message,
            "governor: the database is guaranteed 20 % of all cores' CPU time, but the cap of 10 % "
            "leaves it 10 %; raise the cap to keep the guarantee, or lower the guarantee");
  EXPECT_FALSE(budget.set_cap(start, 2, Guarantees::may_conflict).ok()) << "2 is no cap";
}

TEST(Budget, finds_the_tenant_that_may_spend_most_or_is_served_first) {
  GovernorConfig config = four_cores(0.25);
  config.tenants = {{.weight = 1}, {.weight = 1}, {.weight = 2}};
  Budget budget(config, start);
  budget.charge(start, {.tenant = 0, .cpu = microseconds(100)});
  budget.charge(start, {.tenant = 2, .cpu = microseconds(50)});
  EXPECT_EQ(budget.readiest(start), 1u);
  // All in debt: the third tenant pays its debt off twice as fast as the others.
  for (Tenant tenant = 0; tenant < 3; ++tenant) {
    budget.charge(start, {.tenant = tenant, .cpu = milliseconds(5)});
  }
  EXPECT_EQ(budget.readiest(start), 2u);
}

TEST(Budget, permits_looks_without_a_reservation_unless_there_is_a_debt) {
  Budget budget(four_cores(0.01), start);
  const Decision batch = budget.decide(start, {});
  ASSERT_EQ(batch.verdict, Verdict::serve);
  ASSERT_LE(budget.level(start, 0), 0) << "all tokens are reserved";
  const Decision look = budget.decide(start, {.look = true});
  EXPECT_EQ(look.verdict, Verdict::serve);
  EXPECT_EQ(look.reserved, Nanoseconds::zero());
  EXPECT_GT(look.grant, Nanoseconds::zero());
  budget.settle(start, look.reserved, {.cpu = microseconds(1)});
  budget.settle(start, batch.reserved, {.cpu = batch.grant});
  EXPECT_EQ(budget.decide(start, {.look = true}).verdict, Verdict::wait) << "looks are charged";
}

TEST(Budget, reports_the_tokens_and_waits_of_each_tenant) {
  GovernorConfig config = four_cores(0.25);
  config.tenants = {{.weight = 1}, {.weight = 4}};
  Budget budget(config, start);
  budget.charge(start, {.tenant = 0, .cpu = milliseconds(5)});
  const Decision denied = budget.decide(start, {.tenant = 0});
  const Report report = budget.report(start);
  ASSERT_EQ(report.tenants.size(), 2u);
  EXPECT_DOUBLE_EQ(report.tenants[0].part, 0.05);
  EXPECT_DOUBLE_EQ(report.tenants[1].part, 0.2);
  EXPECT_EQ(report.tenants[0].waits, 1u);
  EXPECT_EQ(report.tenants[0].throttled, denied.until - start);
  EXPECT_EQ(report.tenants[1].waits, 0u);
  EXPECT_EQ(report.waits, 1u);
  EXPECT_EQ(report.throttled, report.tenants[0].throttled);
}

TEST(Budget, a_raised_cap_ends_waits_for_the_old_cap) {
  Budget budget(four_cores(0.01), start);
  budget.charge(start, {.cpu = milliseconds(10)});
  const Decision denied = budget.decide(start, {});
  ASSERT_EQ(denied.verdict, Verdict::wait);
  ASSERT_TRUE(budget.set_cap(start, 1, Guarantees::must_fit).ok());
  const Decision again = budget.decide(start, {});
  EXPECT_EQ(again.verdict, Verdict::wait);
  EXPECT_EQ(again.until, start + microseconds(2500));
  EXPECT_EQ(budget.decide(again.until, {}).verdict, Verdict::serve);
}

TEST(Budget, a_slightly_old_time_does_no_harm) {
  Budget budget(four_cores(0.25), start);
  budget.charge(start + milliseconds(5), {.cpu = microseconds(1)});
  const double level = budget.level(start + milliseconds(5), 0);
  budget.settle(start + milliseconds(4), {}, {});
  EXPECT_EQ(budget.level(start + milliseconds(5), 0), level);
}

TEST(Lease, serves_at_least_once_and_then_within_its_grant) {
  Lease lease;
  EXPECT_TRUE(lease.empty());
  EXPECT_FALSE(lease.allows());
  lease.open({.grant = microseconds(10), .reserved = microseconds(10)});
  EXPECT_TRUE(lease.allows());
  lease.spend(microseconds(6), 1);
  EXPECT_TRUE(lease.allows());
  lease.spend(microseconds(6), 1);
  EXPECT_FALSE(lease.allows());
  const Spent spent = lease.close(3);
  EXPECT_EQ(spent.cpu, microseconds(12));
  EXPECT_EQ(spent.requests, 2u);
  EXPECT_EQ(spent.tenant, 3u);
  EXPECT_TRUE(lease.empty());

  lease.open({});  // No grant: one request.
  EXPECT_TRUE(lease.allows());
  lease.spend(microseconds(1), 1);
  EXPECT_FALSE(lease.allows());
}

TEST(Lease, does_not_begin_a_request_that_would_overspend) {
  Lease lease;
  lease.open({.grant = microseconds(10), .predicted = microseconds(6)});
  lease.spend(microseconds(6), 1);
  EXPECT_FALSE(lease.allows());
}

}  // namespace
}  // namespace k2k::governor
