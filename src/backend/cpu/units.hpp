#pragma once
// The units of a device, their threads, and their shared state.
//
// Threads: one per unit, "k2k/unit0" and so on, made when a launch first needs it, with all signals
// blocked except those of faults, parked between launches. A forked child has none of them.
//
// Threading: build() first. start_threads() and start() by one launching thread at a time; all else
// from anywhere, serve_inline() by one caller at a time.

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backend/backend.hpp"
#include "backend/cpu/crash_report.hpp"
#include "backend/cpu/device_memory.hpp"
#include "backend/cpu/launch_state.hpp"
#include "backend/cpu/server_parking.hpp"
#include "backend/cpu/simt/unit.hpp"
#include "backend/cpu/simt/unit_plan.hpp"
#include "backend/device_config.hpp"
#include "base/cores.hpp"
#include "base/result.hpp"
#include "telemetry/snapshots.hpp"

namespace k2k::backend::cpu {

// Stacks and local memory of one unit; the private memory of a device is one such part a unit.
struct PrivateLayout {
  explicit PrivateLayout(const DeviceConfig& config);
  [[nodiscard]] std::size_t bytes() const { return stack_bytes + local_bytes; }

  std::uint32_t items;
  std::size_t stack_bytes;
  std::size_t local_stride;
  std::size_t local_bytes;
};

class Units {
 public:
  // `memory` has room for the private memory of `layout`, a unit.
  Units(const DeviceConfig& config, const PrivateLayout& layout, const DeviceMemory& memory,
        ServerParking& parking);
  // Ends the threads, unless they stayed with the parent.
  ~Units();
  Units(const Units&) = delete;
  Units& operator=(const Units&) = delete;

  // False if the system refuses the memory.
  [[nodiscard]] bool build();

  // Was this process forked from the one that made the units?
  [[nodiscard]] bool forked() const;
  [[nodiscard]] LaunchState& launch() { return launch_; }
  [[nodiscard]] const LaunchState& launch() const { return launch_; }

  // --- A launch.

  // Of the first units. Errors: of pthread_create().
  Status start_threads(std::uint32_t count);
  // Do so many units need every CPU that the process may use?
  [[nodiscard]] bool take_all_cores(std::uint32_t count) const { return count >= cores_; }
  // The launch of launch() begins on the first units.
  void start(std::uint32_t count);
  // Of the units of this launch.
  [[nodiscard]] std::uint64_t switches() const;
  [[nodiscard]] std::uint64_t progress() const;

  // --- Of the server: as the functions of Backend. Inline where each answer passes.

  void resume(const std::uint32_t* waves, std::size_t count) noexcept {
    const int here = sched_getcpu();
    if (plan_.server_cpu.load(std::memory_order_relaxed) != here) {
      plan_.server_cpu.store(here, std::memory_order_relaxed);
    }
    const DeviceConfig& config = plan_.config;
    for (std::size_t index = 0; index < count; ++index) {
      const std::uint32_t wave = waves[index];
      const std::uint32_t unit = config.compute_units == 1 ? 0 : wave / config.resident_waves;
      unit_pointers_[unit]->resume_row(wave);
    }
  }
  [[nodiscard]] bool wait_for_this_core() const noexcept {
    const int here = sched_getcpu();
    return std::any_of(unit_pointers_.begin(), unit_pointers_.end(),
                       [here](const Unit* unit) { return unit->cpu() == here; });
  }
  void serve_inline(InlineService* service);

  Status prepare_faults();
  [[nodiscard]] telemetry::RequestReport fault_report() const;
  [[nodiscard]] telemetry::RequestReport call_report() const;

 private:
  const PrivateLayout layout_;
  const DeviceMemory& memory_;
  UnitPlan plan_;
  LaunchState launch_;
  std::mutex faults_;
  // One a unit, once prepare_faults() was called.
  std::unique_ptr<telemetry::RequestTimes[]> fault_times_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::vector<Unit*> unit_pointers_;
  std::vector<pthread_t> threads_;             // Of the first units.
  std::optional<CrashReports> crash_reports_;  // Exists as soon as a thread does.
  const pid_t pid_;
  const std::uint32_t cores_ = usable_cores();
};

}  // namespace k2k::backend::cpu
