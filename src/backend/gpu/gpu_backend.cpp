// A GPU as a Backend: one device, one stream for launches.
//
//   create():  stream ─▶ area ─▶ every kernel of the program is loaded
//   launch():  sites, ranges ─▶ kernel ─▶ lock words to the host ─▶ poll until all is done ─▶ sweep
//              └──────────────── the launch gate is open: service threads look ────────────────┘
//
// No thread of its own: the thread in launch() polls the driver until the kernel ends, which drives
// the driver's progress. After create(), only allocate() allocates, and nothing is loaded. The
// functions for service threads (wait_doorbell, wait_launch, resume, host_may_access) make no
// driver call at all.
//
// A forked child has no context: it gets an error, and its copy of the object can be destroyed.

#include "backend/gpu/gpu_backend.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "backend/demand_pages.hpp"
#include "backend/device_regions.hpp"
#include "backend/given_memory.hpp"
#include "backend/gpu/kernels.hpp"
#include "backend/gpu/launching.hpp"
#include "backend/gpu/memory.hpp"
#include "backend/gpu/served_kernels.hpp"
#include "backend/launch_gate.hpp"
#include "backend/wake_word.hpp"
#include "base/clock.hpp"
#include "device/platform/launch_context.hpp"

namespace k2k::backend::gpu {

namespace {

// A server without wake-ups should not sleep here (Notify::polling); if it does, only briefly.
constexpr Nanoseconds doorbell_wait_max = std::chrono::milliseconds(1);

// Memory that the driver moves. It keeps the driver, and may live longer than the backend.
Result<RegionHandle> manage_region(const std::shared_ptr<const Driver>& owned,
                                   const RegionPlan& plan) {
  if (Status fits = check(plan); !fits) return fits.error();
  const Current current(*owned);
  void* memory = nullptr;
  const Status done = owned->call(
      owned->allocate_managed(&memory, plan.bytes),
      "allocate " + std::to_string(plan.bytes) + " bytes for demand region '" + plan.name + "'");
  if (!done) return done.error();
  std::shared_ptr<void> pages(memory, [driver = owned](void* gone) {
    const Current there(*driver);
    driver->free(gone);
  });
  std::memset(memory, 0, plan.bytes);
  if (Status filled = fill_region(plan, static_cast<std::byte*>(memory)); !filled) {
    return filled.error();
  }
  return RegionHandle{0, static_cast<std::byte*>(memory), std::move(pages)};
}

class GpuBackend final : public Backend, private KernelMemory {
 public:
  GpuBackend(std::unique_ptr<const Driver> driver, DeviceInfo info)
      : owned_(std::move(driver)), driver_(*owned_), pid_(getpid()), info_(std::move(info)) {
    info_.kernel_memory = this;
  }

  ~GpuBackend() override {
    if (getpid() != pid_) {
      static_cast<void>(served_.release());
      static_cast<void>(memory_.release());
      static_cast<void>(new std::shared_ptr<const Driver>(std::move(owned_)));  // Never destroyed.
      return;
    }
    const Current current(driver_);
    if (stream_ != nullptr) driver_.destroy_stream(stream_);
    served_.reset();
    memory_.reset();
  }
  GpuBackend(const GpuBackend&) = delete;
  GpuBackend& operator=(const GpuBackend&) = delete;

  Status build(const DeviceConfig& config) {
    const Current current(driver_);
    Status done = driver_.call(driver_.create_stream(&stream_), "create a stream");
    if (!done) return done;
    memory_ = std::make_unique<Memory>(driver_);
    done = memory_->build(config, info_);
    if (!done) return done;
    info_.area_bytes = memory_->area_bytes();
    served_ = std::make_unique<ServedKernels>(
        ServedKernels::Parts{driver_, *memory_, gate_, launching_, stop_, on_abandon_});
    return kernels_.load_all();
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const protocol::AreaView& area() const override { return memory_->area(); }

  Result<void*> allocate(std::size_t bytes) override {
    const Current current(driver_);
    return memory_->allocate(bytes);
  }
  void free(void* address) override {
    const Current current(driver_);
    memory_->free(address);
  }
  Result<void*> allocate_shared(std::size_t bytes) override {
    const Current current(driver_);
    return memory_->allocate_shared(bytes);
  }
  void free_shared(void* address) override {
    const Current current(driver_);
    memory_->free_shared(address);
  }
  Status copy(void* to, const void* from, std::size_t bytes) override {
    const Current current(driver_);
    return memory_->copy(to, from, bytes);
  }

  Result<RegionHandle> create_region(const RegionPlan& plan) override {
    if (!info_.reaches_host_pages && !info_.faults_on_managed) {
      return Error{ENOTSUP, "the device '" + info_.name +
                                "' neither reaches pages of the host nor faults on managed memory; "
                                "demand-paged regions need backend = \"cpu\""};
    }
    Result<RegionHandle> region =
        info_.reaches_host_pages ? map_region(plan) : manage_region(owned_, plan);
    if (region) regions_.add(region.value().data, plan.bytes, region.value().pages);
    return region;
  }

  Result<LaunchReport> launch(const KernelImage& kernel, const LaunchShape& shape) override {
    const KernelRuns runs;  // Ends last: it may give a region's memory back.
    if (getpid() != pid_) {
      return Error{EPERM,
                   "the k2k runtime was created before fork(); create a new one in the child"};
    }
    const std::lock_guard lock(launching_);
    if (served_->serves()) {
      return Error{EBUSY,
                   "the runtime serves kernels of other libraries: end that first, or launch by "
                   "another runtime"};
    }
    const Current current(driver_);
    const Result<Function> function = kernels_.function_of(kernel, shape);
    if (!function) return function.error();

    gate_.open();
    Result<LaunchReport> report = run_to_its_end(kernel, shape, function.value());
    gate_.close();
    return report;
  }

  void cancel() noexcept override {
    int running_on = 0;
    stop_.compare_exchange_strong(running_on, ECANCELED);
    protocol::store_release(memory_->cancel_word(), 1u);  // Pairs with leave_if_cancelled().
  }
  [[nodiscard]] bool abandoned() const noexcept override {
    return stop_.load(std::memory_order_acquire) != 0;
  }
  void on_abandon(std::function<void()> listener) override { on_abandon_ = std::move(listener); }

  void wait_doorbell(const std::uint64_t*, Nanoseconds longest) override {
    const std::uint32_t seen = wakes_.read();
    if (!wakes_.take_kept()) wakes_.sleep(seen, std::min(longest, doorbell_wait_max));
  }
  // By the entries: the rings' tails are in device memory.
  LaunchWait wait_launch(const std::uint64_t* positions, Nanoseconds longest) override {
    const auto rung = [this, positions] {
      const protocol::AreaView& view = area();
      for (std::uint32_t ring = 0; ring < view.ring_count; ++ring) {
        if (positions[ring] == any_position) continue;
        if (protocol::is_rung(view.rings[ring], positions[ring])) return true;
      }
      return false;
    };
    return gate_.wait(rung, longest);
  }
  void wake_server() noexcept override { wakes_.wake(); }
  // Waves look at their slots themselves.
  void resume(const std::uint32_t*, std::size_t) noexcept override {}

  ForeignKernels* foreign_kernels() override { return served_.get(); }
  void set_registered(const Ranges* ranges) override { memory_->set_registered(ranges); }
  [[nodiscard]] bool host_may_access(const void* address, std::size_t bytes) const override {
    return memory_->host_may_access(address, bytes);
  }
  [[nodiscard]] bool gave_to_kernels(const void* address, std::size_t bytes,
                                     bool /*only_read*/) const override {
    return memory_->allocated(address, bytes) || regions_.holds(address, bytes);
  }

 private:
  Result<LaunchReport> run_to_its_end(const KernelImage& kernel, const LaunchShape& shape,
                                      Function function) {
    const Instant begin = now();
    protocol::store_release(memory_->cancel_word(), 0u);
    stop_.store(0, std::memory_order_release);
    Status ran = run(kernel, shape, function);
    LaunchReport report;
    report.elapsed = now() - begin;
    if (!ran) {
      stop_.store(EIO, std::memory_order_release);
      if (on_abandon_) on_abandon_();
      return Error{ran.error().code, "kernel '" + std::string(kernel.name) +
                                         "': " + ran.error().message +
                                         "; the device's context may be lost: start the process "
                                         "again, " +
                                         driver_.names().checker};
    }
    // The word too: cancel() may have come between the two stores above.
    const bool cancelled = abandoned() || protocol::load_acquire(memory_->cancel_word()) != 0;
    if (cancelled) stop_.store(ECANCELED, std::memory_order_release);
    if (cancelled && on_abandon_) on_abandon_();
    const Result<std::uint32_t> swept = put_in_order(*memory_, stream_);
    if (!swept) return swept.error();
    report.unredeemed_tickets = swept.value();
    report.elapsed = now() - begin;
    if (cancelled) {
      return Error{ECANCELED, "kernel '" + std::string(kernel.name) + "' was cancelled"};
    }
    return report;
  }

  Status run(const KernelImage& kernel, const LaunchShape& shape, Function function) {
    const auto queue = [&]() -> Status {
      const Result<Memory::RangeCounts> ranges = memory_->prepare_launch(stream_);
      if (!ranges) return ranges.error();
      device::platform::LaunchContext context = launch_context(*memory_);
      context.sites = memory_->sites();
      context.ranges = memory_->ranges();
      context.range_count = ranges->shared;
      context.registered_count = ranges->registered;
      context.tenant = shape.tenant;
      void* parameters[] = {&context, const_cast<void*>(kernel.closure)};  // Never written.
      Status done = driver_.call(driver_.launch(function, shape, parameters, stream_), "launch");
      return done.ok() ? memory_->read_locks(stream_) : done;
    };
    Status queued = queue();
    // After a failure, too: what was queued before it reads memory that the next launch writes.
    Status finished = memory_->finish(stream_);
    return queued.ok() ? finished : queued;
  }

  std::shared_ptr<const Driver> owned_;  // Shared with managed regions, which may live longer.
  const Driver& driver_;
  const pid_t pid_;
  Stream stream_ = nullptr;
  std::unique_ptr<Memory> memory_;
  GivenMemory regions_;
  DeviceInfo info_;
  const Kernels kernels_{driver_, info_};
  std::mutex launching_;
  std::atomic<int> stop_{0};  // 0, or why work-items are to leave: a positive errno.
  WakeWord wakes_;
  LaunchGate gate_{wakes_};
  std::function<void()> on_abandon_;
  std::unique_ptr<ServedKernels> served_;  // Uses members above.
};

}  // namespace

Result<std::unique_ptr<Backend>> create(std::unique_ptr<const Driver> driver, DeviceInfo info,
                                        const DeviceConfig& config) {
  auto backend = std::make_unique<GpuBackend>(std::move(driver), std::move(info));
  if (Status built = backend->build(config); !built) return built.error();
  return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace k2k::backend::gpu
