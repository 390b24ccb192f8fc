// Which cap is kept, and how: the runtime's wish under the host's limit. Everything that can fail
// is made before anything changes.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "base/cores.hpp"
#include "host/limit.hpp"
#include "server/govern/gate.hpp"
#include "server/govern/sensors.hpp"
#include "server/settings/tenants.hpp"

namespace k2k::server {

namespace {

// A batch costs two wakes and a cold start, 30 to 150 us in a virtual machine, so it is as long as
// fairness over 100 ms permits: with this burst a window of 100 ms takes at most 1.9 times the cap.
constexpr double burst_of_window = 0.9;
constexpr Nanoseconds window = std::chrono::milliseconds(100);
constexpr Nanoseconds quantum_min{250'000};
constexpr Nanoseconds quantum_max{1'600'000};

// A look of a thread that sleeps takes 20 to 30 us of CPU time here, whatever it looks at: each 100
// ms that was 1.2 % of a cap of 1 % on two cores.
constexpr Nanoseconds watch_look{30'000};
constexpr double watch_part_of_cap = 0.003;
constexpr Nanoseconds watch_tick_min = std::chrono::milliseconds(100);
constexpr Nanoseconds watch_tick_max = std::chrono::seconds(1);

// A part of the host's limit changes with each look. Who sleeps is woken only for what is worth it.
constexpr double rise_worth_a_wake = 1.25;

// After a look for which there was no memory.
constexpr Nanoseconds look_without_memory = std::chrono::milliseconds(100);

Error no_sensor(governor::Policy policy, const Error& why) {
  return {why.code, fmt::format("server.governor is {}, which has to see which cores are idle: {}; "
                                "or choose budget",
                                governor::name_of(policy), why.message)};
}

// `cap_most` is the cap that there may be without another change of configuration or limit.
governor::GovernorConfig governor_of(governor::Policy policy, double cap, double cap_most,
                                     const ServerConfig& config, const TenantBudgets& tenants) {
  governor::GovernorConfig made;
  made.policy = policy;
  made.cap = cap;
  made.cores = online_cores();
  made.threads = config.threads_max;
  made.loss_max = config.loss_max_permille / 1000.0;
  made.cap_min = std::min(made.cap_min, made.cap);
  // `auto` is expected to take about what may be lost.
  const bool automatic = made.policy == governor::Policy::automatic;
  const double expected = automatic ? std::min(cap_most, made.loss_max) : cap_most;
  // Each budget may save a burst.
  made.tenants = tenants.budgets;
  const double burst = burst_of_window * expected * made.cores *
                       static_cast<double>(window.count()) /
                       static_cast<double>(made.tenants.size());
  const Nanoseconds quantum(std::llround(burst / governor::burst_quanta(made)));
  made.quantum = std::clamp(quantum, quantum_min, quantum_max);
  return made;
}

}  // namespace

// Everything that can fail, before anything changes.
struct Gate::Made {
  TenantBudgets tenants;
  std::unique_ptr<governor::Governor> governor;
  std::optional<host::IdleCores> idle_cores;
  std::unique_ptr<Sensors> sensors;
};

Status Gate::configure(const ServerConfig& config) {
  const std::lock_guard looking(looking_);
  ServerConfig before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(wanted_, config);
  }
  if (Status status = apply(); !status) {
    const std::lock_guard lock(mutex_);
    wanted_ = before;
    return status;
  }
  if (configured_) return {};
  Status status = look_now();
  configured_ = status.ok();
  return status;
}

Gate::Terms Gate::terms() const {
  Terms terms;
  if (wanted_.cap_permille != 0 && wanted_.governor != governor::Policy::none) {
    terms.policy = wanted_.governor;
    terms.cap = wanted_.cap_permille / 1000.0;
  }
  if (terms.policy != governor::Policy::none || host_.limit > 0) terms.tenants = wanted_.tenants;
  if (host_.limit > 0) {
    const double part = std::max(host_.part, host::limit_min);
    terms.cap = terms.cap > 0 ? std::min(terms.cap, part) : part;
    // A runtime may lower its part, not choose a rule that breaks it.
    if (terms.policy != governor::Policy::automatic) terms.policy = governor::Policy::budget;
  }
  if (terms.policy == governor::Policy::automatic) {
    terms.loss_max_permille = wanted_.loss_max_permille;
  }
  return terms;
}

Status Gate::apply() {
  Terms wanted;
  {
    const std::lock_guard lock(mutex_);
    wanted = terms();
  }
  if (wanted == terms_) return {};
  Terms capped = terms_;
  capped.cap = wanted.cap;
  return wanted == capped ? adjust_cap(wanted) : replace_governor(wanted);
}

// What was saved or is owed stays.
Status Gate::adjust_cap(const Terms& wanted) {
  const std::lock_guard lock(mutex_);
  // A guarantee above the runtime's own cap was refused with its configuration; above its part of
  // the host's limit it is a conflict, and the limit wins.
  const auto guarantees = governor::Guarantees::may_conflict;
  if (Status status = governor_->set_cap(now(), wanted.cap, guarantees); !status) return status;
  const bool worth_a_wake = wanted.cap > terms_.cap * rise_worth_a_wake || host_.limit <= 0;
  terms_ = wanted;
  set_watch_tick(wanted.cap);
  if (!worth_a_wake) return {};
  ++generation_;
  changed_.notify_all();
  return {};
}

Result<Gate::Made> Gate::make(const Terms& wanted) {
  Made made;
  const double own = wanted_.cap_permille != 0 ? wanted_.cap_permille / 1000.0 : 1;
  const double cap_most = host_.limit > 0 ? std::min(own, host_.limit) : own;
  // The published rule knows no tenants: asked for each of them, it would double its delay each
  // time.
  const bool budgets = wanted.policy != governor::Policy::backoff;
  auto tenants = parse_tenants(budgets ? std::string_view(wanted.tenants) : "");
  if (!tenants) return tenants.error();
  made.tenants = std::move(tenants).value();
  governor::GovernorConfig config =
      governor_of(wanted.policy, wanted.cap, cap_most, wanted_, made.tenants);
  const bool promised =
      std::any_of(config.tenants.begin(), config.tenants.end(),
                  [](const governor::TenantConfig& tenant) { return tenant.guarantee > 0; });
  // As in adjust_cap(): guarantees are judged by the own cap alone.
  if (promised) config.cap = own;
  auto governor = governor::create(config, now());
  if (!governor) return governor.error();
  made.governor = std::move(governor).value();
  if (promised && wanted.cap < own) {
    const auto guarantees = governor::Guarantees::may_conflict;
    if (Status status = made.governor->set_cap(now(), wanted.cap, guarantees); !status) {
      return status.error();
    }
    config.cap = wanted.cap;
  }
  if (wanted.policy == governor::Policy::displaced) {
    auto idle_cores = host::IdleCores::open(usable_cores(), config.cores, proc_);
    if (!idle_cores) return no_sensor(wanted.policy, idle_cores.error());
    made.idle_cores = std::move(idle_cores).value();
  }
  auto sensors = Sensors::start(config, *this, proc_);
  if (!sensors) return sensors.error();
  made.sensors = std::move(sensors).value();
  return made;
}

Status Gate::replace_governor(const Terms& wanted) {
  Made made;
  if (wanted.policy != governor::Policy::none) {
    auto result = make(wanted);
    if (!result) return result.error();
    made = std::move(result).value();
  }
  // Nothing behind this needs memory: it changes as a whole or not at all.
  decltype(bills_) bills(made.tenants.tenants.size());
  std::string about = made.sensors ? made.sensors->about() : made.idle_cores ? "idle cores" : "";
  sensors_ = std::move(made.sensors);  // Before the mutex is taken: the old thread may want it.
  const std::lock_guard lock(mutex_);
  governor_ = std::move(made.governor);
  for (std::size_t tenant = 0; tenant < budget_of_.size(); ++tenant) {
    budget_of_[tenant].store(made.tenants.budget_of[tenant], std::memory_order_relaxed);
  }
  tenants_ = std::move(made.tenants.tenants);
  std::swap(bills_, bills);
  by_tenant_.store(governor_ != nullptr && tenants_.size() > 1, std::memory_order_relaxed);
  idle_cores_ = std::move(made.idle_cores);
  terms_ = wanted;
  set_watch_tick(wanted.cap);
  filter_ = {};
  grants_ = {};
  std::swap(counted_.sensors, about);
  sampled_ = charged_;
  sampled_at_ = now();
  ++epoch_;
  governed_.store(governor_ != nullptr, std::memory_order_relaxed);
  ++generation_;
  changed_.notify_all();
  return {};
}

void Gate::set_watch_tick(double cap) {
  const double cores = cap * online_cores() * watch_part_of_cap;
  const double tick = cores > 0 ? static_cast<double>(watch_look.count()) / cores : 0;
  const auto longest = static_cast<double>(watch_tick_max.count());
  watch_tick_ns_.store(std::max(watch_tick_min.count(), std::lround(std::min(tick, longest))),
                       std::memory_order_relaxed);
}

void Gate::look_without_cap(Account& account) {
  account.passes = 0;
  if (look_is_due()) look();
}

bool Gate::look_is_due() const { return cycles() >= look_at_.load(std::memory_order_relaxed); }

void Gate::look() {
  const std::unique_lock looking(looking_, std::try_to_lock);
  if (!looking.owns_lock()) return;
  try {
    // What is wrong with the host's limit was said at the start, or is by `k2k doctor`.
    static_cast<void>(look_now());
  } catch (const std::bad_alloc&) {
    // What was known holds on.
    look_at_.store(cycles() + cycles_in(look_without_memory), std::memory_order_relaxed);
  }
}

Status Gate::look_now() {
  host::Share::Own own;
  const Instant moment = now();
  {
    const std::lock_guard lock(mutex_);
    if (wanted_.cap_permille != 0) own.cap = wanted_.cap_permille / 1000.0;
    own.used = charged_;
    own.waits_now = waiting_ > 0;
    if (governor_ != nullptr) own.waits = governor_->report(moment).waits;
  }
  Status status = share_.look(moment, own);
  look_at_.store(cycles() + cycles_in(share_.due() - moment), std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    host_ = {share_.limit().value_or(0), share_.part(),
             static_cast<std::uint32_t>(share_.holders()), share_.due(), share_.idle()};
  }
  if (Status applied = apply(); !applied) return applied;
  return status;
}

}  // namespace k2k::server
