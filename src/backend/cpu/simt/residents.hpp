#pragma once
// The work-groups that live on a unit, and the rows of memory that they take turns in.
//
//   next_group of the launch ──admit()──▶ resident ──its last work-item ends──▶ give_back()
//
// Threading: confined to the unit's thread. Not instrumented for ThreadSanitizer (sanitizers.hpp).

#include <cstddef>
#include <cstdint>

#include "backend/cpu/fibre/sanitizers.hpp"
#include "backend/cpu/launch_state.hpp"
#include "backend/cpu/pages.hpp"
#include "backend/cpu/simt/group.hpp"
#include "backend/cpu/simt/unit_plan.hpp"

namespace k2k::backend::cpu {

class Residents {
 public:
  // `local` is the unit's part of the device's private memory; `unit` of `index` runs the items.
  Residents(Unit& unit, std::uint32_t index, const UnitPlan& plan, LaunchState& launch,
            std::byte* local);
  [[nodiscard]] bool usable() const;

  // Expects that none is resident.
  void begin_launch();

  [[nodiscard]] K2K_ALWAYS_INLINE bool none() const { return resident_ == 0; }

  // Takes groups of the launch while it has some and there is room. Gives each of their work-items
  // to `ready`.
  template <class Ready>
  void admit(Ready ready) {
    while (Group* const group = take()) {
      const auto row = static_cast<std::uint32_t>(group - groups_);
      for (std::uint32_t rank = 0; rank < group->items; ++rank) {
        WorkItem& item = group->first[rank];
        fill(item, *group, row, rank);
        ready(item);
      }
    }
  }
  // A group in which no work-item lives any more.
  K2K_ALWAYS_INLINE void give_back(Group& group) {
    group.next_free = free_;
    free_ = &group;
    --resident_;
  }

  [[nodiscard]] std::uint32_t live_items() const;
  // Gives each work-item that has not ended to `use`.
  template <class Use>
  void for_each(Use use) const {
    for (std::uint32_t row = 0; row < open_; ++row) {
      const Group& group = groups_[row];
      for (std::uint32_t rank = 0; group.live != 0 && rank < group.items; ++rank) {
        if (group.first[rank].state != ItemState::done) use(group.first[rank]);
      }
    }
  }
  // The launch ends early.
  void forget_all();

 private:
  Group* take();
  void clear_local(Group& group, std::uint32_t row);
  K2K_ALWAYS_INLINE void fill(WorkItem& item, Group& group, std::uint32_t row, std::uint32_t rank) {
    const std::uint32_t lanes = plan_.config.wave_lanes;
    const std::uint32_t lane = rank % lanes;
    const std::uint32_t wave_row = row * group_waves_ + rank / lanes;
    const std::uint32_t left = group.items - (rank - lane);
    Wave& wave = waves_[wave_row];
    if (lane == 0) {
      wave.first = &item;
      wave.live = left >= 64 || left >= lanes ? ~std::uint64_t{0} >> (64 - lanes)
                                              : (std::uint64_t{1} << left) - 1;
      wave.arrived = wave.predicates = 0;
      wave.meeting = Meeting::none;
      __builtin_memset(wave.fault_lists, 0, sizeof(wave.fault_lists));
    }
    device::platform::Item& visible = item.visible;
    visible.group = group.id;
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
    item.unit = &unit_;
    item.group = &group;
    item.wave = &wave;
    item.fibre = nullptr;
    item.yielded = false;
  }

  Unit& unit_;
  const UnitPlan& plan_;
  LaunchState& launch_;
  std::byte* const local_;
  const std::uint32_t first_row_;
  const std::uint32_t
      row_shift_;  // A unit's first wave rings a ring of its own, while there are enough.
  Pages item_pages_;
  Pages wave_pages_;
  Pages group_pages_;
  WorkItem* const items_;  // Rows of as many as a group has.
  Wave* const waves_;      // One a row of the area.
  Group* const groups_;

  // This launch.
  std::uint32_t group_waves_ = 0;  // Waves a group needs.
  std::uint32_t open_ = 0;         // Groups that may be resident.
  std::uint32_t resident_ = 0;
  bool left_ = false;      // Does next_group promise more?
  Group* free_ = nullptr;  // The one used last first: rows stay dense.
};

}  // namespace k2k::backend::cpu
