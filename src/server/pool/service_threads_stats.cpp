// Sums over the statistics of the service threads.

#include <pthread.h>

#include <algorithm>
#include <ctime>

#include "base/clock.hpp"
#include "base/cores.hpp"
#include "server/pool/service_threads.hpp"

namespace k2k::server {

namespace {

using Threads = std::vector<std::unique_ptr<ServiceThread>>;

double seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

CallStats merge_call(std::size_t place, const Threads& threads,
                     const telemetry::LedgerSums& ledger) {
  CallStats merged;
  const bool known = place < call_places - 1;
  merged.name = known ? calls::shapes[place].name : "other";
  merged.number = known ? calls::shapes[place].number : 0;
  for (const auto& thread : threads) {
    const CallCounters& counters = thread->stats.calls[place];
    merged.count += counters.count.value();
    merged.errors += counters.errors.value();
    counters.latency_cycles.add_to(merged.latency_cycles);
  }
  merged.cpu_seconds = seconds(ledger.calls[place]);
  const double us_per_cycle = nanoseconds_per_cycle() / 1000;
  merged.p50_us = merged.latency_cycles.quantile(0.50) * us_per_cycle;
  merged.p99_us = merged.latency_cycles.quantile(0.99) * us_per_cycle;
  return merged;
}

std::int64_t cpu_ns(ServiceThread& thread, const telemetry::LedgerSums& ledger) {
  // The CPU clock of a unit's thread includes other work.
  if (thread.is_unit) return static_cast<std::int64_t>(ledger.total());
  if (thread.ended) return thread.cpu_ns;
  clockid_t clock{};
  timespec time{};
  if (pthread_getcpuclockid(thread.thread.native_handle(), &clock) != 0) return 0;
  if (::clock_gettime(clock, &time) != 0) return 0;
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

std::vector<TenantStats> tenants_of(const Threads& threads, const telemetry::LedgerSums& ledger) {
  std::vector<TenantStats> tenants;
  for (std::uint32_t tenant = 0; tenant < protocol::tenants_max; ++tenant) {
    TenantStats sum{.tenant = tenant, .cpu_seconds = seconds(ledger.tenants[tenant])};
    for (const auto& thread : threads) {
      sum.requests += thread->stats.tenant_requests[tenant].value();
    }
    if (sum.requests != 0) tenants.push_back(sum);
  }
  return tenants;
}

std::vector<CoreStats> cores_of(const telemetry::LedgerSums& ledger) {
  std::vector<CoreStats> cores;
  for (std::size_t core = 0; core < ledger.cores.size(); ++core) {
    if (ledger.cores[core] == 0) continue;
    cores.push_back({static_cast<std::uint32_t>(core), seconds(ledger.cores[core])});
  }
  return cores;
}

}  // namespace

std::optional<std::uint64_t> ServiceThreads::at_rest(std::uint64_t dropped) const {
  const std::lock_guard lock(mutex_);
  std::uint64_t passages = 0;
  std::uint64_t answered = dropped;
  std::uint64_t accepted = 0;
  for (const auto& thread : threads_) {
    for (const telemetry::Mark* mark : {&thread->call, &thread->stats.counting}) {
      const telemetry::Mark::View view = mark->view();
      if (telemetry::Mark::inside(view)) return {};
      passages += view;
    }
    answered += thread->stats.answered.value();
  }
  for (const auto& thread : threads_) accepted += thread->stats.accepted.value();
  if (accepted > answered) return {};
  return passages + accepted;
}

void ServiceThreads::add_to(Stats& stats) const {
  const std::lock_guard lock(mutex_);
  std::uint64_t answered = 0;
  std::int64_t observed_ns = 0;
  telemetry::LedgerSums ledger(call_places, protocol::tenants_max, possible_cores());
  for (const auto& thread : threads_) thread->stats.counting.wait_until_left();
  for (const auto& thread : threads_) {
    // Answers first: a request answered in between counts as in flight, never as a negative number.
    answered += thread->stats.answered.value();
  }
  for (const auto& thread : threads_) {
    const ThreadStats& counted = thread->stats;
    stats.requests += counted.accepted.value();
    stats.doorbells += counted.doorbells.value();
    stats.bundles += counted.bundles.value();
    stats.rescued += counted.rescued.value();
    stats.refused += counted.refused.value();
    stats.hand_offs += counted.hand_offs.value();
    stats.takeovers += counted.takeovers.value();
    stats.parks += counted.parks.value();
    stats.fault_ranges += counted.fault_ranges.value();
    stats.wakes += counted.wakes.value();
    stats.preprocess_wakes += counted.preprocess_wakes.value();
    stats.preprocessed += counted.preprocessed.value();
    counted.times.add_to(stats.times);
    const telemetry::LedgerSums own = counted.ledger.sums();
    observed_ns += cpu_ns(*thread, own);
    ledger += own;
  }
  stats.in_flight = stats.requests > answered ? stats.requests - answered : 0;
  stats.threads = static_cast<std::uint32_t>(std::count_if(
      threads_.begin(), threads_.end(), [](const auto& thread) { return !thread->is_unit; }));
  stats.thread_seconds = static_cast<double>(observed_ns) / 1e9;
  for (std::size_t stage = 0; stage < telemetry::stage_count; ++stage) {
    stats.stage_seconds[stage] += seconds(ledger.stages[stage]);
  }
  stats.idle_seconds += seconds(ledger.idle);
  for (std::size_t place = 0; place < call_places; ++place) {
    CallStats call = merge_call(place, threads_, ledger);
    if (call.count != 0) stats.calls.push_back(std::move(call));
  }
  std::sort(stats.calls.begin(), stats.calls.end(),
            [](const CallStats& a, const CallStats& b) { return a.count > b.count; });
  stats.tenants = tenants_of(threads_, ledger);
  stats.cores = cores_of(ledger);
}

std::vector<telemetry::Event> ServiceThreads::events() const {
  const std::lock_guard lock(mutex_);
  std::vector<telemetry::Event> events;
  for (const auto& thread : threads_) {
    const std::vector<telemetry::Event> part = thread->stats.events.copy();
    events.insert(events.end(), part.begin(), part.end());
  }
  std::sort(events.begin(), events.end(),
            [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
  return events;
}

}  // namespace k2k::server
