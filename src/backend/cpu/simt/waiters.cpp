#include "backend/cpu/simt/waiters.hpp"

#include "backend/cpu/simt/unit.hpp"
#include "base/contract.hpp"

namespace k2k::backend::cpu {

Waiters::Waiters(std::uint32_t unit, const UnitPlan& plan, const LaunchState& launch)
    : plan_(plan),
      launch_(launch),
      first_row_(unit * plan.config.resident_waves),
      pollers_(plan.items_max, plan.poller_pace),
      list_pages_((plan.config.resident_waves + std::size_t{1}) * sizeof(WorkItem*)),
      halted_(list_pages_.as<WorkItem*>()),
      attention_(first_row_, plan.config.resident_waves) {}

bool Waiters::usable() const {
  return pollers_.usable() && !list_pages_.empty() && attention_.usable();
}

void Waiters::begin_launch() {
  halting_seen_ = false;
  attention_.begin_launch();
  pollers_.restart();
}

bool Waiters::halt(WorkItem& item, const protocol::Slot& slot) {
  item.slot = &slot;
  watch(slot);
  const std::uint32_t row = row_of(slot);
  // The bit stays until the launch ends: one barrier a launch, not one a halt.
  if (!halting_seen_ || !is_mine(row)) {
    halting_seen_ = true;
    attention_.announce_halting();
  }
  WorkItem*& list = halted_[is_mine(row) ? row - first_row_ : plan_.config.resident_waves];
  item.next = list;
  list = &item;
  ++halted_count_;
  item.state = ItemState::halted;
  if (!finished(slot) || launch_.stopped()) return true;
  list = item.next;
  --halted_count_;
  unwatch(slot);
  item.state = ItemState::running;
  return false;
}

void Waiters::forget_all() {
  for (std::uint32_t list = 0; list <= plan_.config.resident_waves; ++list) halted_[list] = nullptr;
  pollers_.restart();
  halted_count_ = 0;
}

Attention& Waiters::home_of(std::uint32_t row) const {
  K2K_EXPECT(plan_.config.resident_waves != 0);
  return launch_.units[row / plan_.config.resident_waves]->attention();
}

}  // namespace k2k::backend::cpu
