#include "backend/cpu/simt/scheduler.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"

namespace k2k::backend::cpu {

namespace {

// Work-items that run between two polls of the waiting ones, at least.
constexpr std::uint32_t round_turns_min = 8;

// Polls of the slot between checks of anything else.
constexpr int polls_in_a_row = 64;

}  // namespace

Scheduler::Scheduler(Unit& unit, std::uint32_t index, const UnitPlan& plan, LaunchState& launch,
                     std::byte* stacks, std::byte* local)
    : index_(index),
      plan_(plan),
      launch_(launch),
      turns_(plan, launch, stacks),
      idleness_(plan),
      role_(index, plan),
      residents_(unit, index, plan, launch, local),
      reports_(residents_, *plan.area, launch),
      waiters_(index, plan, launch) {}

bool Scheduler::usable() const {
  return turns_.usable() && residents_.usable() && waiters_.usable();
}

void Scheduler::run_launch() {
  residents_.begin_launch();
  waiters_.begin_launch();
  turns_.begin_launch(plan_.config.seed * 0x2545f4914f6cdd1dull + index_);
  reports_.begin_launch();
  idleness_.begin_launch();
  admit();
  run_items();
  role_.end_launch();
}

// --- The schedule.

K2K_ALWAYS_INLINE void Scheduler::end_item(WorkItem& item) {
  turns_.end(item);
  item.wave->count_out(turns_, item);
  item.group->count_out(turns_);
  if (item.group->live != 0) return;
  residents_.give_back(*item.group);
  admit();
}

K2K_ALWAYS_INLINE void Scheduler::run_item(WorkItem& item) {
  idleness_.end();
  if (!turns_.run(item)) {
    return launch_.fail(ENOMEM,
                        "no memory for the stacks of %u work-items; lower device.stack_bytes or "
                        "device.resident_waves",
                        plan_.items_max);
  }
  if (item.state == ItemState::done) end_item(item);
}

void Scheduler::run_items() {
  const bool random = turns_.schedule() == Schedule::random;
  const bool goes_on = turns_.schedule() == Schedule::round_robin;
  while (!residents_.none()) {
    if (launch_.stopped()) return abandon_all();
    if (launch_.stall.load(std::memory_order_relaxed) == stall_requested) {
      reports_.answer_watchdog(turns_.progress());
    }
    if (turns_.empty() && !poll()) {
      idle();
      continue;
    }
    const std::uint32_t turns = std::max(round_turns_min, waiters_.polling());
    const bool serves = role_.may_serve();
    for (std::uint32_t turn = 0; turn < turns && !turns_.empty() && !launch_.stopped(); ++turn) {
      WorkItem& item = turns_.next();
      run_item(item);
      if (serves && goes_on) go_on(item);
    }
    if (serves && waiters_.polling() != 0) role_.serve(InlineService::Reach::own);
    if (random && (turns_.random().next() & 3) == 0) continue;  // Answers come late, too.
    poll();
  }
}

// Serves the call of a work-item that has just begun to wait, and runs it again: its data is still
// in the caches of this core. After some calls in a row the other work-items have their turns.
void Scheduler::go_on(WorkItem& item) {
  constexpr int calls_max = 64;
  for (int call = 0; call < calls_max && item.state == ItemState::polling && !launch_.stopped();
       ++call) {
    if (!serve_now(item)) return;
    run_item(item);
  }
}

// True: the call of this work-item, which has just begun to poll, was answered, and its wait is
// over.
bool Scheduler::serve_now(WorkItem& item) {
  return role_.serve(InlineService::Reach::own) == InlineService::Found::served &&
         waiters_.take_back(item);
}

void Scheduler::admit() {
  residents_.admit([this](WorkItem& item) { turns_.make_ready(item); });
}

// Every work-item that has not ended is forgotten where it stands: its destructors do not run.
void Scheduler::abandon_all() {
  residents_.for_each([this](WorkItem& item) {
    if (item.state == ItemState::polling || item.state == ItemState::halted) {
      waiters_.forget(item);
    }
    turns_.abandon(item);
  });
  residents_.forget_all();
  waiters_.forget_all();
}

// --- Waiting for the host.

void Scheduler::wait(WorkItem& me, const protocol::Slot& slot, bool halting) noexcept {
  if (!launch_.stopped()) {
    if (finished(slot) || waiters_.closed()) return;
    if (!halting && wait_in_place(slot)) return;
  }
  if (!halting) {
    waiters_.poll(me, slot);
  } else if (!waiters_.halt(me, slot)) {
    return;
  }
  turns_.suspend(me);
}

// Nothing else to do: poll the one slot without leaving the fibre. False if it took too long
// or there is something else to check.
bool Scheduler::wait_in_place(const protocol::Slot& slot) {
  if (!turns_.empty() || waiters_.polling() != 0 || role_.may_serve()) return false;
  const std::uint64_t begin = cycles();
  do {
    for (int poll = 0; poll < polls_in_a_row; ++poll) {
      if (finished(slot)) return true;
    }
    if (launch_.stopped() || waiters_.closed() || waiters_.posted()) break;
    if (idleness_.is_beside_server(role_.may_serve()) || !idleness_.is_early(begin)) sched_yield();
  } while (idleness_.spins(begin));
  idleness_.begin_at(begin);
  return false;
}

// Makes ready whose wait is over. True if there was one.
bool Scheduler::poll(Polls how) {
  return waiters_.poll(how, [this](WorkItem& item) { turns_.make_ready(item); });
}

// Nothing is ready: spins until something is, then sleeps once.
void Scheduler::idle() {
  if (waiters_.empty()) return reports_.deadlock();
  idleness_.begin();
  while (idleness_.spins()) {
    const bool serves = role_.may_serve();
    const bool served = serves && serve_idle();
    const int polls = serves ? 1 : polls_in_a_row;
    for (int times = 0; times < polls; ++times) {
      if (poll()) return;
    }
    if (launch_.stopped()) return;
    if (served) {
      idleness_.restart();
      continue;
    }
    if (idleness_.is_beside_server(role_.may_serve()) || !idleness_.is_early()) sched_yield();
  }
  sleep();
}

// True: at least one request was served. At first only requests of this unit's ring: another unit
// serves its own soon, without a hand-over between cores.
bool Scheduler::serve_idle() {
  const auto reach = idleness_.is_early() ? InlineService::Reach::own : InlineService::Reach::all;
  return role_.serve(reach) == InlineService::Found::served;
}

void Scheduler::sleep() {
  if (launch_.stall.load(std::memory_order_relaxed) == stall_requested) {
    reports_.answer_watchdog(turns_.progress());
  }
  role_.rest();
  waiters_.attention().begin_sleep();
  if (role_.may_serve()) role_.serve(InlineService::Reach::all);
  if (!poll(Polls::all) && !launch_.stopped()) {
    waiters_.attention().sleep(idleness_.nap());
    idleness_.lengthen_nap();
  }
  waiters_.attention().end_sleep();
}

}  // namespace k2k::backend::cpu
