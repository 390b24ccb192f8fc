#include "backend/cpu/simt/turns.hpp"

#include <cxxabi.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "backend/cpu/simt/unit.hpp"

namespace k2k::backend::cpu {

constinit thread_local WorkItem* running __attribute__((tls_model("initial-exec"))) = nullptr;

Turns::Turns(const UnitPlan& plan, LaunchState& launch, std::byte* stacks)
    : launch_(launch),
      stack_bytes_(plan.stack_bytes),
      fibres_(stacks, plan.items_max, plan.stack_bytes, &Turns::fibre_main),
      ready_(plan.items_max, plan.config.schedule) {}

void Turns::adopt_thread() {
  cpu::adopt_thread(scheduler_sanitizer_);
  thread_exceptions_ = reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
}

void Turns::begin_launch(std::uint64_t seed) {
  ready_.restart(seed);
  __atomic_store_n(&switches_, 0, __ATOMIC_RELAXED);
}

// The base of every fibre: one work-item after another.
void Turns::fibre_main() {
  Turns& turns = running->unit->turns();
  arrive(running->fibre->sanitizer, turns.scheduler_sanitizer_);
  LaunchState& launch = turns.launch_;
  while (true) {
    WorkItem& me = *running;
    acquire_edge(launch.begun);
    try {
      launch.entry(launch.closure);
    } catch (const std::exception& thrown) {
      launch.fail(EIO, "kernel '%s': group %u item %u threw an exception: %s", launch.name,
                  me.visible.group, me.visible.rank, thrown.what());
    } catch (...) {
      launch.fail(EIO, "kernel '%s': group %u item %u threw an exception of unknown type",
                  launch.name, me.visible.group, me.visible.rank);
    }
    release_edge(launch.ended);
    me.state = ItemState::done;
    turns.suspend(me);
  }
}

void Turns::abandon(WorkItem& item) {
  if (item.fibre != nullptr) {
    release_edge_of(item.fibre->sanitizer, scheduler_sanitizer_, launch_.ended);
    fibres_.give_back_abandoned(*item.fibre);
  }
  item.fibre = nullptr;
  item.state = ItemState::done;
}

void Turns::overflowed(const WorkItem& item) const {
  std::fprintf(stderr,
               "k2k: kernel '%s': work-item %u of group %u overflowed its stack of %zu KiB; raise "
               "device.stack_bytes\n",
               launch_.name, item.visible.rank, item.visible.group, stack_bytes_ / 1024);
  std::abort();
}

}  // namespace k2k::backend::cpu
