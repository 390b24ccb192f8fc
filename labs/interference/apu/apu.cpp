#include "labs/interference/apu/apu.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <utility>
#include <vector>

#include "labs/interference/governor/random.hpp"

namespace k2k::labs::apu {

namespace {

enum class Work : std::uint8_t { background, top_half, bottom_half, worker };

struct Job {
  Work work = Work::background;
  double us = 0;
  double fault_at = 0;               // Of a worker's job.
  std::vector<double> drained = {};  // Times of the faults that a half has read from the log.
};

enum class Thread : std::uint8_t { waits, queued, runs };

enum class Happens : std::uint8_t { background, interrupt, job_ends, fault };

struct Event {
  double at = 0;
  std::uint64_t number = 0;  // Equal times keep their order.
  Happens what = Happens::fault;
  std::uint32_t core = 0;

  bool operator>(const Event& other) const {
    return at != other.at ? at > other.at : number > other.number;
  }
};

struct Core {
  std::deque<Job> interrupts = {};
  std::deque<Job> threads = {};
  Job current = {};
  bool busy = false;
  double idle_since = 0;
  double asleep_us = 0;
  double serving_us = 0;
};

class Simulation {
 public:
  Simulation(const Apu& apu, const Setting& setting, std::uint64_t seed)
      : apu_(apu),
        setting_(setting),
        random_(seed),
        background_mean_us_(1 / background_rate(apu)),
        cores_(apu.cores) {}

  Outcome run(double end_us) {
    for (std::uint32_t core = 0; core < apu_.cores; ++core) schedule_background(core);
    for (std::uint32_t fault = 0; fault < apu_.outstanding; ++fault) {
      schedule(apu_.gap_us * fault, Happens::fault, 0);
    }
    while (!events_.empty() && events_.top().at < end_us) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      happen(event);
    }
    return outcome(end_us);
  }

 private:
  static constexpr std::uint32_t bottom_core = 0;
  static constexpr std::uint32_t worker_core = 1;

  void schedule(double at, Happens what, std::uint32_t core) {
    events_.push({at, number_++, what, core});
  }
  void schedule_background(std::uint32_t core) {
    schedule(now_ + random_.exponential(background_mean_us_), Happens::background, core);
  }

  void happen(const Event& event) {
    switch (event.what) {
      case Happens::background:
        add(event.core, {Work::background, apu_.background_us});
        return schedule_background(event.core);
      case Happens::fault:
        return log_fault();
      case Happens::interrupt:
        return interrupt();
      case Happens::job_ends:
        return end_job(event.core);
    }
  }

  // The IOMMU writes the fault into its log, and interrupts unless it has already.
  void log_fault() {
    logged_.push_back(now_);
    if (raised_) return;
    raised_ = true;
    schedule(now_ + (setting_.coalesce ? apu_.coalesce_us : 0), Happens::interrupt, 0);
  }
  void interrupt() {
    ++interrupts_;
    const std::uint32_t core = setting_.steer ? bottom_core : next_core_++ % apu_.cores;
    add(core, {Work::top_half, apu_.stage_us()});
  }
  // Clears the interrupt and empties the log into the job, which takes the CPU time for it.
  void drain(Job& job) {
    raised_ = false;
    job.us += apu_.stage_us() * static_cast<double>(logged_.size());
    job.drained = std::move(logged_);
    logged_.clear();
  }

  void end_job(std::uint32_t at) {
    Core& core = cores_[at];
    const Job job = core.current;
    core.busy = false;
    if (job.work != Work::background) core.serving_us += job.us;
    switch (job.work) {
      case Work::background:
        break;
      case Work::top_half:
        if (setting_.monolithic) {
          queue_work(at, job.drained);
        } else {
          wake_bottom_half(at);
        }
        break;
      case Work::bottom_half:
        bottom_half_ = wanted_again_ ? Thread::queued : Thread::waits;
        // Without a wake-up: it looks once more before it waits.
        if (wanted_again_) cores_[bottom_core].threads.push_back({Work::bottom_half});
        wanted_again_ = false;
        queue_work(at, job.drained);
        break;
      case Work::worker:
        --workers_jobs_;
        ++served_;
        latency_us_ += now_ - job.fault_at;
        schedule(now_ + apu_.gap_us, Happens::fault, 0);
        break;
    }
    if (!core.busy) start_next(at);
  }
  void wake_bottom_half(std::uint32_t from) {
    if (bottom_half_ == Thread::runs) wanted_again_ = true;
    if (bottom_half_ != Thread::waits) return;
    bottom_half_ = Thread::queued;
    if (from != bottom_core) ++between_cores_;
    add(bottom_core, {Work::bottom_half, apu_.stage_us()});
  }
  // Hands what was drained to the worker, which is woken if it waits.
  void queue_work(std::uint32_t from, const std::vector<double>& drained) {
    for (const double fault_at : drained) {
      const bool waits = workers_jobs_ == 0;
      if (waits && from != worker_core) ++between_cores_;
      ++workers_jobs_;
      add(worker_core, {Work::worker, apu_.worker_us() + (waits ? apu_.stage_us() : 0), fault_at});
    }
  }

  void add(std::uint32_t at, const Job& job) {
    Core& core = cores_[at];
    (job.work == Work::top_half ? core.interrupts : core.threads).push_back(job);
    if (!core.busy) start_next(at);
  }
  void start_next(std::uint32_t at) {
    Core& core = cores_[at];
    std::deque<Job>& queue = core.interrupts.empty() ? core.threads : core.interrupts;
    if (queue.empty()) {
      core.idle_since = now_;
      return;
    }
    core.current = queue.front();
    queue.pop_front();
    core.busy = true;
    double begin = now_;
    if (const double asleep = now_ - core.idle_since - apu_.entry_us; asleep > 0) {
      core.asleep_us += asleep;
      begin += apu_.exit_us;
    }
    core.idle_since = infinity;  // Until it is idle again.
    // When it runs, not when it is requested: faults in between are of the same interrupt.
    if (core.current.work == Work::bottom_half) bottom_half_ = Thread::runs;
    if (core.current.work == (setting_.monolithic ? Work::top_half : Work::bottom_half)) {
      drain(core.current);
    }
    schedule(begin + core.current.us, Happens::job_ends, at);
  }

  [[nodiscard]] Outcome outcome(double end_us) {
    double asleep_us = 0;
    double serving_us = 0;
    for (Core& core : cores_) {
      asleep_us += core.asleep_us;
      if (!core.busy) asleep_us += std::max(0.0, end_us - core.idle_since - apu_.entry_us);
      serving_us += core.serving_us;
    }
    const double all_us = end_us * apu_.cores;
    const auto served = static_cast<double>(std::max<std::uint64_t>(1, served_));
    return {.asleep = asleep_us / all_us,
            .faults_per_ms = static_cast<double>(served_) * 1e3 / end_us,
            .interrupts = static_cast<double>(interrupts_) / served,
            .between_cores = static_cast<double>(between_cores_) / served,
            .host_us = serving_us / served,
            .latency_us = latency_us_ / served,
            .share = serving_us / all_us};
  }

  static constexpr double infinity = 1e300;

  const Apu apu_;
  const Setting setting_;
  governor::Random random_;
  const double background_mean_us_;
  std::vector<Core> cores_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t number_ = 0;
  double now_ = 0;
  std::vector<double> logged_;  // Times of the faults in the IOMMU's log.
  bool raised_ = false;
  Thread bottom_half_ = Thread::waits;
  bool wanted_again_ = false;       // A top half found it running.
  std::uint64_t workers_jobs_ = 0;  // Queued, and the one that runs.
  std::uint32_t next_core_ = 0;
  std::uint64_t interrupts_ = 0;
  std::uint64_t between_cores_ = 0;
  std::uint64_t served_ = 0;
  double latency_us_ = 0;
};

// Of a core whose idle times are exponential with this mean.
double asleep_with(const Apu& apu, double idle_us) {
  const double sleeps = std::exp(-apu.entry_us / idle_us);
  return idle_us * sleeps / (idle_us + apu.background_us + apu.exit_us * sleeps);
}

}  // namespace

Outcome simulate(const Apu& apu, const Setting& setting, double seconds, std::uint64_t seed) {
  return Simulation(apu, setting, seed).run(seconds * 1e6);
}

double background_rate(const Apu& apu) {
  double least = 1;
  double most = 1e9;
  for (int step = 0; step < 200; ++step) {
    const double middle = std::sqrt(least * most);
    (asleep_with(apu, middle) < apu.asleep_without ? least : most) = middle;
  }
  return 1 / most;
}

double asleep_in_a_run(const Apu& apu, const Outcome& path, const Outcome& usual) {
  // The part with faults under no setting, from asleep_default; all parts of one length each.
  const double with_faults = std::clamp(
      (apu.asleep_without - apu.asleep_default) / (apu.asleep_without - usual.asleep), 0.0, 1.0);
  const double now_with_faults = with_faults * usual.faults_per_ms / path.faults_per_ms;
  const double whole = now_with_faults + (1 - with_faults);
  return (now_with_faults * path.asleep + (1 - with_faults) * apu.asleep_without) / whole;
}

}  // namespace k2k::labs::apu
