#include "backend/cpu/simt/unit.hpp"

#include <sched.h>

#include "backend/futex.hpp"

namespace k2k::backend::cpu {

namespace {
constexpr Nanoseconds trim_after = std::chrono::seconds(1);
}  // namespace

Unit::Unit(std::uint32_t index, const UnitPlan& plan, LaunchState& launch,
           const DeviceMemory& memory, std::byte* stacks, std::byte* local)
    : index_(index),
      plan_(plan),
      launch_(launch),
      memory_(memory),
      scheduler_(*this, index, plan, launch, stacks, local) {}

void Unit::start_launch() {
  orders_.fetch_add(1, std::memory_order_release);  // Pairs with thread_main().
  futex_wake_all(orders_);
}

void Unit::start_launch_on(int cpu, pthread_t thread) {
  binding_.bind(thread, cpu);
  start_launch();
}

void Unit::quit() {
  quit_.store(1, std::memory_order_relaxed);
  start_launch();
}

void Unit::thread_main() {
  turns().adopt_thread();
  for (std::uint32_t done = 0;; ++done) {
    await_order(done);
    binding_.end();
    if (quit_.load(std::memory_order_relaxed) != 0) break;
    scheduler_.run_launch();
    parked_on_ = sched_getcpu();
    // Pairs with launch(), which reads this unit's results.
    if (launch_.units_running.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      futex_wake_all(launch_.units_running);
    }
  }
  release_thread();
}

// Parked. Launches that follow one another find their stacks warm; a device that rests gives most
// of them back.
void Unit::await_order(std::uint32_t done) {
  const auto none = [&] { return orders_.load(std::memory_order_acquire) == done; };
  FibrePool& fibres = turns().fibres();
  if (none() && fibres.worth_trimming()) {
    futex_wait(orders_, done, trim_after);
    if (none()) fibres.trim();
  }
  while (none()) futex_wait(orders_, done);
}

void Unit::resume_row(std::uint32_t row) noexcept {
  if (!attention().resume_row(row)) return;
  for (std::uint32_t unit = 0; unit < launch_.unit_count; ++unit) {
    if (unit != index_) launch_.units[unit]->attention().resume_foreign();
  }
}

void Unit::fail(WorkItem& me, int code, const char* what) noexcept {
  launch_.fail(code, "kernel '%s': group %u item %u: %s", launch_.name, me.visible.group,
               me.visible.rank, what);
  while (true) turns().yield(me);  // Abandoned at the first.
}

}  // namespace k2k::backend::cpu
