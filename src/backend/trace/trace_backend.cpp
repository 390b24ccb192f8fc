// The trace device as a Backend: a syscall area like any other, and an accelerator that advances
// whenever a service thread calls.
//
//   launch()          begins a replay, wakes sleeping threads, waits for its end
//   advance()         a poller found nothing: due requests are published
//   wait_doorbell()   sleeps until a request is due: this timer is the device's interrupt
//   resume()          answers are taken; requests due by now are published
//
// When cancelled, or closed by the server, the accelerator stops publishing and waits for the
// requests with the host.
//
// Threading: one lock around the accelerator, held for some tens of nanoseconds per request. A
// poller with nothing due pays one load. Changes for sleeping threads are notified after the lock.

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "backend/cpu/config.hpp"
#include "backend/cpu/device_memory.hpp"
#include "backend/futex.hpp"
#include "backend/launch_gate.hpp"
#include "backend/limits.hpp"
#include "backend/sweep.hpp"
#include "backend/trace/accelerator.hpp"
#include "backend/trace/trace.hpp"
#include "backend/wake_word.hpp"
#include "base/clock.hpp"

namespace k2k::backend::trace {

namespace {

constexpr const char* platform_name = "trace";
// After the server closed: how long answers of requests that raced with it are waited for.
constexpr Nanoseconds closing_step = std::chrono::milliseconds(1);
constexpr int closing_steps = 100;

DeviceConfig fitted(DeviceConfig config) {
  if (config.compute_units == 0) config.compute_units = 1;
  config.strict = false;  // All memory is the host's.
  return config;
}

bool rung(const protocol::AreaView& area, const std::uint64_t* positions) {
  for (std::uint32_t ring = 0; ring < area.ring_count; ++ring) {
    if (positions[ring] == any_position) continue;
    // A position ahead of the tail has passed a lap of holes (RingConsumer::pass_lap).
    const std::uint64_t tail = protocol::device_load(area.rings[ring].tail);
    if (static_cast<std::int64_t>(tail - positions[ring]) > 0) return true;
  }
  return false;
}

class TraceBackend final : public Backend {
 public:
  explicit TraceBackend(const DeviceConfig& config)
      : config_(config),
        // Under one lock it is one thread to the protocol: no locked instructions.
        memory_(config, config.compute_units * config.resident_waves, 1,
                protocol::DeviceScope::one_thread),
        accelerator_(memory_.area(), 1 / nanoseconds_per_cycle()),
        pid_(getpid()) {
    info_.name = "trace-driven accelerator";
    info_.platform = platform_name;
    info_.compute_units = config.compute_units;
    info_.wave_lanes = config.wave_lanes;
    info_.resident_waves = config.compute_units * config.resident_waves;
    info_.area_bytes = memory_.area_bytes();
    info_.halts = true;
    info_.hides_memory = false;
    info_.runs_kernels = false;
    info_.capabilities = {{"replays", "traces (k2k lab trace, k2k::Trace)"},
                          {"outstanding requests at most", std::to_string(slots())}};
  }

  [[nodiscard]] bool usable() const { return memory_.usable(); }
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const protocol::AreaView& area() const override { return memory_.area(); }

  Result<void*> allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  void free(void* address) override { memory_.free(address); }

  Result<LaunchReport> launch(const KernelImage& kernel, const LaunchShape&) override {
    if (getpid() != pid_) {
      return Error{EPERM,
                   "the k2k runtime was created before fork(); create a new one in the child"};
    }
    if (kernel.platform != std::string(platform_name)) {
      return Error{EINVAL, "kernel '" + std::string(kernel.name) +
                               "': the trace backend replays traces and runs no kernels; set "
                               "backend = \"cpu\""};
    }
    const auto& replay = *static_cast<const Replay*>(kernel.closure);
    *replay.report = {};
    if (Status fits = check(replay, kernel.name); !fits) return fits.error();
    const std::lock_guard lock(launching_);
    Requests requests;
    if (Status ready = requests.prepare(*replay.source, replay.outstanding); !ready) {
      return ready.error();
    }
    gate_.open();
    const Instant begin = now();
    Status ended = run(replay, requests);
    LaunchReport report;
    report.elapsed = now() - begin;
    sweep(memory_.area());  // Closed by the server: slots that it kept stay locked otherwise.
    gate_.close();
    fill_in(*replay.report, report.elapsed);
    if (!ended) {
      return Error{ended.error().code,
                   "trace '" + std::string(kernel.name) + "': " + ended.error().message};
    }
    return report;
  }

  void cancel() noexcept override {
    int running_on = 0;
    stop_.compare_exchange_strong(running_on, ECANCELED);
    tell_launch();
  }
  [[nodiscard]] bool abandoned() const noexcept override {
    return stop_.load(std::memory_order_acquire) != 0;
  }
  void on_abandon(std::function<void()> listener) override { on_abandon_ = std::move(listener); }

  void wait_doorbell(const std::uint64_t* positions, Nanoseconds longest) override {
    const std::uint32_t seen = word_.look();
    const std::uint64_t begin = cycles();
    Tick timer = never;
    bool others = false;
    {
      const std::lock_guard lock(mutex_);
      const bool asked = move_on(begin);
      others = asked && sleepers_ != 0;
      timer = accelerator_.next_due();
      if (!rung(memory_.area(), positions) && !word_.take_kept()) {
        ++sleepers_;
        timer_ = std::min(timer_, timer);
      } else {
        longest = Nanoseconds::zero();
      }
    }
    if (others) word_.notify();
    if (longest == Nanoseconds::zero()) return;
    // The look was before the lock: an earlier request or another thread's notice ends this sleep
    // at once.
    word_.sleep(seen, std::min(longest, until(timer)));
    const std::uint64_t awake = cycles();
    {
      const std::lock_guard lock(mutex_);
      --sleepers_;
      timer_ = never;  // Possibly too late for threads that still sleep: they are notified.
      others = move_on(awake) && sleepers_ != 0;
    }
    if (others) word_.notify();
  }
  LaunchWait wait_launch(const std::uint64_t* positions, Nanoseconds longest) override {
    const auto left_over = [&] {
      const std::lock_guard lock(mutex_);
      return rung(memory_.area(), positions);
    };
    return gate_.wait(left_over, longest);
  }
  void wake_server() noexcept override { word_.wake(); }

  bool advance() noexcept override {
    const std::uint64_t moment = cycles();
    if (moment < next_due_.load(std::memory_order_relaxed)) return false;
    bool others = false;
    bool asked = false;
    {
      const std::unique_lock lock(mutex_, std::try_to_lock);
      if (!lock) return true;  // The holder of the lock publishes.
      asked = move_on(moment);
      others = asked && sleepers_ != 0;
    }
    if (others) word_.notify();
    return asked;
  }

  void resume(const std::uint32_t* waves, std::size_t count) noexcept override {
    if (!active_.load(std::memory_order_relaxed)) return;
    const std::uint64_t moment = cycles();
    bool others = false;
    bool over = false;
    {
      const std::lock_guard lock(mutex_);
      if (abandoned()) accelerator_.stop();
      const bool before = accelerator_.answered(waves, count, moment);
      const bool asked = move_on(moment) || before;
      // Another thread sleeps longer than until the next due time.
      const bool sooner = accelerator_.next_due() < timer_;
      others = sleepers_ != 0 && (asked || sooner);
      if (others) timer_ = accelerator_.next_due();  // The notified thread sets a timer of its own.
      over = accelerator_.ended() || closed();
    }
    if (others) word_.notify();
    if (over) tell_launch();
  }

  [[nodiscard]] bool host_may_access(const void* address, std::size_t bytes) const override {
    return memory_.host_may_access(address, bytes);
  }

 private:
  [[nodiscard]] std::uint32_t slots() const {
    return config_.compute_units * config_.resident_waves * config_.wave_lanes;
  }
  [[nodiscard]] bool closed() const {
    return protocol::load_acquire(memory_.area().closed) != 0;  // Pairs with the server's close().
  }
  void tell_launch() noexcept {
    progress_.fetch_add(1, std::memory_order_seq_cst);
    futex_wake_all(progress_);
  }
  static Nanoseconds until(Tick tick) {
    const Tick moment = cycles();
    if (tick <= moment) return Nanoseconds::zero();
    const double left = static_cast<double>(tick - moment) * nanoseconds_per_cycle();
    return Nanoseconds(static_cast<std::int64_t>(std::min(left, 1e18)));
  }

  Status check(const Replay& replay, const char* name) const {
    const std::string about = "trace '" + std::string(name) + "': ";
    if (replay.outstanding < 1 || replay.outstanding > slots()) {
      return Error{EINVAL, about + "it may have 1 to " + std::to_string(slots()) +
                               " requests outstanding, not " + std::to_string(replay.outstanding) +
                               "; raise device.resident_waves for more"};
    }
    if (replay.longest < Nanoseconds::zero() ||
        (replay.longest == Nanoseconds::zero() && replay.source->endless())) {
      return Error{EINVAL, about + "it has no end of its own; say how long to replay it"};
    }
    return {};
  }

  // Expects mutex_ held. True if doorbells were rung.
  bool move_on(std::uint64_t moment) {
    if (!active_.load(std::memory_order_relaxed)) return false;
    if (abandoned()) accelerator_.stop();
    const bool asked = accelerator_.publish(moment);
    next_due_.store(accelerator_.next_due(), std::memory_order_relaxed);
    device_ += cycles() - moment;
    return asked;
  }

  Status run(const Replay& replay, const Requests& requests) {
    stop_.store(0, std::memory_order_release);
    {
      const std::lock_guard lock(mutex_);
      const Tick longest = replay.longest == Nanoseconds::zero()
                               ? never
                               : static_cast<Tick>(static_cast<double>(replay.longest.count()) /
                                                   nanoseconds_per_cycle());
      device_ = 0;
      active_.store(true, std::memory_order_relaxed);
      const Tick moment = cycles();
      accelerator_.begin(*replay.source, requests, replay.outstanding, longest, moment);
      device_ = cycles() - moment;
      move_on(cycles());
    }
    word_.notify();
    const Status ended = wait_for_end();
    const std::lock_guard lock(mutex_);
    active_.store(false, std::memory_order_relaxed);
    next_due_.store(never, std::memory_order_relaxed);
    return ended;
  }

  Status wait_for_end() {
    bool told = false;
    for (int left = closing_steps; left != 0;) {
      const std::uint32_t seen = progress_.load(std::memory_order_seq_cst);
      if (abandoned() && !std::exchange(told, true)) abandon();
      {
        const std::lock_guard lock(mutex_);
        if (accelerator_.ended()) break;
      }
      if (closed()) {
        futex_wait(progress_, seen, closing_step);
        --left;
      } else {
        futex_wait(progress_, seen);
      }
    }
    const std::lock_guard lock(mutex_);
    if (!accelerator_.ended()) accelerator_.give_up();
    if (accelerator_.counts().refused != 0 || closed()) {
      stop_.store(ESHUTDOWN, std::memory_order_release);
      return Error{ESHUTDOWN, "the server ended before the trace did; " +
                                  std::to_string(accelerator_.counts().refused) +
                                  " requests were refused"};
    }
    if (abandoned()) return Error{ECANCELED, "it was cancelled"};
    return {};
  }

  void abandon() {
    {
      const std::lock_guard lock(mutex_);
      accelerator_.stop();
    }
    if (on_abandon_) on_abandon_();
  }

  void fill_in(Report& report, Nanoseconds elapsed) {
    const std::lock_guard lock(mutex_);
    const Counts& counts = accelerator_.counts();
    const auto time = [](Tick ticks) {
      return Nanoseconds(
          static_cast<std::int64_t>(static_cast<double>(ticks) * nanoseconds_per_cycle()));
    };
    report.requests = counts.requests;
    report.answered = counts.answered;
    report.refused = counts.refused;
    report.errors = counts.errors;
    if (counts.errors != 0) {
      report.first_error = std::string(name_of(counts.first_error_ask)) + " answered " +
                           std::to_string(counts.first_error);
    }
    report.ring_full = counts.ring_full;
    report.elapsed = elapsed;
    report.stalled = time(counts.stalled);
    report.device = time(device_);
    report.delays = counts.delays;
    report.tick_ns = nanoseconds_per_cycle();
  }

  const DeviceConfig config_;
  cpu::DeviceMemory memory_;
  DeviceInfo info_;
  std::mutex launching_;

  std::mutex mutex_;  // Guards what follows.
  Accelerator accelerator_;
  std::uint32_t sleepers_ = 0;  // Threads in wait_doorbell().
  Tick timer_ = never;          // The earliest time at which a sleeping thread wakes by itself;
                                // never: none.
  std::uint64_t device_ = 0;    // Cycles spent under the lock, and waiting for it.

  std::atomic<bool> active_{false};  // A replay is in progress.
  alignas(64) std::atomic<Tick> next_due_{never};
  std::atomic<int> stop_{0};                // 0, or the reason to publish nothing more: a positive
                                            // errno.
  std::atomic<std::uint32_t> progress_{0};  // The thread in launch() sleeps on it.
  WakeWord word_;
  LaunchGate gate_{word_};
  std::function<void()> on_abandon_;
  const pid_t pid_;
};

}  // namespace

Result<std::unique_ptr<Backend>> create(const DeviceConfig& config) {
  const Result<DeviceConfig> full = cpu::complete(fitted(config));
  if (!full) return full.error();
  auto device = std::make_unique<TraceBackend>(full.value());
  if (!device->usable()) {
    return Error{ENOMEM, "the system refuses the address space for " +
                             std::to_string(device->info().resident_waves) +
                             " waves; lower device.resident_waves (see ulimit -v)"};
  }
  return std::unique_ptr<Backend>(std::move(device));
}

KernelImage image_of(const Replay& replay, const char* name) {
  KernelImage image;
  image.closure = &replay;
  image.name = name;
  image.platform = platform_name;
  return image;
}

}  // namespace k2k::backend::trace
