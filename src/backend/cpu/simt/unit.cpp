#include "backend/cpu/simt/unit.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "backend/cpu/simt/running.hpp"
#include "backend/futex.hpp"

namespace k2k::backend::cpu {

constinit thread_local WorkItem* running __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {
// Work-items that run between two looks at the waiting ones, at least.
constexpr std::uint32_t round_turns_min = 8;

constexpr Nanoseconds trim_after = std::chrono::seconds(1);

// The first rows of units lie a multiple of resident_waves apart, often of the number of rings,
// too.
std::uint32_t shift_of(std::uint32_t unit, const DeviceConfig& config) {
  const std::uint32_t first = unit * config.resident_waves % config.rings;
  return (unit % config.rings + config.rings - first) % config.rings % config.resident_waves;
}

constexpr std::size_t pages_for(std::size_t count, std::size_t bytes) { return count * bytes; }
}  // namespace

Unit::Unit(std::uint32_t index, const UnitPlan& plan, LaunchState& launch,
           const DeviceMemory& memory, std::byte* stacks, std::byte* local)
    : index_(index),
      plan_(plan),
      launch_(launch),
      memory_(memory),
      local_(local),
      first_row_(index * plan.config.resident_waves),
      row_shift_(shift_of(index, plan.config)),
      fibres_(stacks, plan.items_max, plan.stack_bytes, &Unit::fibre_main),
      ready_(plan.items_max, plan.config.schedule),
      item_pages_(pages_for(plan.items_max, sizeof(WorkItem))),
      wave_pages_(pages_for(plan.config.resident_waves, sizeof(Wave))),
      group_pages_(pages_for(plan.config.resident_groups, sizeof(Group))),
      list_pages_(pages_for(plan.config.resident_waves + std::size_t{1}, sizeof(WorkItem*))),
      items_(item_pages_.as<WorkItem>()),
      waves_(wave_pages_.as<Wave>()),
      groups_(group_pages_.as<Group>()),
      pollers_(plan.items_max, plan.poller_pace),
      halted_(list_pages_.as<WorkItem*>()),
      resume_pages_(pages_for((plan.config.resident_waves + 63) / 64, sizeof(std::uint64_t))),
      resume_bits_(resume_pages_.as<std::atomic<std::uint64_t>>()) {}

bool Unit::usable() const {
  return fibres_.usable() && ready_.usable() && !item_pages_.empty() && !wave_pages_.empty() &&
         !group_pages_.empty() && pollers_.usable() && !list_pages_.empty() &&
         !resume_pages_.empty();
}

// --- The thread.

void Unit::start_launch() {
  orders_.fetch_add(1, std::memory_order_release);  // Pairs with thread_main().
  futex_wake_all(orders_);
}

void Unit::quit() {
  quit_.store(1, std::memory_order_relaxed);
  start_launch();
}

void Unit::thread_main() {
  adopt_thread(scheduler_sanitizer_);
  thread_exceptions_ = reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
  for (std::uint32_t done = 0;; ++done) {
    await_order(done);
    if (quit_.load(std::memory_order_relaxed) != 0) break;
    run_launch();
    // Pairs with launch(), which reads what this unit wrote.
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
  if (none() && fibres_.worth_trimming()) {
    futex_wait(orders_, done, trim_after);
    if (none()) fibres_.trim();
  }
  while (none()) futex_wait(orders_, done);
}

void Unit::run_launch() {
  const DeviceConfig& config = plan_.config;
  group_waves_ = (launch_.group_items + config.wave_lanes - 1) / config.wave_lanes;
  // An even share first, so that the unit that wakes first does not take all.
  const std::uint32_t share = (launch_.groups - 1) / launch_.units_used + 1;
  groups_open_ = std::min({config.resident_groups, config.resident_waves / group_waves_, share});
  groups_resident_ = 0;
  groups_left_ = true;
  group_free_ = nullptr;
  for (std::uint32_t row = groups_open_; row-- > 0;) {
    groups_[row].next_free = group_free_;
    group_free_ = &groups_[row];
  }
  halting_seen_ = false;
  attention_.fetch_and(~halting, std::memory_order_seq_cst);
  ready_.restart(config.seed * 0x2545f4914f6cdd1dull + index_);
  pollers_.restart();
  __atomic_store_n(&switches_, 0, __ATOMIC_RELAXED);
  progress_asked_ = no_question;
  nap_ = nap_min;
  admit();
  run_items();
  serve_rest();
}

// --- The schedule.

K2K_ALWAYS_INLINE void Unit::run_item(WorkItem& item) {
  if (item.fibre == nullptr) {
    item.fibre = fibres_.take();
    if (item.fibre == nullptr) {
      return fail(ENOMEM,
                  "no memory for the stacks of %u work-items; lower device.stack_bytes or "
                  "device.resident_waves",
                  plan_.items_max);
    }
  }
  Fibre& fibre = *item.fibre;
  item.state = ItemState::running;
  running = &item;
  idle_since_ = 0;
  __atomic_store_n(&switches_, switches_ + 1, __ATOMIC_RELAXED);
  *thread_exceptions_ = fibre.exceptions;
  leave(scheduler_sanitizer_, fibre.sanitizer);
  switch_context(scheduler_, fibre.context);
  arrive(scheduler_sanitizer_, fibre.sanitizer);
  fibre.exceptions = *thread_exceptions_;
  *thread_exceptions_ = {};
  if (fibres_.beyond(fibre)) overflowed(item);
  if (item.state == ItemState::done) end_item(item);
}

void Unit::run_items() {
  const bool random = ready_.schedule() == Schedule::random;
  const bool goes_on = ready_.schedule() == Schedule::round_robin;
  while (groups_resident_ != 0) {
    if (stopped()) return abandon_all();
    if (launch_.stall.load(std::memory_order_relaxed) == stall_asked) answer_watchdog();
    if (ready_.empty() && !look()) {
      idle();
      continue;
    }
    const std::uint32_t turns = std::max(round_turns_min, pollers_.size());
    const bool serves = may_serve();
    for (std::uint32_t turn = 0; turn < turns && !ready_.empty() && !stopped(); ++turn) {
      WorkItem& item = ready_.pop();
      run_item(item);
      if (serves && goes_on) go_on(item);
    }
    if (serves && !pollers_.empty()) serve(InlineService::Reach::own);
    if (random && (ready_.random().next() & 3) == 0) continue;  // Answers come late, too.
    look();
  }
}

// Serves the call of a work-item that has just begun to wait, and runs it again: its data is still
// in the caches of this core. After some calls in a row the other work-items have their turns.
void Unit::go_on(WorkItem& item) {
  constexpr int calls_max = 64;
  for (int call = 0; call < calls_max && item.state == ItemState::polling && !stopped(); ++call) {
    if (!serve_now(item)) return;
    run_item(item);
  }
}

// The base of every fibre: one work-item after another.
void Unit::fibre_main() {
  Unit& unit = *running->unit;
  arrive(running->fibre->sanitizer, unit.scheduler_sanitizer_);
  LaunchState& launch = unit.launch_;
  while (true) {
    WorkItem& me = *running;
    acquire_edge(launch.begun);
    try {
      launch.entry(launch.closure);
    } catch (const std::exception& thrown) {
      unit.fail(EIO, "kernel '%s': group %u item %u threw an exception: %s", launch.name,
                me.visible.group, me.visible.rank, thrown.what());
    } catch (...) {
      unit.fail(EIO, "kernel '%s': group %u item %u threw an exception of unknown type",
                launch.name, me.visible.group, me.visible.rank);
    }
    release_edge(launch.ended);
    me.state = ItemState::done;
    unit.to_scheduler(me);
  }
}

void Unit::end_item(WorkItem& item) {
  if (fibres_.was_beyond(*item.fibre)) overflowed(item);
  fibres_.give_back(*item.fibre);
  item.fibre = nullptr;
  leave_meetings(item);
  if (item.group->live != 0) return;
  item.group->next_free = group_free_;
  group_free_ = item.group;
  --groups_resident_;
  admit();
}

void Unit::hook_yield(WorkItem& me) noexcept {
  me.state = ItemState::ready;
  me.yielded = true;
  ready_.push(me);
  to_scheduler(me);
  me.yielded = false;
}

// --- Admission.

void Unit::admit() {
  while (groups_left_ && groups_resident_ < groups_open_) {
    const std::uint32_t id = launch_.next_group.fetch_add(1, std::memory_order_relaxed);
    groups_left_ = id < launch_.groups;
    if (!groups_left_) return;
    Group& group = *group_free_;
    group_free_ = group.next_free;
    ++groups_resident_;
    fill_group(group, id);
  }
}

void Unit::fill_group(Group& group, std::uint32_t id) {
  const auto row = static_cast<std::uint32_t>(&group - groups_);
  const std::uint32_t lanes = plan_.config.wave_lanes;
  group.id = id;
  group.items = group.live = launch_.group_items;
  group.arrived = group.barriers = 0;
  group.first = items_ + std::size_t{row} * group.items;
  group.local = local_ + row * plan_.local_stride;
  if (group.local_used != 0) zero_fresh(group.local, scratch_bytes);
  if (group.local_variables != 0) {
    zero_fresh(group.local + variables_begin, group.local_used - variables_begin);
  }
  group.local_used = variables_begin;
  group.local_variables = 0;

  for (std::uint32_t rank = 0; rank < group.items; ++rank) {
    const std::uint32_t lane = rank % lanes;
    const std::uint32_t wave_row = row * group_waves_ + rank / lanes;
    const std::uint32_t left = group.items - (rank - lane);
    WorkItem& item = group.first[rank];
    Wave& wave = waves_[wave_row];
    if (lane == 0) {
      wave.first = &item;
      wave.live = left >= 64 || left >= lanes ? ~std::uint64_t{0} >> (64 - lanes)
                                              : (std::uint64_t{1} << left) - 1;
      wave.arrived = wave.predicates = 0;
      wave.meeting = Meeting::none;
    }
    device::platform::Item& visible = item.visible;
    visible.group = id;
    visible.groups = launch_.groups;
    visible.rank = rank;
    visible.group_items = group.items;
    visible.wave = first_row_ + (wave_row + row_shift_) % plan_.config.resident_waves;
    visible.lane = lane;
    visible.wave_lanes = lanes;
    visible.wave_members = wave.live;
    visible.tenant = launch_.tenant;
    visible.area = plan_.area;
    visible.sites = launch_.sites;
    visible.scratch = reinterpret_cast<std::int64_t*>(group.local);
    item.unit = this;
    item.group = &group;
    item.wave = &wave;
    item.fibre = nullptr;
    item.yielded = false;
    make_ready(item);
  }
}

// Every work-item that has not ended is forgotten where it stands: its destructors do not run.
void Unit::abandon_all() {
  for (std::uint32_t row = 0; row < groups_open_; ++row) {
    Group& group = groups_[row];
    for (std::uint32_t rank = 0; group.live != 0 && rank < group.items; ++rank) {
      WorkItem& item = group.first[rank];
      if (item.state == ItemState::done) continue;
      if (item.state == ItemState::polling || item.state == ItemState::halted) unwatch(*item.slot);
      if (item.fibre != nullptr) {
        release_edge_of(item.fibre->sanitizer, scheduler_sanitizer_, launch_.ended);
        fibres_.give_back_abandoned(*item.fibre);
      }
      item.fibre = nullptr;
      item.state = ItemState::done;
    }
    group.live = 0;
  }
  for (std::uint32_t list = 0; list <= plan_.config.resident_waves; ++list) halted_[list] = nullptr;
  pollers_.restart();
  halted_count_ = groups_resident_ = 0;
}

// --- Failures.

void Unit::fail(int code, const char* format, ...) {
  if (launch_.failed.exchange(1, std::memory_order_relaxed) == 0) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(launch_.failure, sizeof(launch_.failure), format, arguments);
    va_end(arguments);
    std::uint32_t running_on = 0;
    launch_.stop.compare_exchange_strong(running_on, static_cast<std::uint32_t>(code),
                                         std::memory_order_release, std::memory_order_relaxed);
  }
  for (std::uint32_t unit = 0; unit < launch_.unit_count; ++unit) launch_.units[unit]->wake();
}

void Unit::hook_fail(WorkItem& me, int code, const char* what) noexcept {
  fail(code, "kernel '%s': group %u item %u: %s", launch_.name, me.visible.group, me.visible.rank,
       what);
  while (true) hook_yield(me);  // Abandoned at the first.
}

void Unit::overflowed(const WorkItem& item) {
  std::fprintf(stderr,
               "k2k: kernel '%s': work-item %u of group %u overflowed its stack of %zu KiB; raise "
               "device.stack_bytes\n",
               launch_.name, item.visible.rank, item.visible.group, plan_.stack_bytes / 1024);
  std::abort();
}

}  // namespace k2k::backend::cpu
