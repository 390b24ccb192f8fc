// The hooks of device code (device/platform/cpu.hpp): each finds the running work-item and calls
// its unit, its group or its wave.
//
// Threading: on a unit's thread, on the fibre of the work-item. On any other thread they end the
// process: a device function was called outside a kernel.

#include <cstdio>
#include <cstdlib>

#include "backend/cpu/simt/running.hpp"
#include "backend/cpu/simt/unit.hpp"
#include "base/clock.hpp"
#include "device/platform/cpu.hpp"
#include "telemetry/sampler.hpp"

namespace k2k::device::platform {

namespace cpu = backend::cpu;

namespace {

[[noreturn]] __attribute__((cold, noinline)) void outside(const char* hook) {
  std::fprintf(stderr,
               "k2k: %s() called outside a kernel; device functions run only inside launch()\n",
               hook);
  std::abort();
}

K2K_ALWAYS_INLINE cpu::WorkItem& here(const char* hook) {
  cpu::WorkItem* const me = cpu::running;
  if (__builtin_expect(me == nullptr, 0)) outside(hook);
  return *me;
}

}  // namespace

const Item& current() noexcept { return here("current").visible; }

void barrier() noexcept {
  cpu::WorkItem& me = here("barrier");
  me.group->barrier(me.unit->turns(), me);
}

std::uint64_t ballot(bool predicate) noexcept {
  cpu::WorkItem& me = here("ballot");
  return me.wave->ballot(me.unit->turns(), me, predicate);
}

std::uint64_t shuffle(std::uint64_t value, std::uint32_t lane) noexcept {
  cpu::WorkItem& me = here("shuffle");
  return me.wave->shuffle(me.unit->turns(), me, value, lane);
}

void gather(void* brought, Lead lead, bool polls) noexcept {
  cpu::WorkItem& me = here("gather");
  cpu::Scheduler& scheduler = me.unit->scheduler();
  me.wave->gather(scheduler.turns(), scheduler.waiters(), me, brought, lead, polls);
}

void yield() noexcept {
  cpu::WorkItem& me = here("yield");
  me.unit->turns().yield(me);
}

void wait(const protocol::Slot& slot, Wait how) noexcept {
  cpu::WorkItem& me = here("wait");
  me.unit->scheduler().wait(me, slot, how == Wait::halted);
}

void interrupt() noexcept { here("interrupt").unit->plan().parking->interrupt(); }

void* local_memory(const void* tag, std::size_t bytes, std::size_t alignment) noexcept {
  cpu::WorkItem& me = here("local_memory");
  return me.unit->local_memory(me, tag, bytes, alignment);
}

bool host_visible(const void* address, std::size_t bytes) noexcept {
  return here("host_visible").unit->memory().host_may_access(address, bytes);
}

bool is_registered(const void* address) noexcept {
  return here("is_registered").unit->memory().is_registered(address);
}

std::uint32_t stamp() noexcept { return stamp_at(cycles()); }

CallTiming begin_call(std::uint16_t number) noexcept {
  static_assert(protocol::sample_stride == telemetry::Sampler::stride);
  cpu::Unit& unit = *here("begin_call").unit;
  unit.turns().count_progress();
  const std::uint32_t calls = unit.call_sampler().next(number);
  if (calls == 0) return {0, protocol::flag::sampled};
  return {stamp_at(cycles()), calls == 1 ? 0u : protocol::flag::sampled};
}

void trap(const char* message) noexcept {
  const cpu::WorkItem& me = here("trap");
  std::fprintf(stderr, "k2k: kernel '%s': work-item %u of group %u: %s\n", me.unit->launch().name,
               me.visible.rank, me.visible.group, message);
  std::abort();
}

}  // namespace k2k::device::platform
