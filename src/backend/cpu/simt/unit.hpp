#pragma once
// A compute unit: one thread that runs the work-items of its resident groups in turn.
//
// A group stays on the unit that admitted it, so barriers and ballots need no atomics. The unit
// polls the slots of polling work-items itself, without switching to them, between rounds and as
// often as it pays (pollers.hpp); halted ones only after resume(). A unit that finds nothing spins
// for a while and then sleeps; it is woken by resume(). No ready, polling or halted work-item while
// some live is a deadlock. How it runs a launch is in scheduler.hpp.
//
// Threading: start_launch() and quit() while the thread is parked. resume_row(), wake(), cpu(),
// serves(), turns().switches() and turns().progress() may be called from anywhere, wake() and
// resume_row() in signal handlers too. The rest is the unit thread's, on the fibre of a work-item
// where it takes one. Not instrumented for ThreadSanitizer (sanitizers.hpp).

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/brief_binding.hpp"
#include "backend/cpu/device_memory.hpp"
#include "backend/cpu/fibre/sanitizers.hpp"
#include "backend/cpu/launch_state.hpp"
#include "backend/cpu/simt/scheduler.hpp"
#include "backend/cpu/simt/unit_plan.hpp"
#include "telemetry/request_times.hpp"
#include "telemetry/sampler.hpp"

namespace k2k::backend::cpu {

class Unit {
 public:
  // `stacks` and `local` are this unit's part of the device's private memory.
  Unit(std::uint32_t index, const UnitPlan& plan, LaunchState& launch, const DeviceMemory& memory,
       std::byte* stacks, std::byte* local);
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  // False: the system refused the memory.
  [[nodiscard]] bool usable() const { return scheduler_.usable(); }

  // The life of the unit's thread: parked, a launch, parked, until told to quit.
  void thread_main();
  void start_launch();  // By launch(), while the unit is parked.
  // The same, and the unit's thread, `thread`, begins on this CPU.
  void start_launch_on(int cpu, pthread_t thread);
  void quit();  // Likewise; the thread ends.

  // Lanes of `row`, a row of this unit, were completed.
  void resume_row(std::uint32_t row) noexcept;
  // Checks again everything it waits for.
  void wake() noexcept { attention().wake(); }

  // The CPU it last waited on; -1 before the first wait.
  [[nodiscard]] int cpu() const { return scheduler_.idleness().cpu(); }
  // The CPU on which its last launch ended; -1 before the first end. By launch().
  [[nodiscard]] int parked_on() const { return parked_on_; }
  // Is its thread inside InlineService?
  [[nodiscard]] bool serves() const { return scheduler_.role().serves(); }

  // The hook of device code: the same address for the same tag, zeroed per group.
  void* local_memory(WorkItem& me, const void* tag, std::size_t bytes,
                     std::size_t alignment) noexcept;
  // Ends the launch with `what`, a sentence about this work-item, which does not run on.
  [[noreturn]] void fail(WorkItem& me, int code, const char* what) noexcept;

  [[nodiscard]] K2K_ALWAYS_INLINE Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] K2K_ALWAYS_INLINE Turns& turns() { return scheduler_.turns(); }
  [[nodiscard]] K2K_ALWAYS_INLINE const Turns& turns() const { return scheduler_.turns(); }
  [[nodiscard]] K2K_ALWAYS_INLINE Attention& attention() {
    return scheduler_.waiters().attention();
  }

  // nullptr while no demand-paged region was made for this device.
  [[nodiscard]] telemetry::RequestTimes* fault_times() const {
    telemetry::RequestTimes* const all = plan_.fault_times.load(std::memory_order_acquire);
    return all == nullptr ? nullptr : all + index_;
  }
  // Of the calls of this unit's work-items.
  [[nodiscard]] telemetry::RequestTimes& call_times() { return call_times_; }
  [[nodiscard]] const telemetry::RequestTimes& call_times() const { return call_times_; }
  // Which of them are timed.
  [[nodiscard]] K2K_ALWAYS_INLINE telemetry::Sampler& call_sampler() { return call_sampler_; }

  [[nodiscard]] const UnitPlan& plan() const { return plan_; }
  [[nodiscard]] const DeviceMemory& memory() const { return memory_; }
  [[nodiscard]] const LaunchState& launch() const { return launch_; }

 private:
  void await_order(std::uint32_t done);

  const std::uint32_t index_;
  const UnitPlan& plan_;
  LaunchState& launch_;
  const DeviceMemory& memory_;
  telemetry::RequestTimes call_times_;
  telemetry::Sampler call_sampler_;
  Scheduler scheduler_;
  alignas(64) std::atomic<std::uint32_t> orders_{
      0};  // Launches and quit(); futex of a parked unit.
  std::atomic<std::uint32_t> quit_{0};
  BriefBinding binding_;
  int parked_on_ = -1;
};

}  // namespace k2k::backend::cpu
