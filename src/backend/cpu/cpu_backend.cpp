// The cpu device as a Backend: units and their threads (units.hpp), launches (launches.hpp),
// memory.
//
// A forked child has none of the threads: it gets an error, and its copy of the object can be
// destroyed.

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>

#include "backend/cpu/config.hpp"
#include "backend/cpu/constants.hpp"
#include "backend/cpu/cpu.hpp"
#include "backend/cpu/device_memory.hpp"
#include "backend/cpu/launches.hpp"
#include "backend/cpu/server_parking.hpp"
#include "backend/cpu/units.hpp"
#include "backend/demand_pages.hpp"
#include "backend/given_memory.hpp"
#include "backend/limits.hpp"
#include "base/asymmetric_barrier.hpp"

namespace k2k::backend::cpu {

namespace {

protocol::DeviceScope scope_of(const DeviceConfig& config) {
  register_asymmetric_barrier();
  const bool alone = config.compute_units == 1 && asymmetric.load(std::memory_order_relaxed);
  return alone ? protocol::DeviceScope::one_thread : protocol::DeviceScope::many_threads;
}

class CpuBackend final : public Backend, private KernelMemory {
 public:
  CpuBackend(const DeviceConfig& config, const PrivateLayout& layout)
      : memory_(config, config.compute_units * config.resident_waves,
                config.compute_units * layout.bytes(), scope_of(config)),
        units_(config, layout, memory_, parking_),
        launches_(units_, info_, memory_.area(), parking_,
                  std::chrono::milliseconds(config.watchdog_ms)) {
    info_.name = "cpu (" + std::to_string(config.compute_units) +
                 (config.compute_units == 1 ? " unit × " : " units × ") +
                 std::to_string(config.resident_waves) + " waves × " +
                 std::to_string(config.wave_lanes) + " lanes)";
    info_.compute_units = config.compute_units;
    info_.wave_lanes = config.wave_lanes;
    info_.resident_waves = config.compute_units * config.resident_waves;
    info_.group_items_max = std::min(layout.items, group_items_limit);
    info_.local_bytes_max = config.local_bytes;
    info_.area_bytes = memory_.area_bytes();
    info_.halts = true;
    info_.serves_inline = true;
    info_.hides_memory = config.strict;
    info_.kernel_memory = this;
  }

  // False if the system refuses the memory.
  [[nodiscard]] bool build() { return memory_.usable() && units_.build(); }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const protocol::AreaView& area() const override { return memory_.area(); }
  Result<void*> allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  void free(void* address) override { memory_.free(address); }
  Result<void*> allocate_shared(std::size_t bytes) override {
    return memory_.allocate_shared(bytes);
  }
  void free_shared(void* address) override { memory_.free_shared(address); }
  void set_registered(const Ranges* ranges) override { memory_.set_registered(ranges); }
  [[nodiscard]] bool host_may_access(const void* address, std::size_t bytes) const override {
    return memory_.host_may_access(address, bytes);
  }
  [[nodiscard]] bool gave_to_kernels(const void* address, std::size_t bytes,
                                     bool only_read) const override {
    if (memory_.gave_to_kernels(address, bytes)) return true;
    const auto first = reinterpret_cast<std::uintptr_t>(address);
    const FoundRegion region = find_region(first);
    if (region.live && bytes <= region.end - first) return true;
    return only_read && are_constants(address, bytes);
  }

  Result<LaunchReport> launch(const KernelImage& kernel, const LaunchShape& shape) override {
    return launches_.launch(kernel, shape);
  }
  void cancel() noexcept override { launches_.cancel(); }
  [[nodiscard]] bool abandoned() const noexcept override { return launches_.abandoned(); }
  void on_abandon(std::function<void()> listener) override {
    launches_.on_abandon(std::move(listener));
  }
  void set_stall_report(StallReport report) { launches_.set_stall_report(std::move(report)); }

  void wait_doorbell(const std::uint64_t* positions, Nanoseconds longest) override {
    parking_.wait(memory_.area(), positions, longest);
  }
  LaunchWait wait_launch(const std::uint64_t* positions, Nanoseconds longest) override {
    return parking_.wait_launch(memory_.area(), positions, longest);
  }
  void wake_server() noexcept override { parking_.wake(); }

  [[nodiscard]] bool waits_for_this_core() const noexcept override {
    return units_.wait_for_this_core();
  }
  void serve_inline(InlineService* service) override { units_.serve_inline(service); }
  void resume(const std::uint32_t* waves, std::size_t count) noexcept override {
    units_.resume(waves, count);
  }
  Result<RegionHandle> create_region(const RegionPlan& plan) override {
    if (Status ready = units_.prepare_faults(); !ready) return ready.error();
    return backend::create_region(plan);
  }
  [[nodiscard]] telemetry::RequestReport fault_report() const override {
    return units_.fault_report();
  }
  [[nodiscard]] telemetry::RequestReport call_report() const override {
    return units_.call_report();
  }

 private:
  DeviceMemory memory_;
  ServerParking parking_;
  DeviceInfo info_;
  Units units_;
  Launches launches_;
};

}  // namespace

Result<std::unique_ptr<Backend>> create(const DeviceConfig& config) {
  const Result<DeviceConfig> full = complete(config);
  if (!full) return full.error();
  auto device = std::make_unique<CpuBackend>(full.value(), PrivateLayout(full.value()));
  if (!device->build()) {
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
