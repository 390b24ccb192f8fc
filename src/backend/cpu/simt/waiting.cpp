// Waiting for the host: polling, halted and sleeping, and how resume() ends each.
//
//   server                               unit
//   slot = finished                      item waits; nothing ready; spun long enough
//   (barrier)                            attention |= sleeping, (barrier), look again, futex wait
//   attention ─▶ seen                    first halted item of a launch: attention |= halting,
//   seen has halting:  post row            (barrier), look again
//   seen has sleeping: clear it, wake
//   seen has foreigners: tell all units  a slot of another unit's row: attention there += 4
//
// Each side stores, then loads what the other stores, so each needs a full barrier in between. The
// server is there once a call, the unit once a nap: the unit pays for both with membarrier(2), and
// an awake unit costs resume() one plain load. Without membarrier both use a read-modify-write.
//
// Threading: resume_row() and wake() from anywhere, the rest on the unit's thread.

#include <sched.h>

#include <algorithm>

#include "backend/cpu/simt/running.hpp"
#include "backend/cpu/simt/unit.hpp"
#include "backend/futex.hpp"
#include "base/asymmetric_barrier.hpp"
#include "base/bits.hpp"
#include "base/clock.hpp"
#include "base/contract.hpp"

namespace k2k::backend::cpu {

namespace {

// How often the slot is looked at between looks at anything else.
constexpr int looks_in_a_row = 64;

// After this part of the spin the core is offered to others between looks: the server may be one
// of them.
constexpr std::uint64_t polite_after = 4;

// A wake is never lost; naps are bounded for the one word without a wake: `closed`.
constexpr Nanoseconds nap_max = std::chrono::milliseconds(16);

// Written out, because a shared inline function might be an instrumented one (sanitizers.hpp).
// Pairs with the server's move to finished.
K2K_ALWAYS_INLINE bool finished(const protocol::Slot& slot) {
  return (__atomic_load_n(&slot.control, __ATOMIC_ACQUIRE) & 0xff) ==
         static_cast<std::uint32_t>(protocol::SlotState::finished);
}

std::uint32_t unit_of(std::uint32_t row, std::uint32_t rows_of_a_unit) {
  K2K_EXPECT(rows_of_a_unit != 0);
  return row / rows_of_a_unit;
}

}  // namespace

bool Unit::closed() const {
  return __atomic_load_n(plan_.area->closed, __ATOMIC_ACQUIRE) !=
         0;  // Pairs with the server's close().
}

std::uint32_t Unit::row_of(const protocol::Slot& slot) const {
  // Lanes are a power of two; a division here would be two a wait.
  const auto index = static_cast<std::uint64_t>(&slot - plan_.area->slots);
  return static_cast<std::uint32_t>(index >> __builtin_ctz(plan_.config.wave_lanes));
}

// --- On the fibre.

void Unit::hook_wait(WorkItem& me, const protocol::Slot& slot, bool halting_wait) noexcept {
  if (!stopped()) {
    if (finished(slot) || closed()) return;
    if (!halting_wait && wait_in_place(slot)) return;
  }
  if (!halting_wait) {
    poll(me, slot);
  } else if (!halt(me, slot)) {
    return;
  }
  to_scheduler(me);
}

void Unit::poll(WorkItem& item, const protocol::Slot& slot) {
  item.slot = &slot;
  watch(slot);
  item.state = ItemState::polling;
  pollers_.push(item);
}

// Nothing else to do: look at the one slot without leaving the fibre. False if it took too long
// or there is something else to look at.
bool Unit::wait_in_place(const protocol::Slot& slot) {
  if (!ready_.empty() || !pollers_.empty() || may_serve()) return false;
  const std::uint64_t begin = cycles();
  do {
    for (int look = 0; look < looks_in_a_row; ++look) {
      if (finished(slot)) return true;
    }
    if (stopped() || closed()) break;
    if (halted_count_ != 0 && resume_posted_.load(std::memory_order_relaxed) != 0) break;
    if (beside_server() || cycles() - begin >= plan_.spin_cycles / polite_after) sched_yield();
  } while (cycles() - begin < plan_.spin_cycles);
  idle_since_ = begin;
  return false;
}

// False if the slot finished meanwhile, so that no wake would come.
bool Unit::halt(WorkItem& me, const protocol::Slot& slot) {
  me.slot = &slot;
  watch(slot);
  const std::uint32_t row = row_of(slot);
  // The bit stays until the launch ends: one barrier a launch, not one a halt.
  if (!halting_seen_ || !is_mine(row)) {
    halting_seen_ = true;
    attention_.fetch_or(halting, std::memory_order_seq_cst);
    heavy_barrier();
  }
  WorkItem*& list = halted_[is_mine(row) ? row - first_row_ : plan_.config.resident_waves];
  me.next = list;
  list = &me;
  ++halted_count_;
  me.state = ItemState::halted;
  if (!finished(slot) || stopped()) return true;
  list = me.next;
  --halted_count_;
  unwatch(slot);
  me.state = ItemState::running;
  return false;
}

// A slot may lie in a row of another unit; completions are told to that unit.
void Unit::watch(const protocol::Slot& slot) {
  const std::uint32_t row = row_of(slot);
  if (is_mine(row)) return;
  Unit& home = *launch_.units[unit_of(row, plan_.config.resident_waves)];
  home.attention_.fetch_add(one_foreign, std::memory_order_seq_cst);
}

void Unit::unwatch(const protocol::Slot& slot) {
  const std::uint32_t row = row_of(slot);
  if (is_mine(row)) return;
  Unit& home = *launch_.units[unit_of(row, plan_.config.resident_waves)];
  home.attention_.fetch_sub(one_foreign, std::memory_order_seq_cst);
}

// --- In the scheduler.

// Makes ready whose wait is over. True if there was one.
bool Unit::look(Look how) {
  if (pollers_.empty() && halted_count_ == 0) return false;
  const bool all = closed();
  const bool polled = !pollers_.empty() && look_at_pollers(how, all);
  const bool resumed = halted_count_ != 0 && look_at_resumed(all);
  return polled || resumed;
}

bool Unit::look_at_pollers(Look how, bool all) {
  const auto is_over = [all](const WorkItem& item) { return all || finished(*item.slot); };
  const auto end_wait = [this](WorkItem& item) {
    unwatch(*item.slot);
    make_ready(item);
  };
  if (how == Look::at_all || all) return pollers_.look_at_all(is_over, end_wait) != 0;
  return pollers_.look(cycles(), is_over, end_wait) != 0;
}

bool Unit::look_at_resumed(bool all) {
  // Pairs with resume_row(): the rows were posted before.
  const bool posted = resume_posted_.load(std::memory_order_relaxed) != 0 &&
                      resume_posted_.exchange(0, std::memory_order_acquire) != 0;
  if (!posted && !all) return false;
  const std::uint32_t before = halted_count_;
  const std::uint32_t rows = plan_.config.resident_waves;
  for (std::uint32_t word = 0; word * 64 < rows; ++word) {
    std::uint64_t resumed = resume_bits_[word].load(std::memory_order_relaxed);
    if (resumed != 0) resumed = resume_bits_[word].exchange(0, std::memory_order_acquire);
    if (all) resumed = ~std::uint64_t{0};
    for (; resumed != 0; resumed &= resumed - 1) {
      const std::uint32_t row = word * 64 + lowest_bit(resumed);
      if (row < rows) look_at_halted(halted_[row], all);
    }
  }
  if (all || resume_foreign_.exchange(0, std::memory_order_acquire) != 0) {
    look_at_halted(halted_[rows], all);
  }
  return halted_count_ != before;
}

void Unit::look_at_halted(WorkItem*& list, bool all) {
  for (WorkItem** link = &list; *link != nullptr;) {
    WorkItem& item = **link;
    if (!all && !finished(*item.slot)) {
      link = &item.next;
      continue;
    }
    *link = item.next;
    --halted_count_;
    unwatch(*item.slot);
    make_ready(item);
  }
}

// Nothing is ready: spins until something is, then sleeps once.
void Unit::idle() {
  if (pollers_.empty() && halted_count_ == 0) return report_deadlock();
  if (idle_since_ == 0) {
    idle_since_ = cycles();
    nap_ = nap_min;
  }
  while (cycles() - idle_since_ < plan_.spin_cycles) {
    const bool serves = may_serve();
    const bool served = serves && serve_idle();
    const int looks = serves ? 1 : looks_in_a_row;
    for (int times = 0; times < looks; ++times) {
      if (look()) return;
    }
    if (stopped()) return;
    if (served) {
      idle_since_ = cycles();
      continue;
    }
    if (beside_server() || cycles() - idle_since_ >= plan_.spin_cycles / polite_after) {
      sched_yield();
    }
  }
  sleep();
}

// A stay in the inline service, unless it has ended meanwhile.
class Unit::Visit {
 public:
  explicit Visit(Unit& unit) : unit_(unit) {
    unit_.serves_.store(true, std::memory_order_seq_cst);  // Pairs with serve_inline().
    service = unit_.plan_.inline_service.load(std::memory_order_seq_cst);
  }
  ~Visit() { unit_.serves_.store(false, std::memory_order_release); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  InlineService* service = nullptr;

 private:
  Unit& unit_;
};

// Requests are served on the stack of the scheduler, because stacks of fibres are small. While the
// server touches a demand-paged region, no work-item is running: the fault is the server's.
InlineService::Found Unit::serve(InlineService::Reach reach) {
  const Visit visit(*this);
  running = nullptr;
  return visit.service == nullptr ? InlineService::Found::nothing
                                  : visit.service->serve(index_, reach);
}

// True: at least one request was served. At first only those of this unit's ring: another unit
// serves its own soon, without a hand-over between cores.
bool Unit::serve_idle() {
  const bool early = cycles() - idle_since_ < plan_.spin_cycles / polite_after;
  return serve(early ? InlineService::Reach::own : InlineService::Reach::all) ==
         InlineService::Found::served;
}

// True: the call of this work-item, which has just begun to poll, was answered, and its wait is
// over.
bool Unit::serve_now(WorkItem& item) {
  if (serve(InlineService::Reach::own) != InlineService::Found::served) return false;
  if (!finished(*item.slot) || !pollers_.take_back(item)) return false;
  unwatch(*item.slot);
  return true;
}

// At the end of a launch: serves detached requests, for which no work-item waits.
void Unit::serve_rest() {
  constexpr int rounds_max = 1'000;
  for (int round = 0; round < rounds_max && may_serve(); ++round) {
    const InlineService::Found found = serve(InlineService::Reach::all);
    if (found == InlineService::Found::nothing) break;
    if (found == InlineService::Found::busy) sched_yield();
  }
  rest_service();
}

void Unit::rest_service() {
  if (!may_serve()) return;
  const Visit visit(*this);
  if (visit.service != nullptr) visit.service->rest(index_);
}

// On the server's own CPU every further look keeps the answer away.
bool Unit::beside_server() {
  const int here = sched_getcpu();
  cpu_.store(here, std::memory_order_relaxed);
  if (may_serve()) return false;
  return here == plan_.server_cpu.load(std::memory_order_relaxed);
}

void Unit::sleep() {
  if (launch_.stall.load(std::memory_order_relaxed) == stall_asked) answer_watchdog();
  rest_service();
  attention_.fetch_or(sleeping, std::memory_order_seq_cst);
  heavy_barrier();
  if (may_serve()) serve(InlineService::Reach::all);
  if (!look(Look::at_all) && !stopped()) {
    const std::uint32_t seen = attention_.load(std::memory_order_relaxed);
    if ((seen & sleeping) != 0) futex_wait(attention_, seen, nap_);
    nap_ = std::min(nap_ * 2, nap_max);
  }
  attention_.fetch_and(~sleeping, std::memory_order_seq_cst);
}

// --- From other threads.

void Unit::resume_row(std::uint32_t row) noexcept {
  const std::uint32_t seen = light_barrier_then_load(attention_);
  if (seen == 0) return;
  if ((seen & halting) != 0) {
    const std::uint32_t mine = row - first_row_;
    resume_bits_[mine / 64].fetch_or(std::uint64_t{1} << mine % 64, std::memory_order_release);
    resume_posted_.store(1, std::memory_order_seq_cst);  // Pairs with look_at_resumed().
  }
  if ((seen & sleeping) != 0) wake();
  if (seen < one_foreign) return;
  for (std::uint32_t unit = 0; unit < launch_.unit_count; ++unit) {
    if (unit != index_) launch_.units[unit]->resume_foreign();
  }
}

void Unit::resume_foreign() noexcept {
  resume_foreign_.store(1, std::memory_order_release);
  resume_posted_.store(1, std::memory_order_seq_cst);
  wake();
}

void Unit::wake() noexcept {
  // The halted lanes were posted before, or `stop` was set: a unit about to sleep sees it.
  if ((attention_.fetch_and(~sleeping, std::memory_order_seq_cst) & sleeping) == 0) return;
  futex_wake_all(attention_);
}

}  // namespace k2k::backend::cpu
