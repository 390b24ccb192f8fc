#include "labs/interference/governor/simulator.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <vector>

#include "governor/lease.hpp"

namespace k2k::labs::governor {

namespace {

namespace policy = k2k::governor;

using policy::Verdict;

// A simulation ends after this many events, whatever its requested duration: about ten seconds.
constexpr std::uint64_t events_max = 30'000'000;
constexpr double timer_slack_us = 3;   // Mean delay of a timer (exponential).
constexpr double wake_latency_us = 2;  // Mean delay from waking a thread until it runs
                                       // (exponential).
constexpr double first_gap_us = 5;     // The accelerator's first requests are spread over this
                                       // time.
// The period at which `auto` receives a canary's loss; a canary loses more than the time taken
// (caches), by the factor that was measured under budgets (docs/decisions/0108).
constexpr Nanoseconds sample_period = std::chrono::milliseconds(100);
constexpr double pollution = 1.06;
constexpr double canary_noise = 0.05;

Nanoseconds from_us(double us) { return Nanoseconds(std::llround(us * 1e3)); }

// CPU time in bins of one millisecond, to find the worst window.
class Bins {
 public:
  explicit Bins(double seconds) : spent_ns_(static_cast<std::size_t>(seconds * 1e3) + 2) {}

  // CPU time used without interruption from `begin` on.
  void add(Instant begin, Nanoseconds cpu) {
    std::int64_t at = begin.time_since_epoch().count();
    for (std::int64_t left = cpu.count(); left > 0;) {
      const auto bin = static_cast<std::size_t>(at / bin_ns);
      if (bin >= spent_ns_.size()) return;
      const std::int64_t here = std::min(left, bin_ns - at % bin_ns);
      spent_ns_[bin] += here;
      at += here;
      left -= here;
    }
  }
  // The most in `bins` successive bins, as CPU time per nanosecond.
  [[nodiscard]] double worst(std::size_t bins) const {
    std::int64_t sum = 0;
    std::int64_t most = 0;
    for (std::size_t bin = 0; bin < spent_ns_.size(); ++bin) {
      sum += spent_ns_[bin];
      if (bin >= bins) sum -= spent_ns_[bin - bins];
      most = std::max(most, sum);
    }
    return static_cast<double>(most) /
           static_cast<double>(static_cast<std::int64_t>(bins) * bin_ns);
  }

 private:
  static constexpr std::int64_t bin_ns = 1'000'000;
  std::vector<std::int64_t> spent_ns_;
};

class Simulation {
 public:
  Simulation(const Load& load, const policy::GovernorConfig& config, policy::Governor& governor,
             double seconds, std::uint64_t seed)
      : load_(load),
        costs_(config.costs),
        governor_(governor),
        random_(seed),
        begin_(Instant() + from_us(load.silent_s * 1e6)),
        end_(begin_ + from_us(seconds * 1e6)),
        bins_(load.silent_s + seconds),
        workers_(config.threads) {
    for (std::uint32_t worker = config.threads; worker > 0; --worker) idle_.push_back(worker - 1);
  }

  Outcome run() {
    start();
    while (!events_.empty() && events_.top().at <= end_) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      handle(event);
      if (order_ >= events_max) end_ = now_;
    }
    return outcome();
  }

 private:
  //   arrival   a request arrives                   a stalled one arrives after the next answer
  //   woken     a thread begins to look for work    timer    a thread's timer expires: likewise
  //   done      a thread completed a request        unmask   the source may interrupt again
  //   phase     a core becomes busy or idle         sample   sensors report to the governor
  enum class Kind : std::uint8_t { arrival, woken, timer, done, unmask, phase, sample };

  struct Event {
    Instant at;
    std::uint64_t order;  // Breaks ties between events of one time.
    Kind kind;
    std::uint32_t index;                        // Thread or core.
    bool operator<(const Event& other) const {  // The queue's top is the greatest.
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  struct Worker {
    policy::Lease lease;
    Nanoseconds service{};  // In progress.
  };

  void push(Instant at, Kind kind, std::uint32_t index = 0) {
    events_.push({at, order_++, kind, index});
  }

  void start() {
    if (load_.offered < unbounded) {
      push(begin_ + next_gap(), Kind::arrival);
    } else {
      for (std::uint32_t one = 0; one < load_.outstanding; ++one) {
        push(begin_ + from_us(first_gap_us * random_.unit()), Kind::arrival);
      }
    }
    for (std::uint32_t core = 0; core < load_.cores && load_.busy < 1; ++core) {
      busy_.push_back(random_.unit() <= load_.busy);
      busy_cores_ += busy_.back() ? 1 : 0;
      push(Instant() + phase_of(core), Kind::phase, core);
    }
    push(Instant() + sample_period, Kind::sample);
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case Kind::arrival:
        return arrive();
      case Kind::woken:
      case Kind::timer:
        return look(event.index);
      case Kind::done:
        return complete(event.index);
      case Kind::unmask:
        return unmask();
      case Kind::phase:
        return turn(event.index);
      case Kind::sample:
        return sample();
    }
  }

  // ── the accelerator ──

  [[nodiscard]] Nanoseconds next_gap() { return from_us(random_.exponential(1e6 / load_.offered)); }

  void arrive() {
    if (load_.offered < unbounded) {
      if (queue_.size() + in_service_ >= load_.outstanding) {
        stalled_ = true;  // Continues with the next answer.
        return;
      }
      push(now_ + next_gap(), Kind::arrival);
    }
    ++asked_;
    queue_.push_back(now_);
    const bool polled = governor_.masks_source() && idle_.size() < workers_.size();
    const bool masked = polled || now_ < unmask_at_;
    if (masked) return;
    charge(costs_.interrupt, 0);
    if (!idle_.empty()) wake();
  }

  void answered() {
    ++completed_;
    if (load_.offered >= unbounded) return push(now_ + from_us(load_.think_us), Kind::arrival);
    if (!stalled_) return;
    stalled_ = false;
    push(now_, Kind::arrival);
  }

  // ── service threads ──

  void wake() {
    const std::uint32_t worker = idle_.back();
    idle_.pop_back();
    ++wakes_;
    charge(costs_.wake, 1);
    push(now_ + from_us(random_.exponential(wake_latency_us)), Kind::woken, worker);
  }

  void look(std::uint32_t index) {
    Worker& worker = workers_[index];
    if (!worker.lease.empty() && !queue_.empty() && worker.lease.allows()) return serve(index);
    if (!worker.lease.empty()) {
      const Nanoseconds reserved = worker.lease.reserved();
      governor_.settle(now_, reserved, worker.lease.close(0, contended()));
    }
    if (queue_.empty()) return rest(index);
    const policy::Decision decision = governor_.decide(now_, {.contended = contended()});
    switch (decision.verdict) {
      case Verdict::serve:
        worker.lease.open(decision);
        more_ = decision.more;
        return serve(index);
      case Verdict::wait:
        ++wakes_;
        charge(costs_.sleep, 1);
        return push(decision.until + from_us(random_.exponential(timer_slack_us)), Kind::timer,
                    index);
      case Verdict::rest:
        return idle_.push_back(index);
    }
  }

  void serve(std::uint32_t index) {
    Worker& worker = workers_[index];
    longest_delay_ = std::max(longest_delay_, now_ - queue_.front());
    queue_.pop_front();
    ++in_service_;
    worker.service = from_us(load_.service.draw_us(random_));
    spend(worker.service);
    push(now_ + worker.service + stolen_, Kind::done, index);
    stolen_ = {};
    recruit();
  }

  // While the source is masked, only this wakes threads for a backlog.
  void recruit() {
    const std::size_t active = workers_.size() - idle_.size();
    if (governor_.masks_source() && more_ && queue_.size() >= 2 && !idle_.empty() &&
        active < governor_.threads_wanted()) {
      wake();
    }
  }

  void complete(std::uint32_t index) {
    Worker& worker = workers_[index];
    --in_service_;
    worker.lease.spend(worker.service, 1);
    answered();
    look(index);
  }

  void rest(std::uint32_t index) {
    idle_.push_back(index);
    if (idle_.size() < workers_.size()) return;
    const Instant until = governor_.unmask_at(now_);
    if (until <= now_ || until <= unmask_at_) return;
    unmask_at_ = until;
    push(until, Kind::unmask);
  }

  void unmask() {
    if (queue_.empty() || idle_.size() < workers_.size()) return;
    wake();
  }

  // ── CPU programs, sensors, accounts ──

  [[nodiscard]] bool contended() const { return busy_.empty() || busy_cores_ == load_.cores; }

  [[nodiscard]] Nanoseconds phase_of(std::uint32_t core) {
    const double part = busy_[core] ? load_.busy : 1 - load_.busy;
    return from_us(random_.exponential(load_.phase_us * part));
  }

  void turn(std::uint32_t core) {
    busy_[core] = !busy_[core];
    busy_cores_ = busy_[core] ? busy_cores_ + 1 : busy_cores_ - 1;
    push(now_ + phase_of(core), Kind::phase, core);
  }

  void sample() {
    const double cores_ns = static_cast<double>(sample_period.count()) * load_.cores;
    const double noise = 1 + canary_noise * random_.normal();
    const double loss = static_cast<double>((displaced_ - sampled_displaced_).count()) / cores_ns;
    governor_.sample(now_, {.canary_loss = std::max(0.0, loss * pollution * noise),
                            .share = static_cast<double>((spent_ - sampled_).count()) / cores_ns});
    sampled_ = spent_;
    sampled_displaced_ = displaced_;
    push(now_ + sample_period, Kind::sample);
  }

  // Outside a lease, CPU time is charged at once.
  void charge(Nanoseconds cpu, std::uint32_t wakes) {
    spend(cpu);
    if (in_service_ == load_.cores) stolen_ += cpu;
    governor_.charge(now_, {.cpu = cpu, .wakes = wakes, .contended = contended()});
  }

  void spend(Nanoseconds cpu) {
    spent_ += cpu;
    if (contended()) displaced_ += cpu;
    bins_.add(now_, cpu);
  }

  [[nodiscard]] Outcome outcome() const {
    const auto duration = static_cast<double>((end_ - begin_).count());
    const Nanoseconds period = governor_.tick_period();
    // CPU time per nanosecond that the accounting thread takes.
    const double ticks = period > Nanoseconds::zero() ? static_cast<double>(costs_.tick.count()) /
                                                            static_cast<double>(period.count())
                                                      : 0;
    const double cpu = static_cast<double>(spent_.count()) / duration + ticks;
    const double seconds = duration * 1e-9;
    Outcome outcome;
    outcome.share = cpu / load_.cores;
    outcome.displaced = (static_cast<double>(displaced_.count()) / duration + ticks) / load_.cores;
    const bool long_enough = duration >= 100e6;
    outcome.worst_100ms = long_enough ? (bins_.worst(100) + ticks) / load_.cores : outcome.share;
    outcome.throughput = static_cast<double>(completed_) / seconds;
    outcome.per_cpu_s = outcome.throughput / cpu;
    outcome.wakes = static_cast<double>(wakes_) / seconds;
    outcome.delay_max_s = static_cast<double>(longest_delay_.count()) * 1e-9;
    outcome.lost = asked_ - completed_ - queue_.size() - in_service_;
    return outcome;
  }

  const Load& load_;
  const policy::Costs costs_;
  policy::Governor& governor_;
  Random random_;
  const Instant begin_;  // Of the load; silence before it.
  Instant end_;
  Instant now_;
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0;

  std::deque<Instant> queue_;  // Arrival times.
  std::uint32_t in_service_ = 0;
  bool stalled_ = false;
  bool more_ = false;  // Of the latest decision.
  Instant unmask_at_;
  std::vector<bool> busy_;  // By CPU programs; empty: all are busy, always.
  std::uint32_t busy_cores_ = 0;

  Bins bins_;
  std::vector<Worker> workers_;
  std::vector<std::uint32_t> idle_;
  Nanoseconds stolen_{};  // By interrupts while no core was free; prolongs the next service.
  Nanoseconds spent_{};
  Nanoseconds displaced_{};
  Nanoseconds sampled_{};
  Nanoseconds sampled_displaced_{};
  Nanoseconds longest_delay_{};
  std::uint64_t asked_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t wakes_ = 0;
};

}  // namespace

Result<Outcome> simulate(const Load& load, const policy::GovernorConfig& config, double seconds,
                         std::uint64_t seed) {
  Result<std::unique_ptr<policy::Governor>> governor = policy::create(config, Instant());
  if (!governor) return governor.error();
  return Simulation(load, config, **governor.operator->(), seconds, seed).run();
}

}  // namespace k2k::labs::governor
