#include "server/govern/grants.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/cores.hpp"

namespace k2k::server {

namespace {

// Another thread that returns this many tokens wakes a thread that sleeps until it has tokens. At 1
// % of two cores this saves 5 ms of its sleep.
constexpr Nanoseconds refund_worth_a_wake{100'000};

// 512 bytes each. A disk moves at least this much for an interrupt, if a request wants more.
constexpr std::uint64_t blocks_an_interrupt = 256;

double seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

std::uint32_t Grants::replace(Rule& rule) {
  const std::lock_guard lock(mutex_);
  tenants_.divide(rule.tenants, rule.tenants.tenants, rule.governor != nullptr);
  std::swap(rule_, rule);
  filter_ = {};
  log_ = {};
  sampled_ = charged_;
  sampled_at_ = clocks_.now();
  return ++epoch_;
}

Status Grants::set_cap(double cap) {
  const std::lock_guard lock(mutex_);
  // A guarantee above the runtime's own cap was refused with its configuration; above its part of
  // the host's limit it is a conflict, and the limit wins.
  return rule_.governor->set_cap(clocks_.now(), cap, governor::Guarantees::may_conflict);
}

Grants::Answer Grants::renew(ServiceAccount& account, bool woken) {
  const std::lock_guard lock(mutex_);
  if (rule_.governor == nullptr) return {};
  const Instant moment = clocks_.now();
  const bool wanted = contended(moment);
  Answer answer;
  answer.refunded = settle_locked(account, moment, wanted, woken);
  const governor::Decision decision = decide(account, moment, wanted);
  account.since = ServiceAccount::Since::rest;
  if (decision.verdict != governor::Verdict::serve) {
    answer.outcome = Outcome::wait;
    answer.until = decision.until;
    return answer;
  }
  answer.outcome = Outcome::open;
  account.open = true;
  account.since = ServiceAccount::Since::grant;
  account.reserved = decision.reserved;
  // CPU time is at most the elapsed time; the charge at the grant's end shows if it was less.
  account.until = clocks_.cycles() + clocks_.cycles_in(decision.grant);
  log_.opened(moment);
  return answer;
}

governor::Decision Grants::decide(ServiceAccount& account, Instant moment, bool contended) {
  const bool divided = tenants_.divided();
  account.payer = divided ? rule_.governor->readiest(moment) : 0;
  governor::Decision decision = rule_.governor->decide(
      moment, {.tenant = account.payer, .contended = contended, .look = divided});
  if (divided && decision.verdict != governor::Verdict::serve) {
    decision.until = TenantAccounts::ask_again(account, decision.until, clocks_);
  }
  return decision;
}

bool Grants::settle(ServiceAccount& account, bool woken) {
  const std::lock_guard lock(mutex_);
  if (rule_.governor == nullptr) return false;
  const Instant moment = clocks_.now();
  const bool refunded = settle_locked(account, moment, contended(moment), woken);
  account.since = ServiceAccount::Since::rest;
  return refunded;
}

Grants::Rest Grants::rest_masked(ServiceAccount& account) {
  const std::lock_guard lock(mutex_);
  if (rule_.governor == nullptr) return {};
  const Instant moment = clocks_.now();
  Rest rest;
  rest.refunded = settle_locked(account, moment, contended(moment), false);
  account.since = ServiceAccount::Since::rest;
  const Instant until = rule_.governor->unmask_at(moment);
  if (until <= moment) return rest;
  ++counted_.masked_rests;
  rest.until = until;
  return rest;
}

bool Grants::request_grant(ServiceAccount& account, std::uint32_t tenant) {
  const std::lock_guard lock(mutex_);
  if (!tenants_.divided()) return true;
  const std::size_t budget = tenants_.budget_of(tenant);
  const Instant moment = clocks_.now();
  const bool wanted = contended(moment);
  ServiceAccount::Grant& grant = account.grants[budget];
  if (grant.until != 0 || account.epoch != epoch_) {
    static_cast<void>(settle_locked(account, moment, wanted, false));
  }
  const governor::Decision decision = rule_.governor->decide(
      moment, {.tenant = static_cast<governor::Tenant>(budget), .contended = wanted});
  const std::uint64_t now_cycles = clocks_.cycles();
  if (decision.verdict == governor::Verdict::serve) {
    const std::uint64_t lasts = std::max<std::uint64_t>(clocks_.cycles_in(decision.grant), 1);
    grant = {now_cycles + lasts, decision.reserved, 0};
    return true;
  }
  grant.retry_at = now_cycles + clocks_.cycles_in(decision.until - moment);
  return false;
}

bool Grants::settle_locked(ServiceAccount& account, Instant moment, bool contended, bool woken) {
  const Nanoseconds clock = clocks_.thread_time();
  if (account.open && account.epoch == epoch_) log_.closed(moment);
  if (account.epoch != epoch_) {  // Time under other limits is no debt.
    ThreadStats* const stats = account.stats;
    account = {};
    account.stats = stats;
    account.epoch = epoch_;
    account.charged = clock;
    account.switches = clocks_.switches();
    account.charged_at = moment;
    if (tenants_.divided()) TenantAccounts::begin(account, clock, clocks_);
  }
  const Nanoseconds interrupts = interrupts_of(account, moment, clock, woken);
  if (tenants_.divided()) {
    settle_tenants(account, moment, clock, interrupts, contended, woken);
    return false;
  }
  governor::Spent spent;
  spent.cpu = clock - account.charged + interrupts;
  spent.requests = account.requests;
  spent.wakes = woken ? 1 : 0;
  spent.contended = contended;
  const Nanoseconds reserved = account.open ? account.reserved : Nanoseconds::zero();
  pay(moment, reserved, spent);
  account.charged = clock;
  account.requests = 0;
  account.open = false;
  return reserved - spent.cpu > refund_worth_a_wake;
}

void Grants::begin_sleeping_call(ServiceAccount& account) const {
  if (account.since != ServiceAccount::Since::rest) return;
  account.since = ServiceAccount::Since::call;
  account.switches.voluntary = clocks_.switches().voluntary;
}

Nanoseconds Grants::interrupts_of(ServiceAccount& account, Instant moment, Nanoseconds clock,
                                  bool woken) {
  using Since = ServiceAccount::Since;
  const Switches now = clocks_.switches();
  const Switches before = account.switches;
  const Since since = woken ? Since::rest : account.since;
  std::uint64_t ended = std::exchange(account.interrupts, 0);
  if (since != Since::rest) ended += now.voluntary - before.voluntary;
  const std::uint64_t moved = (now.blocks - before.blocks) / blocks_an_interrupt;
  account.switches = {now.voluntary, now.involuntary, before.blocks + moved * blocks_an_interrupt};
  ended = std::max(ended, moved);
  Nanoseconds time = interrupt_charge_.each * static_cast<std::int64_t>(ended);
  const bool kept_core = since == Since::grant && now.voluntary == before.voluntary &&
                         now.involuntary == before.involuntary;
  if (kept_core) {
    const Nanoseconds gap = (moment - account.charged_at) - (clock - account.charged);
    const double part =
        interrupt_charge_.part_of_gap * static_cast<double>(std::max(gap.count(), std::int64_t{0}));
    time += Nanoseconds(std::llround(part));
  }
  account.charged_at = moment;
  interrupted_ += ended;
  interrupts_ += time;
  return time + (woken ? costs_.interrupt : Nanoseconds::zero());
}

void Grants::settle_tenants(ServiceAccount& account, Instant moment, Nanoseconds clock,
                            Nanoseconds interrupts, bool contended, bool woken) {
  TenantAccounts::Charges charges;
  const auto all = tenants_.charges_of(account, clock, interrupts, clocks_, charges);
  account.charged = clock;
  for (std::size_t budget = 0; budget < all.size(); ++budget) {
    ServiceAccount::Grant& grant = account.grants[budget];
    const TenantAccounts::Charge& charge = all[budget];
    const bool pays = budget == account.payer;
    Nanoseconds reserved{};
    if (grant.until != 0) reserved += grant.reserved;
    if (pays && account.open) reserved += account.reserved;
    grant.until = 0;
    if (charge.cpu == Nanoseconds::zero() && reserved == Nanoseconds::zero()) continue;
    pay(moment, reserved,
        {.tenant = static_cast<governor::Tenant>(budget),
         .cpu = charge.cpu,
         .requests = charge.requests,
         .wakes = pays && woken ? 1u : 0u,
         .contended = contended});
  }
  account.requests = 0;
  account.open = false;
}

void Grants::pay(Instant moment, Nanoseconds reserved, const governor::Spent& spent) {
  rule_.governor->settle(moment, reserved, spent);
  charged_ += spent.cpu;
  if (!spent.contended && reserved == Nanoseconds::zero()) free_ += spent.cpu;
}

void Grants::charge_kernel_threads(std::uint32_t tenant, Nanoseconds at_most) {
  const std::lock_guard lock(mutex_);
  if (rule_.governor == nullptr) return;
  const Instant moment = clocks_.now();
  const std::size_t budget = tenants_.divided() ? tenants_.budget_of(tenant) : 0;
  rule_.governor->charge(moment, {.tenant = static_cast<governor::Tenant>(budget),
                                  .cpu = at_most,
                                  .contended = contended(moment)});
  charged_ += at_most;
  kernel_threads_ += at_most;
}

void Grants::charge_keeper(Nanoseconds cpu) {
  const std::lock_guard lock(mutex_);
  if (rule_.governor == nullptr) return;
  rule_.governor->charge(clocks_.now(), {.cpu = cpu});
  charged_ += cpu;
  sensors_cpu_ += cpu;
  keeper_cpu_ += cpu;
}

void Grants::set_interrupts(const InterruptCharge& charge) {
  const std::lock_guard lock(mutex_);
  interrupt_charge_ = charge;
}

void Grants::sample(const SensorReading& reading) {
  const std::lock_guard lock(mutex_);
  if (rule_.governor == nullptr) return;
  const Instant moment = clocks_.now();
  rule_.governor->charge(moment, {.cpu = reading.cpu});
  charged_ += reading.cpu;
  sensors_cpu_ += reading.cpu;
  const auto elapsed = static_cast<double>((moment - sampled_at_).count()) * online_cores();
  if (elapsed <= 0) return;
  const double share = static_cast<double>((charged_ - sampled_).count()) / elapsed;
  sampled_ = charged_;
  sampled_at_ = moment;
  counted_.loss = filter_.update(reading.pressure, share, reading.canary);
  rule_.governor->sample(
      moment, {.pressure = reading.pressure, .canary_loss = counted_.loss, .share = share});
}

void Grants::tick(Nanoseconds cpu) {
  const std::lock_guard lock(mutex_);
  sensors_cpu_ += cpu;
  if (rule_.governor != nullptr) rule_.governor->charge(clocks_.now(), {});  // It looks.
}

void Grants::charge_sensor(Nanoseconds cpu, bool contended) {
  const std::lock_guard lock(mutex_);
  if (rule_.governor == nullptr) return;
  pay(clocks_.now(), Nanoseconds::zero(), {.cpu = cpu, .contended = contended});
  sensors_cpu_ += cpu;
}

std::uint32_t Grants::serving() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(log_.open());
}

Nanoseconds Grants::granted(Instant from, Instant to) const {
  const std::lock_guard lock(mutex_);
  return log_.between(from, to);
}

Grants::Usage Grants::usage() const {
  const std::lock_guard lock(mutex_);
  Usage usage{charged_ - keeper_cpu_, 0, interrupted_};
  if (rule_.governor != nullptr) usage.waits = rule_.governor->report(clocks_.now()).waits;
  return usage;
}

GovernorStats Grants::stats() const {
  const std::lock_guard lock(mutex_);
  GovernorStats stats = counted_;
  stats.sensors = rule_.sensors;
  stats.sensor_seconds = seconds(sensors_cpu_);
  stats.charged_seconds = seconds(charged_ - free_);
  stats.kernel_thread_seconds = seconds(kernel_threads_);
  stats.request_interrupt_seconds = seconds(interrupts_);
  stats.interrupt_us = seconds(interrupt_charge_.each) * 1e6;
  stats.interrupts = interrupt_charge_.account;
  stats.free_seconds = seconds(free_);
  if (rule_.governor == nullptr) return stats;
  const governor::Report report = rule_.governor->report(clocks_.now());
  stats.cap = report.cap;
  stats.throttled_seconds = seconds(report.throttled);
  stats.waits = report.waits;
  stats.forced = report.forced;
  for (const governor::Conflict& conflict : report.conflicts) {
    stats.conflicts.push_back(conflict.message);
  }
  if (!tenants_.divided()) return stats;
  for (std::size_t budget = 0; budget < tenants_.tenants().size(); ++budget) {
    const governor::TenantReport& tenant = report.tenants[budget];
    stats.budgets.push_back(
        {tenants_.tenants()[budget], tenant.part, seconds(tenant.throttled), tenant.waits});
  }
  return stats;
}

}  // namespace k2k::server
