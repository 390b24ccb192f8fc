#include "governor/budget.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/contract.hpp"

namespace k2k::governor {

namespace {

constexpr Nanoseconds slice_min{1'000};
constexpr Nanoseconds wait_min{1'000};
// If parts follow measured costs, or other tenants may leave more tokens meanwhile, timers are
// limited, so that no thread waits by an outdated part.
constexpr Nanoseconds reviewed_wait_max = 2 * GuaranteedParts::review_period;

double rate_of(const GovernorConfig& config) { return config.cap * config.cores; }

// The burst is split as the rate is, but a tenant alone must be able to save for a batch.
class Bursts {
 public:
  explicit Bursts(const GovernorConfig& config)
      : all_(static_cast<double>(burst_of(config).count())),
        least_(burst_quanta(config) * static_cast<double>(config.quantum.count())) {
    for (const TenantConfig& tenant : config.tenants) weights_ += tenant.weight;
  }
  [[nodiscard]] double of(const TenantConfig& tenant) const {
    return std::max(least_, all_ * tenant.weight / weights_);
  }

 private:
  double all_;
  double least_;
  double weights_ = 0;
};

std::vector<Buckets::Account> accounts_of(const GovernorConfig& config) {
  const Bursts bursts(config);
  std::vector<Buckets::Account> accounts;
  for (const TenantConfig& tenant : config.tenants) {
    accounts.push_back({tenant.weight, tenant.guarantee * config.cores, bursts.of(tenant)});
  }
  return accounts;
}

// For a batch's first quantum, starting from `level`.
double missing(const GovernorConfig& config, double level, double need) {
  return static_cast<double>(config.quantum.count()) + need - level;
}

Nanoseconds rounded_up(double nanoseconds) {
  return Nanoseconds(static_cast<std::int64_t>(std::ceil(nanoseconds)));
}

}  // namespace

Budget::Budget(const GovernorConfig& config, Instant now)
    : config_(config),
      buckets_(rate_of(config), accounts_of(config), static_cast<double>(config.quantum.count()),
               now),
      states_(config.tenants.size()),
      guaranteed_(config_, now) {
  if (guaranteed_.follow_costs()) share();
  slice_ = std::max(config.quantum / threads_wanted(), slice_min);
}

Decision Budget::decide(Instant now, const GrantRequest& request) {
  K2K_EXPECT(request.tenant < states_.size());
  State& state = states_[request.tenant];
  if (request.look) {
    buckets_.refill(now);
    if (buckets_.level(request.tenant) + buckets_.reserved(request.tenant) > 0) {
      return {.verdict = Verdict::serve, .mask = true, .grant = slice_};
    }
  }
  if (state.waits && now < state.until) {
    return {.verdict = Verdict::rest, .mask = true, .until = state.until};
  }
  buckets_.refill(now);
  const double level = buckets_.level(request.tenant);
  const double need = needed(request);
  if (level > need) {
    const auto slice = static_cast<double>(slice_.count());
    return serve(request.tenant, std::max(need, std::min(level, slice)), need);
  }
  if (state.waits && now - state.denied_since >= config_.delay_max) {
    ++forced_;
    return serve(request.tenant, 0, need);
  }
  return wait(now, request.tenant, missing(config_, level, need));
}

Tenant Budget::readiest(Instant now) {
  buckets_.refill(now);
  Tenant fullest = 0;
  Tenant first = 0;
  double shortest = std::numeric_limits<double>::infinity();
  for (Tenant tenant = 0; tenant < states_.size(); ++tenant) {
    if (buckets_.level(tenant) > buckets_.level(fullest)) fullest = tenant;
    const double pause = missing(config_, buckets_.level(tenant), 0) / buckets_.flow(tenant);
    if (pause >= shortest) continue;
    shortest = pause;
    first = tenant;
  }
  return buckets_.level(fullest) > 0 ? fullest : first;
}

Decision Budget::serve(Tenant tenant, double tokens, double need) {
  states_[tenant].waits = false;
  const Nanoseconds grant(static_cast<std::int64_t>(tokens));
  buckets_.reserve(tenant, static_cast<double>(grant.count()));
  return {.verdict = Verdict::serve,
          .mask = true,
          .more = buckets_.level(tenant) > 0,
          .grant = grant,
          .predicted = std::max(rounded_up(need), Nanoseconds(1)),
          .reserved = grant};
}

Decision Budget::wait(Instant now, Tenant tenant, double missing) {
  State& state = states_[tenant];
  if (!state.waits) state.denied_since = now;
  state.waits = true;
  const double paid_in =
      std::min(missing / buckets_.flow(tenant), static_cast<double>(config_.delay_max.count()));
  const Nanoseconds longest = states_.size() > 1 || guaranteed_.follow_costs()
                                  ? std::min(wait_max_, reviewed_wait_max)
                                  : wait_max_;
  const Nanoseconds pause = std::min(std::max(rounded_up(paid_in), wait_min), longest);
  state.until = std::min(now + pause, state.denied_since + config_.delay_max);
  state.throttled += state.until - now;
  ++state.timers;
  return {.verdict = Verdict::wait, .mask = true, .until = state.until};
}

void Budget::settle(Instant now, Nanoseconds reserved, const Spent& spent) {
  learn(spent);
  credit(now, spent.tenant, reserved, spent.cpu);
}

void Budget::learn(const Spent& spent) {
  states_[spent.tenant].cost.learn(spent.cpu, spent.requests);
}

void Budget::credit(Instant now, Tenant tenant, Nanoseconds reserved, Nanoseconds spent) {
  K2K_EXPECT(tenant < states_.size());
  buckets_.refill(now);
  buckets_.settle(tenant, static_cast<double>(reserved.count()),
                  static_cast<double>(spent.count()));
  if (reserved > spent) hasten(now, tenant);
  if (guaranteed_.review_is_due(now)) review(now);
}

// The tenant's waiting time was computed while these tokens were reserved, so it may be shortened
// now. Its batch does not become smaller.
void Budget::hasten(Instant now, Tenant tenant) {
  State& state = states_[tenant];
  if (!state.waits) return;
  const double paid_in =
      std::max(0.0, missing(config_, buckets_.level(tenant), 0) / buckets_.flow(tenant));
  if (paid_in >= static_cast<double>((state.until - now).count())) return;
  const Instant until = now + rounded_up(paid_in);
  state.throttled -= state.until - until;
  state.until = until;
}

double Budget::needed(const GrantRequest& request) const {
  if (!config_.hard) return 0;
  const Nanoseconds expected =
      request.predicted > Nanoseconds::zero() ? request.predicted : predicted(request.tenant);
  // A bucket cannot reserve more than it can ever hold.
  return static_cast<double>(std::min(expected, config_.quantum).count());
}

Nanoseconds Budget::predicted(Tenant tenant) const {
  return rounded_up(states_[tenant].cost.reserve());
}

bool Budget::deep_in_debt(Instant now, Tenant tenant) {
  return level(now, tenant) < -buckets_.burst(tenant);
}

double Budget::level(Instant now, Tenant tenant) {
  buckets_.refill(now);
  return buckets_.level(tenant);
}

Status Budget::set_cap(Instant now, double cap, Guarantees guarantees) {
  GovernorConfig wanted = with_cap(config_, cap, guarantees);
  wanted.cap_min = std::min(wanted.cap_min, cap);
  if (Status status = validate(wanted); !status) return status;
  apply_cap(now, cap);
  return {};
}

void Budget::apply_cap(Instant now, double cap) {
  buckets_.refill(now);
  config_.cap = cap;
  slice_ = std::max(config_.quantum / threads_wanted(), slice_min);
  const Bursts bursts(config_);  // No memory is taken: caps change while requests are served.
  for (Tenant tenant = 0; tenant < states_.size(); ++tenant) {
    buckets_.set_burst(tenant, bursts.of(config_.tenants[tenant]));
  }
  share();
  // Timers were for the old rate.
  for (State& state : states_) state.until = std::min(state.until, now);
}

void Budget::share() {
  const auto cost_of = [this](Tenant tenant) -> const RequestCost& { return states_[tenant].cost; };
  buckets_.change(rate_of(config_), guaranteed_.all(cost_of));
}

void Budget::review(Instant now) {
  guaranteed_.reviewed(now);
  buckets_.refill(now);
  share();
}

Report Budget::report(Instant now) {
  review(now);
  Report report{.cap = config_.cap, .forced = forced_};
  for (Tenant tenant = 0; tenant < states_.size(); ++tenant) {
    const State& state = states_[tenant];
    report.throttled += state.throttled;
    report.waits += state.timers;
    report.tenants.push_back(
        {buckets_.part(tenant) / config_.cores, state.throttled, state.timers});
    // A cost that is unknown yet causes no conflict yet.
    const double needed = guaranteed_.of(tenant, state.cost, {}) / config_.cores;
    const double granted = buckets_.part(tenant) / config_.cores;
    if (needed <= granted * (1 + guarantee_rounding)) continue;
    report.conflicts.push_back(
        {tenant, needed, granted, guaranteed_.explain(tenant, state.cost, needed, granted)});
  }
  return report;
}

}  // namespace k2k::governor
