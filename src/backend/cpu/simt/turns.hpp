#pragma once
// The fibres of a unit and the queue of ready work-items: each takes its turn, on its fibre.
//
//   unit's stack   run() ──▶ fibre        suspend(), yield() ──▶ back in run()
//
// Threading: confined to the unit's thread, except switches() and progress(), which may be called
// from anywhere. Not instrumented for ThreadSanitizer (sanitizers.hpp).

#include <cstddef>
#include <cstdint>

#include "backend/cpu/fibre/fibre_pool.hpp"
#include "backend/cpu/fibre/sanitizers.hpp"
#include "backend/cpu/launch_state.hpp"
#include "backend/cpu/simt/group.hpp"
#include "backend/cpu/simt/ready_queue.hpp"
#include "backend/cpu/simt/running.hpp"
#include "backend/cpu/simt/unit_plan.hpp"

namespace k2k::backend::cpu {

class Turns {
 public:
  // `stacks` is the unit's part of the device's private memory.
  Turns(const UnitPlan& plan, LaunchState& launch, std::byte* stacks);
  [[nodiscard]] bool usable() const { return fibres_.usable() && ready_.usable(); }

  // The calling thread is the unit's from now on, until release_thread().
  void adopt_thread();
  void begin_launch(std::uint64_t seed);

  // --- On the unit's stack.

  [[nodiscard]] K2K_ALWAYS_INLINE bool empty() const { return ready_.empty(); }
  [[nodiscard]] K2K_ALWAYS_INLINE Schedule schedule() const { return ready_.schedule(); }
  [[nodiscard]] K2K_ALWAYS_INLINE Random& random() { return ready_.random(); }
  // The next work-item. Expects !empty().
  [[nodiscard]] K2K_ALWAYS_INLINE WorkItem& next() { return ready_.pop(); }

  // Runs it until it waits, yields or ends. False: the system refuses the memory of its stack.
  [[nodiscard]] K2K_ALWAYS_INLINE bool run(WorkItem& item) {
    if (item.fibre == nullptr) {
      item.fibre = fibres_.take();
      if (item.fibre == nullptr) return false;
    }
    Fibre& fibre = *item.fibre;
    item.state = ItemState::running;
    running = &item;
    __atomic_store_n(&switches_, switches_ + 1, __ATOMIC_RELAXED);
    *thread_exceptions_ = fibre.exceptions;
    leave(scheduler_sanitizer_, fibre.sanitizer);
    switch_context(scheduler_, fibre.context);
    arrive(scheduler_sanitizer_, fibre.sanitizer);
    fibre.exceptions = *thread_exceptions_;
    *thread_exceptions_ = {};
    if (fibres_.beyond(fibre)) overflowed(item);
    return true;
  }
  // Its kernel returned: another work-item may have the fibre.
  K2K_ALWAYS_INLINE void end(WorkItem& item) {
    if (fibres_.was_beyond(*item.fibre)) overflowed(item);
    fibres_.give_back(*item.fibre);
    item.fibre = nullptr;
  }
  // It never runs again: the destructors of the objects on its stack do not run.
  void abandon(WorkItem& item);

  // --- On the fibre of `me`.

  // Inline, as the switch inside: see fibre_switch.hpp.
  K2K_ALWAYS_INLINE void suspend(const WorkItem& me) {
    Fibre& fibre = *me.fibre;
    leave(fibre.sanitizer, scheduler_sanitizer_);
    switch_context(fibre.context, scheduler_);
    arrive(fibre.sanitizer, scheduler_sanitizer_);
  }
  K2K_ALWAYS_INLINE void yield(WorkItem& me) {
    me.state = ItemState::ready;
    me.yielded = true;
    ready_.push(me);
    suspend(me);
    me.yielded = false;
  }

  // --- On either.

  K2K_ALWAYS_INLINE void make_ready(WorkItem& item) {
    count_progress();
    item.state = ItemState::ready;
    ready_.push(item);
  }
  K2K_ALWAYS_INLINE void count_progress() {
    __atomic_store_n(&progress_, progress_ + 1, __ATOMIC_RELAXED);
  }
  [[nodiscard]] K2K_ALWAYS_INLINE bool stopped() const { return launch_.stopped(); }
  [[noreturn]] void overflowed(const WorkItem& item) const;

  // Between launches.
  [[nodiscard]] FibrePool& fibres() { return fibres_; }

  // --- By any thread.

  // Turns of this launch.
  [[nodiscard]] std::uint64_t switches() const {
    return __atomic_load_n(&switches_, __ATOMIC_RELAXED);
  }
  // Changes when a work-item begins, makes a call, or need not wait any more; a yield is none of
  // it.
  [[nodiscard]] std::uint64_t progress() const {
    return __atomic_load_n(&progress_, __ATOMIC_RELAXED);
  }

 private:
  static void fibre_main();

  LaunchState& launch_;
  const std::size_t stack_bytes_;
  FibrePool fibres_;
  ReadyQueue<WorkItem> ready_;
  Context scheduler_;
  SanitizerContext scheduler_sanitizer_;
  ExceptionState* thread_exceptions_ = nullptr;
  std::uint64_t switches_ = 0;
  std::uint64_t progress_ = 0;
};

}  // namespace k2k::backend::cpu
