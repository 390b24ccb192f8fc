#include "server/gate.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
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

governor::GovernorConfig governor_of(const ServerConfig& config) {
  governor::GovernorConfig made;
  made.policy = config.governor;
  made.cap = config.cap_permille / 1000.0;
  made.cores = online_cores();
  made.threads = config.threads_max;
  made.loss_max = config.loss_max_permille / 1000.0;
  made.cap_min = std::min(made.cap_min, made.cap);
  // `auto` is expected to take about what may be lost.
  const bool automatic = made.policy == governor::Policy::automatic;
  const double expected = automatic ? std::min(made.cap, made.loss_max) : made.cap;
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

Gate::Gate(std::string proc) : proc_(std::move(proc)) {}
Gate::~Gate() { stop_sensors(); }  // Before what its thread uses.

Gate::Settings Gate::settings_of(const ServerConfig& config) {
  if (config.cap_permille == 0 || config.governor == governor::Policy::none) return {};
  const bool automatic = config.governor == governor::Policy::automatic;
  return {config.governor, config.cap_permille, automatic ? config.loss_max_permille : 0};
}

Result<Gate::Made> Gate::make(const ServerConfig& config) {
  Made made;
  const governor::GovernorConfig wanted = governor_of(config);
  auto governor = governor::create(wanted, now());
  if (!governor) return governor.error();
  made.governor = std::move(governor).value();
  if (wanted.policy == governor::Policy::displaced) {
    auto idle_cores = host::IdleCores::open(usable_cores(), wanted.cores, proc_);
    if (!idle_cores) return no_sensor(wanted.policy, idle_cores.error());
    made.idle_cores = std::move(idle_cores).value();
  }
  auto sensors = Sensors::start(wanted, *this, proc_);
  if (!sensors) return sensors.error();
  made.sensors = std::move(sensors).value();
  return made;
}

Status Gate::configure(const ServerConfig& config) {
  const Settings wanted = settings_of(config);
  Settings capped = settings_;  // Only this thread writes it.
  if (wanted == capped) return {};
  capped.cap_permille = wanted.cap_permille;
  if (wanted == capped) {  // What was saved or is owed stays.
    const std::lock_guard lock(mutex_);
    if (Status status = governor_->set_cap(now(), wanted.cap_permille / 1000.0); !status) {
      return status;
    }
    settings_ = wanted;
    ++generation_;
    changed_.notify_all();
    return {};
  }
  Made made;
  if (wanted.policy != governor::Policy::none) {
    auto result = make(config);
    if (!result) return result.error();
    made = std::move(result).value();
  }
  sensors_ = std::move(made.sensors);  // Before the mutex is taken: the old thread may want it.
  const std::lock_guard lock(mutex_);
  governor_ = std::move(made.governor);
  idle_cores_ = std::move(made.idle_cores);
  settings_ = wanted;
  filter_ = {};
  grants_ = {};
  counted_.sensors = sensors_ ? sensors_->about() : idle_cores_ ? "idle cores" : "";
  sampled_ = charged_;
  sampled_at_ = now();
  ++epoch_;
  ++generation_;
  governed_.store(governor_ != nullptr, std::memory_order_relaxed);
  changed_.notify_all();
  return {};
}

bool Gate::pass_governed(Account& account, std::uint32_t requests) {
  account.requests += requests;
  if (account.open && cycles() < account.until) return false;
  return renew(account);
}

bool Gate::renew(Account& account) {
  bool slept = false;
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
    sleep_locked(lock, decision.until);
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

void Gate::stop_sensors() { sensors_.reset(); }

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
  if (governor_ == nullptr) return stats;
  const governor::Report report = governor_->report(now());
  stats.cap = report.cap;
  stats.throttled_seconds = std::chrono::duration<double>(report.throttled).count();
  stats.waits = report.waits;
  stats.forced = report.forced;
  return stats;
}

}  // namespace k2k::server
