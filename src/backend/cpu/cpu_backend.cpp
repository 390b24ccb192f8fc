// The cpu device as a Backend: units, their threads, memory, launches.
//
//
//   launch():  zero the sites ─▶ start units ─▶ wait (watchdog) ─▶ sweep the area ─▶ report
//
// Threads: one per unit, "k2k/unit0" and so on, made when a launch first needs it, with all signals
// blocked except those of faults, parked between launches. Launches take turns on a lock. A forked
// child has none of the threads: it gets an error, and its copy of the object can be destroyed.

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend/cpu/config.hpp"
#include "backend/cpu/cpu.hpp"
#include "backend/cpu/crash_report.hpp"
#include "backend/cpu/device_memory.hpp"
#include "backend/cpu/fault_signal.hpp"
#include "backend/cpu/launch_state.hpp"
#include "backend/cpu/server_parking.hpp"
#include "backend/cpu/simt/unit.hpp"
#include "backend/cpu/watchdog.hpp"
#include "backend/demand_pages.hpp"
#include "backend/futex.hpp"
#include "backend/limits.hpp"
#include "backend/sweep.hpp"
#include "base/asymmetric_barrier.hpp"
#include "base/clock.hpp"
#include "base/naps.hpp"
#include "base/signals_blocked.hpp"

namespace k2k::backend::cpu {

namespace {

// Stacks and local memory of one unit; the private memory of a device is one such part a unit.
struct PrivateLayout {
  explicit PrivateLayout(const DeviceConfig& config)
      : items(config.resident_waves * config.wave_lanes),
        stack_bytes(FibrePool::bytes_for(items, config.stack_bytes)),
        local_stride(round_up(variables_begin + config.local_bytes, page_bytes)),
        local_bytes(config.resident_groups * local_stride) {}
  [[nodiscard]] std::size_t bytes() const { return stack_bytes + local_bytes; }

  std::uint32_t items;
  std::size_t stack_bytes;
  std::size_t local_stride;
  std::size_t local_bytes;
};

// The pacing of polling (pollers.hpp). Patience and rest bound the delay that pacing may add to a
// wait.
constexpr std::uint32_t poller_patience_us = 2;
constexpr std::uint32_t poller_scattered_us = 50;
constexpr std::uint32_t poller_rest_us = 4;

// A unit that does not come out of the server meanwhile is stuck in a call, and has lost its role.
constexpr Nanoseconds inline_end_max = std::chrono::seconds(1);

protocol::DeviceScope scope_of(const DeviceConfig& config) {
  register_asymmetric_barrier();
  const bool alone = config.compute_units == 1 && asymmetric.load(std::memory_order_relaxed);
  return alone ? protocol::DeviceScope::one_thread : protocol::DeviceScope::many_threads;
}

void* unit_thread(void* unit) {
  const AlternateStack stack;
  static_cast<Unit*>(unit)->thread_main();
  return nullptr;
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const DeviceConfig& config)
      : config_(config),
        layout_(config),
        memory_(config, config.compute_units * config.resident_waves,
                config.compute_units * layout_.bytes(), scope_of(config)),
        pid_(getpid()) {
    plan_.config = config;
    plan_.items_max = layout_.items;
    plan_.stack_bytes = config.stack_bytes;
    plan_.local_stride = layout_.local_stride;
    plan_.spin_cycles = cycles_of(config.spin_us);
    plan_.poller_pace = {cycles_of(poller_patience_us), cycles_of(poller_scattered_us),
                         cycles_of(poller_rest_us)};
    plan_.area = &memory_.area();
    plan_.parking = &parking_;

    info_.name = "cpu (" + std::to_string(config.compute_units) +
                 (config.compute_units == 1 ? " unit × " : " units × ") +
                 std::to_string(config.resident_waves) + " waves × " +
                 std::to_string(config.wave_lanes) + " lanes)";
    info_.compute_units = config.compute_units;
    info_.wave_lanes = config.wave_lanes;
    info_.resident_waves = config.compute_units * config.resident_waves;
    info_.group_items_max = std::min(layout_.items, group_items_limit);
    info_.local_bytes_max = config.local_bytes;
    info_.area_bytes = memory_.area_bytes();
    info_.halts = true;
    info_.serves_inline = true;
    info_.hides_memory = config.strict;
  }

  ~CpuBackend() override {
    if (getpid() != pid_) return;  // The threads stayed with the parent.
    for (std::size_t index = 0; index < threads_.size(); ++index) {
      units_[index]->quit();
      pthread_join(threads_[index], nullptr);
    }
  }
  CpuBackend(const CpuBackend&) = delete;
  CpuBackend& operator=(const CpuBackend&) = delete;

  // False if the system refuses the memory.
  bool build_units() {
    if (!memory_.usable()) return false;
    for (std::uint32_t index = 0; index < config_.compute_units; ++index) {
      std::byte* const stacks = memory_.private_memory() + index * layout_.bytes();
      std::byte* const local = stacks + layout_.stack_bytes;
      if (mprotect(local, layout_.local_bytes, PROT_READ | PROT_WRITE) != 0) return false;
      units_.push_back(std::make_unique<Unit>(index, plan_, launch_, memory_, stacks, local));
      if (!units_.back()->usable()) return false;
      unit_pointers_.push_back(units_.back().get());
    }
    launch_.units = unit_pointers_.data();
    launch_.unit_count = config_.compute_units;
    threads_.reserve(config_.compute_units);  // A running thread always has a place.
    return true;
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const protocol::AreaView& area() const override { return memory_.area(); }
  Result<void*> allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  void free(void* address) override { memory_.free(address); }
  Result<void*> allocate_shared(std::size_t bytes) override {
    return DeviceMemory::allocate_shared(bytes);
  }
  void free_shared(void* address) override { DeviceMemory::free_shared(address); }
  void set_registered(const Ranges* ranges) override { memory_.set_registered(ranges); }
  [[nodiscard]] bool host_may_access(const void* address, std::size_t bytes) const override {
    return memory_.host_may_access(address, bytes);
  }

  Result<LaunchReport> launch(const KernelImage& kernel, const LaunchShape& shape) override {
    if (getpid() != pid_) {
      return Error{EPERM,
                   "the k2k runtime was created before fork(); create a new one in the child"};
    }
    if (const Status fits = check(kernel, shape); !fits) return fits.error();
    const std::lock_guard lock(launching_);
    const std::uint32_t units = std::min(config_.compute_units, shape.groups);
    if (const Status started = start_threads(units); !started) return started.error();

    const KernelRuns runs;
    const Instant begin = now();
    begin_launch(kernel, shape, units);
    parking_.launch_begins();
    release_edge(launch_.begun);
    for (std::uint32_t index = 0; index < units; ++index) units_[index]->start_launch();
    await_units();
    acquire_edge(launch_.ended);

    if (abandoned() && on_abandon_) on_abandon_();
    LaunchReport report;
    report.unredeemed_tickets = sweep(memory_.area());
    parking_.launch_ended();
    report.elapsed = now() - begin;
    report.fibre_switches = switches();
    const auto stop = static_cast<int>(launch_.stop.load(std::memory_order_acquire));
    if (stop == 0) return report;
    if (stop == ECANCELED) {
      return Error{ECANCELED, "kernel '" + std::string(kernel.name) + "' was cancelled"};
    }
    return Error{stop, launch_.failure};
  }

  void cancel() noexcept override {
    std::uint32_t running_on = 0;
    launch_.stop.compare_exchange_strong(running_on, ECANCELED);
    launch_.wake_units();
  }

  [[nodiscard]] bool abandoned() const noexcept override {
    return launch_.stop.load(std::memory_order_acquire) != 0;
  }
  void on_abandon(std::function<void()> listener) override { on_abandon_ = std::move(listener); }

  void wait_doorbell(const std::uint64_t* positions, Nanoseconds longest) override {
    parking_.wait(memory_.area(), positions, longest);
  }
  LaunchWait wait_launch(const std::uint64_t* positions, Nanoseconds longest) override {
    return parking_.wait_launch(memory_.area(), positions, longest);
  }
  void wake_server() noexcept override { parking_.wake(); }
  [[nodiscard]] bool waits_for_this_core() const noexcept override {
    const int here = sched_getcpu();
    return std::any_of(unit_pointers_.begin(), unit_pointers_.end(),
                       [here](const Unit* unit) { return unit->cpu() == here; });
  }

  void serve_inline(InlineService* service) override {
    // Pairs with InlineRole::serve().
    plan_.inline_service.store(service, std::memory_order_seq_cst);
    if (service != nullptr) return;
    Naps naps(std::chrono::microseconds(10), std::chrono::milliseconds(1));
    const Instant end = now() + inline_end_max;
    for (const Unit* const unit : unit_pointers_) {
      while (unit->serves() && now() < end) naps.take();
    }
  }

  void resume(const std::uint32_t* waves, std::size_t count) noexcept override {
    const int here = sched_getcpu();
    if (plan_.server_cpu.load(std::memory_order_relaxed) != here) {
      plan_.server_cpu.store(here, std::memory_order_relaxed);
    }
    for (std::size_t index = 0; index < count; ++index) {
      const std::uint32_t wave = waves[index];
      const std::uint32_t unit = config_.compute_units == 1 ? 0 : wave / config_.resident_waves;
      unit_pointers_[unit]->resume_row(wave);
    }
  }

  Status prepare_faults() override {
    const std::size_t least = round_up(fault_stack_bytes(), page_bytes);
    if (config_.stack_bytes < least) {
      return Error{EINVAL, "device.stack_bytes is " + std::to_string(config_.stack_bytes) +
                               "; a work-item that touches a demand-paged region needs " +
                               std::to_string(least) +
                               " for the signal frame and the request of a fault"};
    }
    const std::lock_guard lock(faults_);  // Not launching_: a kernel may be running.
    if (fault_times_ != nullptr) return {};
    fault_times_ = std::make_unique<telemetry::RequestTimes[]>(config_.compute_units);
    plan_.fault_times.store(fault_times_.get(), std::memory_order_release);
    return {};
  }
  [[nodiscard]] telemetry::RequestReport fault_report() const override {
    telemetry::RequestReport report;
    const telemetry::RequestTimes* const times = plan_.fault_times.load(std::memory_order_acquire);
    for (std::uint32_t unit = 0; times != nullptr && unit < config_.compute_units; ++unit) {
      times[unit].add_to(report);
    }
    return report;
  }

  [[nodiscard]] telemetry::RequestReport call_report() const override {
    telemetry::RequestReport report;
    for (const Unit* const unit : unit_pointers_) unit->call_times().add_to(report);
    return report;
  }

  void set_stall_report(StallReport report) { stall_report_ = std::move(report); }

 private:
  [[nodiscard]] Status check(const KernelImage& kernel, const LaunchShape& shape) const {
    // Made where something is wrong: a launch needs no memory.
    const auto name = [&] { return "kernel '" + std::string(kernel.name) + "': "; };
    if (kernel.protocol_version != protocol::version ||
        kernel.layout_hash != protocol::layout_hash) {
      return Error{EINVAL, name() + "built for protocol " +
                               std::to_string(kernel.protocol_version) + " layout " +
                               std::to_string(kernel.layout_hash) + ", this runtime has protocol " +
                               std::to_string(protocol::version) + " layout " +
                               std::to_string(protocol::layout_hash) +
                               "; rebuild the kernel against this release"};
    }
    if (shape.groups == 0) {
      return Error{EINVAL, name() + "a launch has at least 1 work-group, not 0"};
    }
    if (shape.group_items == 0 || shape.group_items > info_.group_items_max) {
      return Error{EINVAL, name() + "a work-group has 1 to " +
                               std::to_string(info_.group_items_max) + " work-items, not " +
                               std::to_string(shape.group_items)};
    }
    return shape.tenant < protocol::tenants_max ? Status() : check_tenant(name(), shape.tenant);
  }

  Status start_threads(std::uint32_t count) {
    if (threads_.empty() && !crash_reports_) crash_reports_.emplace();
    while (threads_.size() < count) {
      const auto index = static_cast<std::uint32_t>(threads_.size());
      pthread_t thread{};
      int failed = 0;
      {
        const SignalsBlocked guard({SIGBUS, SIGSEGV, SIGFPE});
        failed = pthread_create(&thread, nullptr, &unit_thread, units_[index].get());
      }
      if (failed != 0) {
        return Error{failed, "no thread for compute unit " + std::to_string(index) +
                                 "; lower device.compute_units or raise the limit (ulimit -u)"};
      }
      pthread_setname_np(thread, ("k2k/unit" + std::to_string(index)).c_str());
      threads_.push_back(thread);
    }
    return {};
  }

  void begin_launch(const KernelImage& kernel, const LaunchShape& shape, std::uint32_t units) {
    for (device::platform::KernelSite& site : sites_) site = {};
    launch_.entry = kernel.entry;
    launch_.closure = kernel.closure;
    launch_.name = kernel.name;
    launch_.groups = shape.groups;
    launch_.group_items = shape.group_items;
    launch_.tenant = shape.tenant;
    launch_.units_used = units;
    launch_.sites = sites_;
    launch_.next_group.store(0, std::memory_order_relaxed);
    launch_.failed.store(0, std::memory_order_relaxed);
    launch_.stop.store(0, std::memory_order_relaxed);
    launch_.units_running.store(units, std::memory_order_relaxed);
  }

  void await_units() {
    const Nanoseconds limit = std::chrono::milliseconds(config_.watchdog_ms);
    Watchdog watchdog(launch_, limit, now());
    while (true) {
      // Pairs with thread_main().
      const std::uint32_t left = launch_.units_running.load(std::memory_order_acquire);
      if (left == 0) return;
      if (!watchdog.enabled()) {
        futex_wait(launch_.units_running, left);
        continue;
      }
      futex_wait(launch_.units_running, left, watchdog.period());
      if (watchdog.look(progress(), now())) report_stall(watchdog.text());
    }
  }

  void report_stall(const std::string& text) const {
    if (stall_report_) return stall_report_(text);
    std::fprintf(stderr, "%s\n", text.c_str());
  }

  [[nodiscard]] std::uint64_t switches() const {
    std::uint64_t sum = 0;
    for (std::uint32_t unit = 0; unit < launch_.units_used; ++unit) {
      sum += units_[unit]->turns().switches();
    }
    return sum;
  }

  [[nodiscard]] std::uint64_t progress() const {
    std::uint64_t sum = 0;
    for (std::uint32_t unit = 0; unit < launch_.units_used; ++unit) {
      sum += units_[unit]->turns().progress();
    }
    return sum;
  }

  const DeviceConfig config_;
  const PrivateLayout layout_;
  DeviceMemory memory_;
  ServerParking parking_;
  UnitPlan plan_;
  LaunchState launch_;
  device::platform::KernelSite sites_[device::platform::kernel_sites];
  std::unique_ptr<telemetry::RequestTimes[]>
      fault_times_;  // One a unit, once prepare_faults() was called.
  std::vector<std::unique_ptr<Unit>> units_;
  std::vector<Unit*> unit_pointers_;
  std::vector<pthread_t> threads_;             // Of the first units; guarded by launching_.
  std::optional<CrashReports> crash_reports_;  // Exists as soon as a thread does.
  std::mutex launching_;
  std::mutex faults_;
  DeviceInfo info_;
  StallReport stall_report_;
  std::function<void()> on_abandon_;
  const pid_t pid_;
};

}  // namespace

Result<std::unique_ptr<Backend>> create(const DeviceConfig& config) {
  const Result<DeviceConfig> full = complete(config);
  if (!full) return full.error();
  auto device = std::make_unique<CpuBackend>(full.value());
  if (!device->build_units()) {
    return Error{ENOMEM,
                 "the system refuses the address space for " +
                     std::to_string(full.value().compute_units) + " units of " +
                     std::to_string(full.value().resident_waves * full.value().wave_lanes) +
                     " stacks of " + std::to_string(full.value().stack_bytes / 1024) +
                     " KiB; lower device.resident_waves or device.stack_bytes (see ulimit -v)"};
  }
  return std::unique_ptr<Backend>(std::move(device));
}

void set_stall_report(Backend& device, StallReport report) {
  auto* const cpu = dynamic_cast<CpuBackend*>(&device);
  K2K_EXPECT(cpu != nullptr);
  cpu->set_stall_report(std::move(report));
}

}  // namespace k2k::backend::cpu
