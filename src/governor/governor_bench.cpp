// How long does a decision take (once per grant), and how long the check within a grant (once per
// request)?
//
// Budgets (docs/design/governor.md): decide and settle 50 ns with one tenant, a request within its
// grant 2 ns.

#include <benchmark/benchmark.h>

#include "governor/config.hpp"
#include "governor/lease.hpp"

namespace k2k::governor {
namespace {

std::unique_ptr<Governor> budget_of(std::size_t tenants) {
  GovernorConfig config;
  config.cap = 0.05;
  config.cores = 4;
  config.threads = 4;
  config.tenants.resize(tenants);
  return create(config, Instant()).value();
}

// The load equals the cap, so that some requests are served and some wait.
void decide_and_settle(benchmark::State& state) {
  const auto tenants = static_cast<std::size_t>(state.range(0));
  const std::unique_ptr<Governor> governor = budget_of(tenants);
  Instant now{};
  Tenant tenant = 0;
  for (auto _ : state) {
    now += Nanoseconds(100);
    const Decision decision = governor->decide(now, {.tenant = tenant});
    if (decision.verdict == Verdict::serve) {
      governor->settle(now, decision.reserved,
                       {.tenant = tenant, .cpu = Nanoseconds(20), .requests = 1});
    }
    benchmark::DoNotOptimize(decision);
    tenant = tenant + 1 < tenants ? tenant + 1 : 0;
  }
}
BENCHMARK(decide_and_settle)->ArgName("tenants")->Arg(1)->Arg(4)->Arg(64);

void request_within_a_grant(benchmark::State& state) {
  Lease lease;
  lease.open({.grant = no_limit});
  for (auto _ : state) {
    benchmark::DoNotOptimize(lease.allows());
    lease.spend(Nanoseconds(1), 1);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(request_within_a_grant);

}  // namespace
}  // namespace k2k::governor
