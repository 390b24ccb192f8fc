#pragma once
// The work-items of a unit that wait for the host: polling or halted.
//
// Polling ones are polled between rounds, as often as it pays (pollers.hpp); halted ones, a list
// a row, after their row was posted (attention.hpp). A slot may lie in a row of another unit, whose
// attention then counts this work-item as a foreigner.
//
// Threading: confined to the unit's thread, attention() except. Not instrumented for
// ThreadSanitizer (sanitizers.hpp).

#include <cstdint>

#include "backend/cpu/fibre/sanitizers.hpp"
#include "backend/cpu/launch_state.hpp"
#include "backend/cpu/pages.hpp"
#include "backend/cpu/simt/attention.hpp"
#include "backend/cpu/simt/group.hpp"
#include "backend/cpu/simt/pollers.hpp"
#include "backend/cpu/simt/unit_plan.hpp"
#include "base/bits.hpp"
#include "base/clock.hpp"
#include "protocol/area.hpp"

namespace k2k::backend::cpu {

// Written out, because a shared inline function might be an instrumented one (sanitizers.hpp).
// Pairs with the server's move to finished.
K2K_ALWAYS_INLINE bool finished(const protocol::Slot& slot) {
  return (__atomic_load_n(&slot.control, __ATOMIC_ACQUIRE) & 0xff) ==
         static_cast<std::uint32_t>(protocol::SlotState::finished);
}

// How to poll the slots of work-items that poll: as often as it pays, or all of them once.
enum class Polls : bool { as_it_pays, all };

class Waiters {
 public:
  Waiters(std::uint32_t unit, const UnitPlan& plan, const LaunchState& launch);
  [[nodiscard]] bool usable() const;

  // Expects that none waits.
  void begin_launch();

  [[nodiscard]] K2K_ALWAYS_INLINE bool empty() const {
    return pollers_.empty() && halted_count_ == 0;
  }
  [[nodiscard]] K2K_ALWAYS_INLINE std::uint32_t polling() const { return pollers_.size(); }
  // Were rows posted for which a work-item halts?
  [[nodiscard]] K2K_ALWAYS_INLINE bool posted() const {
    return halted_count_ != 0 && attention_.posted();
  }
  // The runtime closes: no slot is answered any more.
  [[nodiscard]] K2K_ALWAYS_INLINE bool closed() const {
    return __atomic_load_n(plan_.area->closed, __ATOMIC_ACQUIRE) !=
           0;  // Pairs with the server's close().
  }

  K2K_ALWAYS_INLINE void poll(WorkItem& item, const protocol::Slot& slot) {
    item.slot = &slot;
    watch(slot);
    item.state = ItemState::polling;
    pollers_.push(item);
  }
  // False if the slot finished meanwhile, so that no wake would come.
  [[nodiscard]] bool halt(WorkItem& item, const protocol::Slot& slot);

  // Gives each work-item with a wait that is over to `ready`. True if there was one.
  template <class Ready>
  bool poll(Polls how, Ready ready) {
    if (empty()) return false;
    const bool all = closed();
    const bool polled = !pollers_.empty() && check_pollers(how, all, ready);
    const bool resumed = halted_count_ != 0 && check_posted(all, ready);
    return polled || resumed;
  }

  // Ends the wait of the work-item that began to poll last. False: it is another one, or its slot
  // is not finished.
  [[nodiscard]] K2K_ALWAYS_INLINE bool take_back(WorkItem& item) {
    if (!finished(*item.slot) || !pollers_.take_back(item)) return false;
    unwatch(*item.slot);
    return true;
  }

  // The launch ends early: each that waits, then all.
  K2K_ALWAYS_INLINE void forget(const WorkItem& item) { unwatch(*item.slot); }
  void forget_all();

  [[nodiscard]] K2K_ALWAYS_INLINE Attention& attention() { return attention_; }

 private:
  template <class Ready>
  K2K_ALWAYS_INLINE bool check_pollers(Polls how, bool all, Ready& ready) {
    const auto is_over = [all](const WorkItem& item) { return all || finished(*item.slot); };
    const auto end_wait = [this, &ready](WorkItem& item) {
      unwatch(*item.slot);
      ready(item);
    };
    if (how == Polls::all || all) return pollers_.poll_all(is_over, end_wait) != 0;
    return pollers_.poll(cycles(), is_over, end_wait) != 0;
  }

  template <class Ready>
  K2K_ALWAYS_INLINE bool check_posted(bool all, Ready& ready) {
    if (!attention_.take_posted() && !all) return false;
    const std::uint32_t before = halted_count_;
    const std::uint32_t rows = plan_.config.resident_waves;
    for (std::uint32_t word = 0; word * 64 < rows; ++word) {
      std::uint64_t posted = attention_.take_rows(word);
      if (all) posted = ~std::uint64_t{0};
      for (; posted != 0; posted &= posted - 1) {
        const std::uint32_t row = word * 64 + lowest_bit(posted);
        if (row < rows) check_halted(halted_[row], all, ready);
      }
    }
    if (all || attention_.take_foreign()) check_halted(halted_[rows], all, ready);
    return halted_count_ != before;
  }

  template <class Ready>
  void check_halted(WorkItem*& list, bool all, Ready& ready) {
    for (WorkItem** link = &list; *link != nullptr;) {
      WorkItem& item = **link;
      if (!all && !finished(*item.slot)) {
        link = &item.next;
        continue;
      }
      *link = item.next;
      --halted_count_;
      unwatch(*item.slot);
      ready(item);
    }
  }

  // Completions in a row of another unit are told to that unit.
  K2K_ALWAYS_INLINE void watch(const protocol::Slot& slot) {
    const std::uint32_t row = row_of(slot);
    if (!is_mine(row)) home_of(row).foreigner_comes();
  }
  K2K_ALWAYS_INLINE void unwatch(const protocol::Slot& slot) {
    const std::uint32_t row = row_of(slot);
    if (!is_mine(row)) home_of(row).foreigner_goes();
  }
  [[nodiscard]] Attention& home_of(std::uint32_t row) const;
  [[nodiscard]] K2K_ALWAYS_INLINE std::uint32_t row_of(const protocol::Slot& slot) const {
    // Lanes are a power of two; a division here would be two a wait.
    const auto index = static_cast<std::uint64_t>(&slot - plan_.area->slots);
    return static_cast<std::uint32_t>(index >> __builtin_ctz(plan_.config.wave_lanes));
  }
  [[nodiscard]] K2K_ALWAYS_INLINE bool is_mine(std::uint32_t row) const {
    return row - first_row_ < plan_.config.resident_waves;
  }

  const UnitPlan& plan_;
  const LaunchState& launch_;
  const std::uint32_t first_row_;
  std::uint32_t halted_count_ = 0;
  bool halting_seen_ = false;  // Has this launch halted an item?
  Pollers<WorkItem> pollers_;
  Pages list_pages_;
  WorkItem** const halted_;  // A list a row of this unit, and one for rows of other units.
  Attention attention_;
};

}  // namespace k2k::backend::cpu
