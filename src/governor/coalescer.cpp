#include "governor/coalescer.hpp"

#include <algorithm>
#include <cmath>

namespace k2k::governor {

namespace {

// Each trial discounts the earlier trials of the same setting by this factor: sixteen of them
// count.
constexpr double kept = 15.0 / 16;
constexpr double weight_least = 0.25;  // The remaining weight after a change of the load.
// Another setting counts as better if its trials show a gain beyond chance: this margin, larger
// with fewer trials. A longer window must gain more, because a shorter one delays less.
constexpr double doubt = 0.10;
constexpr double gain_least = 0.01;
// If the samples before and after a trial differ by more than this factor, the load changed and the
// trial does not count.
constexpr double same_within = 1.5;
constexpr double trial_most = 4;  // A trial counts as so many times as dear at most.
// Trials are spaced from few samples to `patience`. A setting with this excess cost is tried half
// as often, and so on in proportion. So trials of one setting cost at most excess_usual / patience
// of the total.
constexpr std::uint32_t patience_first = 4;
constexpr double excess_usual = 0.05;
constexpr double patience_max = 2'048;
// A setting with too long a delay is retried after this many samples, then after twice as many; the
// number of doublings is bounded.
constexpr std::uint32_t patience_slow = 64;
constexpr std::uint32_t doublings_max = 2;
constexpr double delay_kept = 127.0 / 128;  // Of the delays under the best, a sample later.
// The number of samples that measure the load's cost, even if the load varies periodically. The
// load counts as another one if its cost differs by `changed_by`. A change by half or by twice is
// noticed earlier.
constexpr std::uint32_t loads_max = 128;
constexpr std::uint32_t loads_part = 32;
constexpr double changed_by = 0.25;
constexpr double jumps_by = 2;

double cost_of(const CoalesceSample& sample) {
  return static_cast<double>(sample.cpu.count()) / static_cast<double>(sample.requests);
}

void add(CoalesceSample& sum, const CoalesceSample& sample) {
  sum.cpu += sample.cpu;
  sum.requests += sample.requests;
}

}  // namespace

Coalescer::Coalescer(Nanoseconds delay_max) : delay_max_(static_cast<double>(delay_max.count())) {
  // Requests that come at any time wait for half of a window on the average.
  while (last_ + 1 < ladder.size() &&
         std::chrono::microseconds(ladder[last_ + 1].window_us) <= 2 * delay_max) {
    ++last_;
  }
}

CoalesceSetting Coalescer::sample(const CoalesceSample& sample) {
  if (sample.requests < requests_min) return setting();
  ++now_;
  if (phase_ == Phase::trying) {
    tried_ = sample;
    phase_ = Phase::returned;
    return setting();
  }
  if (!keeps_the_bound(sample)) return setting();
  if (phase_ == Phase::returned) conclude(sample);
  phase_ = Phase::settled;
  watch_load(sample);
  if (promote()) return setting();
  before_ = sample;
  begin_trial();
  return setting();
}

// Begins the trial that is overdue for the longest time.
void Coalescer::begin_trial() {
  const std::size_t end = std::min(last_, too_slow_) + 1;
  std::size_t next = ladder.size();
  for (std::size_t step = 0; step < end; ++step) {
    if (step == best_ || trials_[step].due > now_) continue;
    if (next == ladder.size() || trials_[step].due < trials_[next].due) next = step;
  }
  if (next == ladder.size()) return;
  trial_ = next;
  phase_ = Phase::trying;
}

void Coalescer::conclude(const CoalesceSample& after) {
  Trials& trials = trials_[trial_];
  if (too_slow()) return refuse(trial_);
  trials.refusals = 0;
  if (trial_ == too_slow_) too_slow_ = ladder.size();
  const double costs[] = {cost_of(before_), cost_of(after)};
  if (std::max(costs[0], costs[1]) > same_within * std::min(costs[0], costs[1])) {
    return space(trials);
  }
  CoalesceSample around = before_;
  add(around, after);
  const double expected = cost_of(around) * static_cast<double>(tried_.requests);
  const double cpu = std::min(static_cast<double>(tried_.cpu.count()), trial_most * expected);
  trials.cpu = kept * trials.cpu + cpu;
  trials.expected = kept * trials.expected + expected;
  trials.weight = kept * trials.weight + 1;
  trials.count = std::min(trials.count + 1, patience);
  space(trials);
}

// When the next one is due.
void Coalescer::space(Trials& trials) const {
  const std::uint32_t usual =
      std::min(patience, patience_first << std::min(trials.count, std::uint32_t{8}));
  const double dear = 1 + std::max(0.0, trials.excess()) / excess_usual;
  // Not in phase with a load that varies periodically.
  const std::uint64_t apart = now_ % 7;
  trials.due = now_ + apart + static_cast<std::uint64_t>(std::min(usual * dear, patience_max));
}

// Judges by all trials: the bound is on the mean of all requests.
bool Coalescer::too_slow() {
  Trials& trials = trials_[trial_];
  const auto requests = static_cast<double>(tried_.requests);
  trials.waited = kept * trials.waited + static_cast<double>(tried_.delay.count()) * requests;
  trials.requests = kept * trials.requests + requests;
  return trials.waited > delay_max_ * trials.requests;
}

// It is tried again, and longer windows are not before.
void Coalescer::refuse(std::size_t step) {
  too_slow_ = step;
  Trials& trials = trials_[step];
  trials.due = now_ + (patience_slow << std::min(trials.refusals, doublings_max));
  ++trials.refusals;
}

bool Coalescer::promote() {
  std::size_t better = best_;
  double most = 0;
  for (std::size_t step = 0; step <= last_; ++step) {
    const Trials& trials = trials_[step];
    if (step == best_ || step >= too_slow_ || trials.weight == 0) continue;
    const double needed = doubt / trials.weight + (step > best_ ? gain_least : 0);
    const double gained = -trials.excess() - needed;
    if (gained <= most) continue;
    most = gained;
    better = step;
  }
  if (better == best_) return false;
  make_best(better);
  return true;
}

// The trials of all others, measured relative to the old best setting, are converted to the new
// one.
void Coalescer::make_best(std::size_t step) {
  const Trials of_new = trials_[step];
  const double ratio = 1 + of_new.excess();
  for (Trials& trials : trials_) trials.expected *= ratio;
  trials_[best_] = of_new;
  std::swap(trials_[best_].cpu, trials_[best_].expected);
  trials_[best_].waited = waited_;
  trials_[best_].requests = requests_;
  trials_[best_].due = now_ + patience_first;
  trials_[step] = {};
  best_ = step;
  waited_ = of_new.waited;
  requests_ = of_new.requests;
  load_ = load_part_ = {};
  loads_ = 0;
  load_cost_ = 0;
}

// A setting may be tried that is too slow, but not kept. False: it was not.
bool Coalescer::keeps_the_bound(const CoalesceSample& sample) {
  const auto requests = static_cast<double>(sample.requests);
  waited_ = delay_kept * waited_ + static_cast<double>(sample.delay.count()) * requests;
  requests_ = delay_kept * requests_ + requests;
  if (best_ == 0 || waited_ <= delay_max_ * requests_) return true;
  const std::size_t slow = best_;
  const double waited = waited_;
  const double over = requests_;
  phase_ = Phase::settled;
  make_best(best_ - 1);
  trials_[slow].waited = waited;
  trials_[slow].requests = over;
  refuse(slow);
  return false;
}

void Coalescer::watch_load(const CoalesceSample& sample) {
  add(load_, sample);
  add(load_part_, sample);
  if (++loads_ % loads_part != 0) return;
  const double latest = cost_of(load_part_);
  load_part_ = {};
  if (load_cost_ == 0) load_cost_ = latest;
  bool changed = latest > jumps_by * load_cost_ || load_cost_ > jumps_by * latest;
  if (!changed && loads_ < loads_max) return;
  const double cost = changed ? latest : cost_of(load_);
  changed = changed || std::abs(cost - load_cost_) > changed_by * load_cost_;
  load_cost_ = cost;
  load_ = {};
  loads_ = 0;
  if (!changed) return;
  too_slow_ = ladder.size();
  for (Trials& trials : trials_) {
    const double part = trials.weight > weight_least ? weight_least / trials.weight : 1;
    trials.cpu *= part;
    trials.expected *= part;
    trials.weight *= part;
    trials.count = 0;
    trials.due = now_;
  }
}

}  // namespace k2k::governor
