#pragma once
// Threads that serve a backlog under a governor, each in the same way as the server: decide, serve
// within the grant, settle. Every service is recorded, so that a test can examine any window.
//
// Threading: simulated on one thread; equal seeds give equal runs.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "governor/governor.hpp"
#include "governor/lease.hpp"

namespace k2k::governor {

struct Service {
  Instant begin;
  Instant end;
  Tenant tenant;
  Nanoseconds before_all;     // CPU time of the services recorded before this one.
  Nanoseconds before_tenant;  // Of this tenant alone.
};

// The behaviour of each simulated thread; thread i serves tenant i % tenants.
struct Backlog {
  std::uint32_t threads = 1;
  std::uint32_t tenants = 1;
  Nanoseconds service_min{1'000};
  Nanoseconds service_max{50'000};
  Nanoseconds timer_slack{5'000};  // A timer is late by up to this.
  // Does the tenant have requests now? Empty: always.
  std::function<bool(Instant, Tenant)> has_requests = {};
  std::function<bool(Instant)> contended = {};
  // After each step; for invariants.
  std::function<void(Instant)> check = {};
};

struct Served {
  std::vector<Service> services;  // In the order of their begins.
  Nanoseconds longest_service{};
  // From a denial to the tenant's next service, if the thread asks again at the time it was given.
  Nanoseconds longest_wait{};

  // CPU time of services within the window; `tenant` < 0: of all tenants. Takes the sums that the
  // services carry: the tests ask for thousands of windows of as many services.
  [[nodiscard]] Nanoseconds within(Instant from, Instant to, int tenant = -1) const {
    return from < to ? until(to, tenant) - until(from, tenant) : Nanoseconds::zero();
  }

 private:
  // CPU time of services before `time`.
  [[nodiscard]] Nanoseconds until(Instant time, int tenant) const {
    auto one = std::lower_bound(
        services.begin(), services.end(), time,
        [](const Service& service, Instant begin) { return service.begin < begin; });
    Nanoseconds sum{};
    bool found = false;
    while (one != services.begin()) {
      --one;
      if (found && one->begin + longest_service <= time) break;  // This and all before have ended.
      if (tenant >= 0 && one->tenant != static_cast<Tenant>(tenant)) continue;
      if (!found) {
        sum = (tenant < 0 ? one->before_all : one->before_tenant) + (one->end - one->begin);
        found = true;
      }
      sum -= std::max(one->end - time, Nanoseconds::zero());
    }
    return sum;
  }
};

class BacklogRunner {
 public:
  BacklogRunner(Governor& governor, const Backlog& backlog, std::uint64_t seed)
      : governor_(governor),
        backlog_(backlog),
        random_(seed),
        threads_(backlog.threads),
        denied_(backlog.tenants),
        served_(backlog.tenants) {}

  Served run(Nanoseconds duration) {
    const Instant end = Instant() + duration;
    while (true) {
      const auto next = std::min_element(
          threads_.begin(), threads_.end(),
          [](const Thread& left, const Thread& right) { return left.at < right.at; });
      const Instant now = next->at;
      if (now >= end) return result_;
      step(*next, static_cast<Tenant>(next - threads_.begin()) % backlog_.tenants);
      if (backlog_.check) backlog_.check(now);  // At this time, because reading a bucket fills it.
    }
  }

 private:
  struct Thread {
    Instant at{};  // Time of its next step.
    Lease lease;
    Nanoseconds service{};  // Ends at the next step.
  };
  struct Denied {
    bool waits = false;
    Instant since{};
  };

  void step(Thread& thread, Tenant tenant) {
    const Instant now = thread.at;
    if (thread.service > Nanoseconds::zero()) thread.lease.spend(thread.service, 1);
    thread.service = {};
    const bool requests = !backlog_.has_requests || backlog_.has_requests(now, tenant);
    const bool contended = !backlog_.contended || backlog_.contended(now);
    if (requests && thread.lease.allows()) return serve(thread, tenant);
    if (!thread.lease.empty()) {
      const Nanoseconds reserved = thread.lease.reserved();
      governor_.settle(now, reserved, thread.lease.close(tenant, contended));
    }
    if (!requests) {
      denied_[tenant].waits = false;
      thread.at = now + std::chrono::microseconds(50);
      return;
    }
    const Decision decision = governor_.decide(now, {.tenant = tenant, .contended = contended});
    if (decision.verdict == Verdict::serve) {
      thread.lease.open(decision);
      return serve(thread, tenant);
    }
    if (!denied_[tenant].waits) denied_[tenant] = {true, now};
    thread.at = decision.until + Nanoseconds(below(backlog_.timer_slack.count() + 1));
    if (thread.at <= now) thread.at = now + Nanoseconds(1);
  }

  void serve(Thread& thread, Tenant tenant) {
    if (denied_[tenant].waits) {
      result_.longest_wait = std::max(result_.longest_wait, thread.at - denied_[tenant].since);
      denied_[tenant].waits = false;
    }
    const Nanoseconds spread = backlog_.service_max - backlog_.service_min;
    thread.service = backlog_.service_min + Nanoseconds(below(spread.count() + 1));
    result_.services.push_back(
        {thread.at, thread.at + thread.service, tenant, served_all_, served_[tenant]});
    result_.longest_service = std::max(result_.longest_service, thread.service);
    served_all_ += thread.service;
    served_[tenant] += thread.service;
    thread.at += thread.service;
  }

  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
  }

  Governor& governor_;
  const Backlog backlog_;
  std::mt19937_64 random_;
  std::vector<Thread> threads_;
  std::vector<Denied> denied_;
  Nanoseconds served_all_{};
  std::vector<Nanoseconds> served_;  // By each tenant.
  Served result_;
};

}  // namespace k2k::governor
