#include "server/govern/sensors.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "base/cores.hpp"
#include "base/own_process.hpp"
#include "base/signals_blocked.hpp"
#include "governor/displaced.hpp"
#include "host/idle_cores.hpp"

namespace k2k::server {

namespace {

// Pieces of the canary in a sample: 100 ms.
constexpr int pieces_a_sample = 5;
// Permitted delay of a timed sleep, in nanoseconds: the ticker's sleeps are shorter than Linux'
// default of 50 us.
constexpr unsigned long ticker_slack_ns = 1;

// The time until the next check after a check of `displaced` failed for lack of memory.
constexpr Nanoseconds retry_without_memory = std::chrono::milliseconds(100);

// CPU time of this thread since the last call.
class OwnTime {
 public:
  Nanoseconds since_last() {
    const Nanoseconds before = last_;
    last_ = thread_time();
    return last_ - before;
  }

 private:
  Nanoseconds last_{};  // The thread has just begun.
};

}  // namespace

Result<std::unique_ptr<Sensors>> Sensors::start(const governor::GovernorConfig& config,
                                                Grants& grants, WaitingThreads& waiting,
                                                const std::string& proc) {
  using governor::Policy;
  if (config.policy == Policy::none || config.policy == Policy::budget) {
    return std::unique_ptr<Sensors>();
  }
  std::unique_ptr<Sensors> sensors(new Sensors(config, grants, waiting, proc));
  const bool displaced = config.policy == Policy::displaced;
  Status status = displaced ? sensors->begin_core_watch() : sensors->begin();
  if (!status) return status.error();
  return sensors;
}

Status Sensors::begin_core_watch() {
  auto cores = host::IdleCores::open(usable_cores(), config_.cores, proc_);
  if (!cores) {
    return Error{cores.error().code,
                 fmt::format("server.governor is displaced, which has to see which cores are idle: "
                             "{}; or choose budget",
                             cores.error().message)};
  }
  about_ = "idle cores";
  core_watch_ =
      std::make_shared<CoreWatch>(std::move(cores).value(), governor::idle_check_of(config_));
  return core_watch_->start([this] { return check_cores(); });
}

std::function<bool(Instant)> Sensors::contended() const {
  if (core_watch_ == nullptr) return {};
  return [watch = core_watch_](Instant moment) { return watch->all_busy(moment); };
}

void Sensors::set_cap(double cap) {
  config_.cap = cap;
  if (core_watch_ != nullptr) core_watch_->set_busy_period(governor::idle_check_of(config_));
}

KeeperThread::Next Sensors::check_cores() {
  CoreWatch::Check seen;
  try {
    seen = core_watch_->check(now(), grants_.serving(), waiting_.count() > 0);
  } catch (const std::bad_alloc&) {
    // No memory, not even for an error message: cores count as busy.
    seen.next = {now() + retry_without_memory, true};
  }
  if (seen.idle_again) waiting_.wake_all();
  const Nanoseconds cpu = thread_time();
  grants_.charge_sensor(cpu - std::exchange(core_watch_cpu_, cpu), seen.all_busy);
  return seen.next;
}

Status Sensors::begin() {
  const bool watches = config_.policy == governor::Policy::automatic;
  try {
    const SignalsBlocked guard;
    thread_ = std::thread([this, watches] {
      const OwnThread own;
      pthread_setname_np(pthread_self(), watches ? "k2k/canary" : "k2k/ticker");
      watches ? watch() : tick();
    });
  } catch (const std::system_error& failure) {
    return Error{EAGAIN, fmt::format("no thread for server.governor = \"{}\" ({}); raise the limit "
                                     "on processes: ulimit -u",
                                     governor::name_of(config_.policy), failure.what())};
  }
  ready_.get_future().wait();
  return {};
}

Sensors::~Sensors() {
  if (core_watch_ != nullptr) core_watch_->stop();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    end_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool Sensors::sleep_until(Instant when) {
  std::unique_lock lock(mutex_);
  return end_.wait_until(lock, when, [this] { return ending_; });
}

void Sensors::watch() {
  Result<host::Canary> made =
      host::Canary::open(proc_);  // Opened here, because it reads the account of its own thread.
  auto pressure = host::CpuPressure::open(now(), proc_);
  about_ = fmt::format("{}, {}", made ? "canary" : "no canary: " + made.error().message,
                       pressure ? "pressure" : "no pressure: " + pressure.error().message);
  ready_.set_value();
  std::optional<host::Canary> canary;
  if (made) canary.emplace(std::move(made).value());

  OwnTime own;
  SensorReading reading;
  int pieces = 0;
  for (Instant due = now() + host::canary_period; !sleep_until(due); due += host::canary_period) {
    due = std::max(due, now() - host::canary_period);  // Skips the periods of a pause.
    const governor::CanarySight seen = sight(canary);
    reading.canary.wanted += seen.wanted;
    reading.canary.lost += seen.lost;
    if (++pieces < pieces_a_sample) continue;
    reading.pressure = pressure ? pressure->since_last(now()) : -1;
    reading.cpu = own.since_last();
    grants_.sample(reading);
    reading = {};
    pieces = 0;
  }
}

governor::CanarySight Sensors::sight(std::optional<host::Canary>& canary) const {
  if (!canary) return {};
  const std::optional<host::Canary::Piece> piece = canary->work();
  if (!piece) return {};
  const Instant end = now();
  const Nanoseconds wanted = piece->waited + piece->took;
  const Nanoseconds beside = grants_.granted(end - wanted, end) / config_.cores;
  const Nanoseconds slowed = piece->took - piece->undisturbed;
  const bool served = beside > Nanoseconds::zero();
  return {wanted, std::min(piece->waited, beside) + (served ? slowed : Nanoseconds::zero())};
}

void Sensors::tick() {
  prctl(PR_SET_TIMERSLACK, ticker_slack_ns);
  ready_.set_value();
  OwnTime own;
  Instant next = now();
  do {
    grants_.tick(own.since_last());
    next = std::max(next + config_.tick, now());
  } while (!sleep_until(next));
}

}  // namespace k2k::server
