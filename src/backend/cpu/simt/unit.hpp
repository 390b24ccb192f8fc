#pragma once
// A compute unit: one thread that runs the work-items of its resident groups in turn.
//
//   admit ──▶ [ready queue] ──▶ run ──▶ barrier, ballot ─┐
//                  ▲                ├─▶ polling, halted ─┤   nothing ready: look, spin, sleep
//                  └────────────────┴────────────────────┘
//
// A group stays on the unit that admitted it, so barriers and ballots need no atomics. The unit
// looks at the slots of polling work-items itself, without switching to them, between rounds and as
// often as it pays (pollers.hpp); halted ones only after resume(). A unit that finds nothing spins
// for a while and then sleeps; it is woken by resume(). No ready, polling or halted work-item while
// some live is a deadlock.
//
// Threading: run() and the hook_* members are the unit thread's. resume_row(), wake(), switches()
// and progress() may be called from anywhere, wake() and resume_row() in signal handlers too.
// Not instrumented for ThreadSanitizer (sanitizers.hpp).

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backend/backend.hpp"
#include "backend/cpu/device_memory.hpp"
#include "backend/cpu/launch_state.hpp"
#include "backend/cpu/pages.hpp"
#include "backend/cpu/server_parking.hpp"
#include "backend/cpu/simt/fibre_pool.hpp"
#include "backend/cpu/simt/group.hpp"
#include "backend/cpu/simt/pollers.hpp"
#include "backend/cpu/simt/ready_queue.hpp"
#include "backend/device_config.hpp"
#include "protocol/area.hpp"
#include "telemetry/request_times.hpp"
#include "telemetry/sampler.hpp"

namespace k2k::backend::cpu {

struct Text;

// What all units of a device share.
struct UnitPlan {
  DeviceConfig config;
  std::uint32_t items_max = 0;   // Resident in a unit.
  std::size_t stack_bytes = 0;   // A work-item.
  std::size_t local_stride = 0;  // A group: scratch and local memory.
  std::uint64_t spin_cycles = 0;
  PollerPace poller_pace;
  const protocol::AreaView* area = nullptr;
  ServerParking* parking = nullptr;
  std::atomic<int> server_cpu{-1};  // Where the server last answered from.
  std::atomic<telemetry::RequestTimes*> fault_times{nullptr};  // One a unit.
  std::atomic<InlineService*> inline_service{nullptr};  // nullptr: the server's threads serve.
};

class Unit {
 public:
  // `stacks` and `local` are this unit's part of the device's private memory.
  Unit(std::uint32_t index, const UnitPlan& plan, LaunchState& launch, const DeviceMemory& memory,
       std::byte* stacks, std::byte* local);
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  [[nodiscard]] bool usable() const;  // False: the system refused the memory.

  // The life of the unit's thread: parked, a launch, parked, until told to quit.
  void thread_main();
  void start_launch();  // By launch(), while the unit is parked.
  void quit();          // Likewise; the thread ends.

  // Lanes of `row`, a row of this unit, were completed.
  void resume_row(std::uint32_t row) noexcept;
  // Looks again at everything it waits for.
  void wake() noexcept;

  // The CPU it last waited on; -1 before the first wait.
  [[nodiscard]] int cpu() const { return cpu_.load(std::memory_order_relaxed); }

  // Is its thread inside InlineService?
  [[nodiscard]] bool serves() const { return serves_.load(std::memory_order_seq_cst); }

  [[nodiscard]] std::uint64_t switches() const {
    return __atomic_load_n(&switches_, __ATOMIC_RELAXED);
  }
  // Changes when a work-item begins, makes a call, or need not wait any more; a yield is none of
  // it.
  [[nodiscard]] std::uint64_t progress() const {
    return __atomic_load_n(&progress_, __ATOMIC_RELAXED);
  }

  // The hooks of device code, called on the fibre of `me`.
  void hook_barrier(WorkItem& me) noexcept;
  std::uint64_t hook_ballot(WorkItem& me, bool predicate) noexcept;
  std::uint64_t hook_shuffle(WorkItem& me, std::uint64_t value, std::uint32_t lane) noexcept;
  void hook_gather(WorkItem& me, void* brought, device::platform::Lead lead, bool polls) noexcept;
  void hook_yield(WorkItem& me) noexcept;
  void hook_wait(WorkItem& me, const protocol::Slot& slot, bool halting) noexcept;
  void* hook_local(WorkItem& me, const void* tag, std::size_t bytes,
                   std::size_t alignment) noexcept;
  // Ends the launch with `what`, a sentence about this work-item, which does not run on.
  [[noreturn]] void hook_fail(WorkItem& me, int code, const char* what) noexcept;
  [[noreturn]] void hook_overflow(const WorkItem& me) noexcept { overflowed(me); }
  // nullptr while no demand-paged region was made for this device.
  [[nodiscard]] telemetry::RequestTimes* fault_times() const {
    telemetry::RequestTimes* const all = plan_.fault_times.load(std::memory_order_acquire);
    return all == nullptr ? nullptr : all + index_;
  }
  // Of the calls of this unit's work-items.
  [[nodiscard]] telemetry::RequestTimes& call_times() { return call_times_; }
  [[nodiscard]] const telemetry::RequestTimes& call_times() const { return call_times_; }
  K2K_ALWAYS_INLINE void count_progress() {
    __atomic_store_n(&progress_, progress_ + 1, __ATOMIC_RELAXED);
  }
  // Which of them are timed.
  [[nodiscard]] K2K_ALWAYS_INLINE telemetry::Sampler& call_sampler() { return call_sampler_; }
  [[nodiscard]] const UnitPlan& plan() const { return plan_; }
  [[nodiscard]] const DeviceMemory& memory() const { return memory_; }
  [[nodiscard]] const LaunchState& launch() const { return launch_; }

 private:
  static void fibre_main();
  void await_order(std::uint32_t done);
  void run_launch();
  void run_items();
  void run_item(WorkItem& item);
  void end_item(WorkItem& item);
  // Inline, as the switch inside: see fibre_switch.hpp.
  K2K_ALWAYS_INLINE void to_scheduler(const WorkItem& me) {
    Fibre& fibre = *me.fibre;
    leave(fibre.sanitizer, scheduler_sanitizer_);
    switch_context(fibre.context, scheduler_);
    arrive(fibre.sanitizer, scheduler_sanitizer_);
  }
  K2K_ALWAYS_INLINE void make_ready(WorkItem& item) {
    count_progress();
    item.state = ItemState::ready;
    ready_.push(item);
  }
  [[nodiscard]] bool stopped() const { return launch_.stop.load(std::memory_order_relaxed) != 0; }
  void fail(int code, const char* format, ...) __attribute__((format(printf, 3, 4)));
  [[noreturn]] void overflowed(const WorkItem& item);

  // Admission.
  void admit();
  void fill_group(Group& group, std::uint32_t id);
  void abandon_all();

  // Meetings (meeting.cpp).
  void open_barrier(Group& group);
  static void join(Wave& wave, Meeting kind);
  std::uint64_t meet(WorkItem& me, Meeting kind);
  void close_meeting(Wave& wave);
  void dismiss(Wave& wave, const WorkItem& leader, const protocol::Slot* row);
  static void end_meeting(Wave& wave);
  void leave_meetings(const WorkItem& item);

  // Serving requests itself (waiting.cpp).
  [[nodiscard]] bool may_serve() const {
    return plan_.inline_service.load(std::memory_order_relaxed) != nullptr;
  }
  class Visit;
  InlineService::Found serve(InlineService::Reach reach);
  void go_on(WorkItem& item);
  bool serve_idle();
  bool serve_now(WorkItem& item);
  void serve_rest();
  void rest_service();

  // Waiting for slots (waiting.cpp).
  void poll(WorkItem& item, const protocol::Slot& slot);
  bool wait_in_place(const protocol::Slot& slot);
  enum class Look : bool { as_it_pays, at_all };
  bool look(Look how = Look::as_it_pays);
  bool look_at_pollers(Look how, bool all);
  bool look_at_resumed(bool all);
  void look_at_halted(WorkItem*& list, bool all);
  bool halt(WorkItem& me, const protocol::Slot& slot);
  void watch(const protocol::Slot& slot);
  void unwatch(const protocol::Slot& slot);
  [[nodiscard]] std::uint32_t row_of(const protocol::Slot& slot) const;
  [[nodiscard]] bool is_mine(std::uint32_t row) const {
    return row - first_row_ < plan_.config.resident_waves;
  }
  [[nodiscard]] bool closed() const;
  void resume_foreign() noexcept;
  void idle();
  void sleep();
  [[nodiscard]] bool beside_server();

  // Reports (unit_report.cpp).
  void report_deadlock();
  void answer_watchdog();
  void report_stall();
  [[nodiscard]] std::uint32_t waiting_items() const;
  enum class Waits : std::uint8_t { all, slots, yields };
  void describe_waiting(Text& text, Waits which) const;

  const std::uint32_t index_;
  const UnitPlan& plan_;
  LaunchState& launch_;
  const DeviceMemory& memory_;
  std::byte* const local_;
  const std::uint32_t first_row_;
  const std::uint32_t
      row_shift_;  // A unit's first wave rings a ring of its own, while there are enough.

  FibrePool fibres_;
  ReadyQueue<WorkItem> ready_;
  Pages item_pages_;
  Pages wave_pages_;
  Pages group_pages_;
  Pages list_pages_;
  WorkItem* items_;  // group_count_ rows of group_items.
  Wave* waves_;      // One a row of the area.
  Group* groups_;
  Pollers<WorkItem> pollers_;
  WorkItem** halted_;  // A list a row of this unit, and one for rows of other units.
  std::uint32_t halted_count_ = 0;
  bool halting_seen_ = false;  // Has this launch halted an item?

  // This launch.
  std::uint32_t group_waves_ = 0;  // Waves a group needs.
  std::uint32_t groups_open_ = 0;  // Groups that may be resident.
  std::uint32_t groups_resident_ = 0;
  bool groups_left_ = false;      // Does next_group promise more?
  Group* group_free_ = nullptr;   // The one used last first: rows stay dense.
  std::uint64_t idle_since_ = 0;  // cycles() when nothing was ready any more; 0 = busy.
  Nanoseconds nap_{};             // The next sleep at most.

  Context scheduler_;
  SanitizerContext scheduler_sanitizer_;
  ExceptionState* thread_exceptions_ = nullptr;
  std::atomic<int> cpu_{-1};                    // Written here, read by the server.
  std::uint64_t switches_ = 0;                  // Written here, read by the report.
  std::uint64_t progress_ = 0;                  // Written here, read by the watchdog.
  std::uint64_t progress_asked_ = no_question;  // What it was at the watchdog's question.
  static constexpr std::uint64_t no_question = ~std::uint64_t{0};
  std::atomic<bool> serves_{false};  // Read by CpuBackend::serve_inline().
  telemetry::RequestTimes call_times_;
  telemetry::Sampler call_sampler_;

  // Written by others. `attention` bit 0: sleeps; bit 1: has halted work-items; above: work-items
  // of other units that halted on a row of this one. The futex of the sleeping unit.
  static constexpr std::uint32_t sleeping = 1;
  static constexpr std::uint32_t halting = 2;
  static constexpr std::uint32_t one_foreign = 4;
  static constexpr Nanoseconds nap_min = std::chrono::milliseconds(1);
  alignas(64) std::atomic<std::uint32_t> attention_{0};
  alignas(64) std::atomic<std::uint32_t> resume_posted_{0};
  std::atomic<std::uint32_t> resume_foreign_{0};
  Pages resume_pages_;
  std::atomic<std::uint64_t>* resume_bits_;  // A bit a row of this unit.
  alignas(64) std::atomic<std::uint32_t> orders_{
      0};  // Launches and quit(); futex of a parked unit.
  std::atomic<std::uint32_t> quit_{0};
};

}  // namespace k2k::backend::cpu
