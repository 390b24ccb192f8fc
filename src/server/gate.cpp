#include "server/gate.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "host/limit.hpp"
#include "server/cores.hpp"
#include "server/sensors.hpp"

namespace k2k::server {

namespace {

// A batch costs two wakes and a cold start, 30 to 120 us in a virtual machine, so it is as long as
// fairness over 100 ms permits: with a burst of two quanta a window of 100 ms takes at most
// 1 + 2 x 0.45 times the cap. Longer than 1.4 ms gains nothing more.
constexpr double quantum_of_window = 0.45;
constexpr Nanoseconds window = std::chrono::milliseconds(100);
constexpr Nanoseconds quantum_min{250'000};
constexpr Nanoseconds quantum_max{1'400'000};

// A part of the host's limit changes with each look. Who sleeps is woken only for what is worth it.
constexpr double rise_worth_a_wake = 1.25;

std::uint32_t usable_cores() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  // More CPUs than the set has room for: all are usable, as far as anybody can tell.
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0) return online_cores();
  return static_cast<std::uint32_t>(CPU_COUNT(&usable));
}

Error no_sensor(governor::Policy policy, const Error& why) {
  return {why.code, fmt::format("server.governor is {}, which has to see which cores are idle: {}; "
                                "or choose budget",
                                governor::name_of(policy), why.message)};
}

// `cap_most` is the cap that there may be without another change of configuration or limit.
governor::GovernorConfig governor_of(governor::Policy policy, double cap, double cap_most,
                                     const ServerConfig& config) {
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
  const double of_window = quantum_of_window * expected * made.cores;
  const auto quantum = static_cast<std::int64_t>(of_window * static_cast<double>(window.count()));
  made.quantum = std::clamp(Nanoseconds(quantum), quantum_min, quantum_max);
  return made;
}

}  // namespace

// Everything that can fail, before anything changes.
struct Gate::Made {
  std::unique_ptr<governor::Governor> governor;
  std::optional<host::IdleCores> idle_cores;
  std::unique_ptr<Sensors> sensors;
};

Gate::Gate(std::string proc)
    : proc_(std::move(proc)), share_(host::override_path(), online_cores()) {}
Gate::~Gate() { stop_sensors(); }  // Before what its thread uses.

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
  if (Status status = governor_->set_cap(now(), wanted.cap); !status) return status;
  const bool worth_a_wake = wanted.cap > terms_.cap * rise_worth_a_wake || host_.limit <= 0;
  terms_ = wanted;
  if (!worth_a_wake) return {};
  ++generation_;
  changed_.notify_all();
  return {};
}

Result<Gate::Made> Gate::make(const Terms& wanted) {
  Made made;
  const double own = wanted_.cap_permille != 0 ? wanted_.cap_permille / 1000.0 : 1;
  const double cap_most = host_.limit > 0 ? std::min(own, host_.limit) : own;
  const governor::GovernorConfig config = governor_of(wanted.policy, wanted.cap, cap_most, wanted_);
  auto governor = governor::create(config, now());
  if (!governor) return governor.error();
  made.governor = std::move(governor).value();
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
  sensors_ = std::move(made.sensors);  // Before the mutex is taken: the old thread may want it.
  const std::lock_guard lock(mutex_);
  governor_ = std::move(made.governor);
  idle_cores_ = std::move(made.idle_cores);
  terms_ = wanted;
  filter_ = {};
  grants_ = {};
  counted_.sensors = sensors_ ? sensors_->about() : idle_cores_ ? "idle cores" : "";
  sampled_ = charged_;
  sampled_at_ = now();
  ++epoch_;
  governed_.store(governor_ != nullptr, std::memory_order_relaxed);
  ++generation_;
  changed_.notify_all();
  return {};
}

void Gate::look_without_cap(Account& account) {
  account.passes = 0;
  if (look_is_due()) look();
}

bool Gate::look_is_due() const { return cycles() >= look_at_.load(std::memory_order_relaxed); }

void Gate::look() {
  const std::unique_lock looking(looking_, std::try_to_lock);
  // What is wrong with the host's limit was said at the start, or is by `k2k doctor`.
  if (looking.owns_lock()) static_cast<void>(look_now());
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

bool Gate::pass_governed(Account& account, std::uint32_t requests) {
  account.requests += requests;
  if (account.open && cycles() < account.until) return false;
  return renew(account);
}

bool Gate::renew(Account& account) {
  if (look_is_due()) look();
  bool slept = false;
  bool told = false;
  std::unique_lock lock(mutex_);
  while (governor_ != nullptr) {
    const Instant moment = now();
    const bool wanted = contended(moment);
    settle_locked(account, moment, wanted, slept ? costs_.interrupt : Nanoseconds::zero(),
                  slept ? 1 : 0);
    if (suspended_) break;
    const governor::Decision decision = governor_->decide(moment, {.contended = wanted});
    if (decision.verdict == governor::Verdict::serve) {
      account.open = true;
      account.reserved = decision.reserved;
      // CPU time is at most the time of day; whether it was less is seen when the grant ends.
      account.until = cycles() + cycles_in(decision.grant);
      grants_.opened(moment);
      break;
    }
    slept = true;
    // A small part orders long waits, and may have grown meanwhile. Who said that he wants nothing
    // says otherwise first, once.
    const bool tell = host_.idle && !std::exchange(told, true);
    Instant until = decision.until;
    if (host_.limit > 0) until = tell ? moment : std::min(until, host_.look_at);
    ++waiting_;
    sleep_locked(lock, until);
    if (tell || (host_.limit > 0 && now() >= host_.look_at)) {
      lock.unlock();
      look();
      lock.lock();
    }
    --waiting_;
  }
  return slept;
}

void Gate::sleep_locked(std::unique_lock<std::mutex>& lock, Instant until) {
  const std::uint64_t before = generation_;
  changed_.wait_until(lock, until, [&] { return generation_ != before; });
}

bool Gate::rest_governed(Account& account) {
  std::unique_lock lock(mutex_);
  if (governor_ == nullptr) return false;
  const Instant moment = now();
  settle_locked(account, moment, contended(moment), {}, 0);
  const Instant until = governor_->unmask_at(moment);
  if (until <= moment || suspended_) return false;
  ++counted_.masked_rests;
  sleep_locked(lock, until);
  if (governor_ == nullptr) return true;
  const Instant woken = now();
  settle_locked(account, woken, contended(woken), costs_.interrupt, 1);
  return true;
}

void Gate::settle(Account& account, Nanoseconds extra, std::uint32_t wakes) {
  const std::lock_guard lock(mutex_);
  if (governor_ == nullptr) return;
  const Instant moment = now();
  settle_locked(account, moment, contended(moment), extra, wakes);
}

void Gate::settle_locked(Account& account, Instant moment, bool contended, Nanoseconds extra,
                         std::uint32_t wakes) {
  const Nanoseconds clock = thread_time();
  if (account.open && account.epoch == epoch_) grants_.closed(moment);
  if (account.epoch != epoch_) {  // What was spent before there was a cap is nobody's debt.
    account = {};
    account.epoch = epoch_;
    account.charged = clock;
  }
  governor::Spent spent;
  spent.cpu = clock - account.charged + extra;
  spent.requests = account.requests;
  spent.wakes = wakes;
  spent.contended = contended;
  const Nanoseconds reserved = account.open ? account.reserved : Nanoseconds::zero();
  governor_->settle(moment, reserved, spent);
  charged_ += spent.cpu;
  if (!contended && reserved == Nanoseconds::zero()) free_ += spent.cpu;
  account.charged = clock;
  account.requests = 0;
  account.open = false;
}

void Gate::sample(const SensorReading& reading) {
  const std::lock_guard lock(mutex_);
  if (governor_ == nullptr) return;
  const Instant moment = now();
  governor_->charge(moment, {.cpu = reading.cpu});
  charged_ += reading.cpu;
  sensors_cpu_ += reading.cpu;
  const auto elapsed = static_cast<double>((moment - sampled_at_).count()) * online_cores();
  if (elapsed <= 0) return;
  const double share = static_cast<double>((charged_ - sampled_).count()) / elapsed;
  sampled_ = charged_;
  sampled_at_ = moment;
  counted_.loss = filter_.update(reading.pressure, share, reading.canary);
  governor_->sample(moment,
                    {.pressure = reading.pressure, .canary_loss = counted_.loss, .share = share});
}

void Gate::tick(Nanoseconds cpu) {
  const std::lock_guard lock(mutex_);
  sensors_cpu_ += cpu;
  if (governor_ != nullptr) governor_->charge(now(), {});  // It looks.
}

Nanoseconds Gate::granted(Instant from, Instant to) const {
  const std::lock_guard lock(mutex_);
  return grants_.between(from, to);
}

void Gate::stop_sensors() {
  const std::lock_guard looking(looking_);
  sensors_.reset();
}

void Gate::suspend() {
  const std::lock_guard lock(mutex_);
  suspended_ = true;
  ++generation_;
  changed_.notify_all();
}

void Gate::resume() {
  const std::lock_guard lock(mutex_);
  suspended_ = false;
}

GovernorStats Gate::stats() const {
  const std::lock_guard lock(mutex_);
  GovernorStats stats = counted_;
  stats.sensor_seconds = std::chrono::duration<double>(sensors_cpu_).count();
  stats.free_seconds = std::chrono::duration<double>(free_).count();
  stats.host_limit = host_.limit;
  stats.host_part = host_.part;
  stats.host_holders = host_.holders;
  if (governor_ == nullptr) return stats;
  const governor::Report report = governor_->report(now());
  stats.cap = report.cap;
  stats.throttled_seconds = std::chrono::duration<double>(report.throttled).count();
  stats.waits = report.waits;
  stats.forced = report.forced;
  return stats;
}

}  // namespace k2k::server
