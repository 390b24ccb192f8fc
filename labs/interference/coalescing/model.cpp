#include "labs/interference/coalescing/model.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "labs/interference/governor/random.hpp"

namespace k2k::labs::coalescing {

namespace {

using k2k::governor::CoalesceSetting;
using labs::governor::Random;

constexpr double never = 1e300;

// The device: its work-items take the events in turn (backend/trace/accelerator.hpp).
class Device {
 public:
  Device(const std::vector<TraceEvent>& events, std::uint32_t outstanding) : events_(events) {
    for (std::uint32_t item = 0; item < outstanding; ++item) take(0);
  }

  struct DueRequest {
    double requested;
    double service;  // 0: as long as the machine's read calls take.
    bool operator>(const DueRequest& other) const { return requested > other.requested; }
  };

  [[nodiscard]] double next_due() const { return due_.empty() ? never : due_.top().requested; }
  DueRequest next_request() {
    const DueRequest first = due_.top();
    due_.pop();
    return first;
  }
  // Gives the next event to a free work-item.
  void take(double now) {
    if (next_ == events_.size()) return;
    const TraceEvent& event = events_[next_++];
    const double after = static_cast<double>(event.after_ns);
    const double due = event.since == Since::begin ? std::max(now, after) : now + after;
    due_.push({due, event.operation == Operation::cost ? static_cast<double>(event.amount) : 0});
  }

 private:
  const std::vector<TraceEvent>& events_;
  std::size_t next_ = 0;
  std::priority_queue<DueRequest, std::vector<DueRequest>, std::greater<>> due_;
};

// Decides how long doorbells are held.
class Chooser {
 public:
  explicit Chooser(CoalesceSetting fixed) : fixed_(fixed) {}
  Chooser(std::uint32_t delay_us, double noise, std::uint64_t seed)
      : coalescer_(std::make_unique<k2k::governor::Coalescer>(std::chrono::microseconds(delay_us))),
        noise_(noise),
        random_(seed) {}

  [[nodiscard]] CoalesceSetting setting() const {
    return coalescer_ ? coalescer_->setting() : fixed_;
  }
  void begin(double now) {
    since_ = now;
    seen_ = {};
  }
  // After each bundle, as server::Adaptive does; `seen` is the bundle's cost.
  void look(double now, const Slice& seen) {
    if (!coalescer_) return;
    seen_ = sum_of({seen_, seen});
    const auto sample_min = static_cast<double>(k2k::governor::Coalescer::sample_min.count());
    if (now - since_ < sample_min || seen_.requests < k2k::governor::Coalescer::requests_min)
      return;
    const double cpu = seen_.cpu_ns * std::max(0.1, 1 + noise_ * random_.normal());
    const CoalesceSetting before = setting();
    const CoalesceSetting after = coalescer_->sample(
        {.cpu = Nanoseconds(static_cast<std::int64_t>(cpu)),
         .requests = static_cast<std::uint64_t>(seen_.requests),
         .delay = Nanoseconds(static_cast<std::int64_t>(seen_.mean_delay_ns()))});
    changes_ += before.window_us != after.window_us || before.max != after.max ? 1 : 0;
    begin(now);
  }
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

 private:
  CoalesceSetting fixed_{};
  std::unique_ptr<k2k::governor::Coalescer> coalescer_;
  double noise_ = 0;
  Random random_{0};
  double since_ = 0;
  Slice seen_;
  std::uint64_t changes_ = 0;
};

class Poller {
 public:
  Poller(const Machine& machine, Device& device, Chooser& chooser)
      : machine_(machine), device_(device), chooser_(chooser) {}

  // Runs until all events are served.
  Slice run() {
    chooser_.begin(0);
    for (double due = device_.next_due(); due < never; due = device_.next_due()) {
      const Slice before = sum_;
      await(due);
      collect();
      serve();
      chooser_.look(now_, {sum_.cpu_ns - before.cpu_ns, sum_.requests - before.requests,
                           sum_.delay_ns - before.delay_ns});
    }
    return sum_;
  }

 private:
  void spend(double time) {
    sum_.cpu_ns += time;
    now_ += time;
  }

  void await(double due) {
    if (due <= now_) return;
    if (due - now_ <= machine_.spin_ns) return spend(due - now_);
    spend(machine_.spin_ns);
    spend(machine_.park_ns);
    now_ = std::max(now_, due + machine_.wake_late_ns);
  }

  void drain(std::uint32_t most) {
    while (bundle_.size() < most && device_.next_due() <= now_)
      bundle_.push_back(device_.next_request());
  }

  void collect() {
    const CoalesceSetting setting = chooser_.setting();
    const double end = now_ + 1e3 * setting.window_us;
    drain(setting.max);
    while (bundle_.size() < setting.max && now_ < end) {
      const double left = end - now_;
      if (left >= 2 * machine_.sleep_ns) {
        now_ += left / (std::floor(left / machine_.sleep_longest_ns) + 1) + machine_.sleep_late_ns;
        sum_.cpu_ns += machine_.sleep_ns;
      } else {
        spend(std::min(left, std::max(device_.next_due() - now_, 100.0)));
      }
      drain(setting.max);
    }
  }

  void serve() {
    spend(machine_.bundle_ns);
    for (const Device::DueRequest& request : bundle_) {
      sum_.delay_ns += now_ - request.requested;
      spend(machine_.request_ns + (request.service > 0 ? request.service : machine_.read_ns));
      device_.take(now_);
    }
    sum_.requests += static_cast<double>(bundle_.size());
    bundle_.clear();
  }

  const Machine& machine_;
  Device& device_;
  Chooser& chooser_;
  std::vector<Device::DueRequest> bundle_;
  double now_ = 0;
  Slice sum_;
};

}  // namespace

Measured simulate(const Shape& shape, const Plan& plan, const Machine& machine) {
  Measured measured;
  std::vector<Chooser> choosers;
  for (const CoalesceSetting setting : fixed_settings()) {
    measured.rounds.fixed.push_back({setting, {}});
    choosers.emplace_back(setting);
  }
  choosers.emplace_back(plan.delay_us, machine.noise, plan.seed);
  const auto replay = [&](Chooser& chooser, std::uint64_t seed) {
    const std::vector<TraceEvent> events = shape.events(seed, plan.slice);
    Device device(events, shape.outstanding);
    return Poller(machine, device, chooser).run();
  };
  std::uint64_t seed = ~plan.seed;
  for (Nanoseconds left = plan.warm_up; left > Nanoseconds::zero(); left -= plan.slice) {
    replay(choosers.back(), seed--);
  }
  const std::uint64_t before = choosers.back().changes();
  for (std::uint32_t round = 0; round < plan.rounds; ++round) {
    for (std::size_t index = 0; index < choosers.size(); ++index) {
      const bool adaptive = index + 1 == choosers.size();
      (adaptive ? measured.rounds.adaptive : measured.rounds.fixed[index])
          .rounds.push_back(replay(choosers[index], round_seed(plan, round)));
    }
  }
  measured.changes = choosers.back().changes() - before;
  return measured;
}

}  // namespace k2k::labs::coalescing
